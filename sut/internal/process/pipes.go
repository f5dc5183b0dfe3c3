package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// ErrGone is the error of waiting for a process that has ended.
var ErrGone = errors.New("the worker has ended")

// pipes carry commands and answers, each of which is a byte. Checker and process take turns, so
// there is never more than one byte in either.
type pipes struct {
	commands *os.File
	answers  *os.File
}

// open makes the pipes and returns the ends that are the process's. The caller closes those when
// the process has inherited them. On an error close frees the others.
func (p *pipes) open() (commands, answers *os.File, err error) {
	if commands, p.commands, err = blockingPipe(); err != nil {
		return nil, nil, err
	}
	if p.answers, answers, err = blockingPipe(); err != nil {
		commands.Close()
		return nil, nil, err
	}
	return commands, answers, nil
}

// close closes the checker's ends.
func (p *pipes) close() {
	for _, f := range []*os.File{p.commands, p.answers} {
		if f != nil {
			f.Close()
		}
	}
	p.commands, p.answers = nil, nil
}

// blockingPipe is a pipe of which the Go runtime's poller knows nothing. It would be
// woken, on another processor, by every byte.
func blockingPipe() (in, out *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("pipe2: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

// Send sends a command. If the process has ended, the error is EPIPE: see Explain.
func (p *pipes) Send(command byte) error {
	if err := writeByte(p.commands, command); err != nil {
		return fmt.Errorf("the worker does not take commands: %w", err)
	}
	return nil
}

// Receive waits for the next answer. The error is ErrGone if the process has ended. It has no time
// limit: the watchdog ends a process that does not answer.
func (p *pipes) Receive() (answer byte, err error) {
	answer, err = readByte(p.answers)
	switch {
	case err == io.EOF:
		return 0, ErrGone
	case err != nil:
		return 0, fmt.Errorf("waiting for the worker: %w", err)
	}
	return answer, nil
}

// Expect waits for the next answer, which is to be a certain one.
func (p *pipes) Expect(want byte) error {
	got, err := p.Receive()
	if err == nil && got != want {
		err = fmt.Errorf("the worker answered %q instead of %q", got, want)
	}
	return err
}

// ended reports whether the process has ended, if it was about to. Its end shows at the pipe of
// answers, of which it has the only other end. A little later than at its memory, so it waits.
func (p *pipes) ended() bool {
	const soon = 200 // ms
	poll := []unix.PollFd{{Fd: int32(p.answers.Fd())}}
	n, err := sys.Poll(poll, soon)
	return err == nil && n > 0 && poll[0].Revents&unix.POLLHUP != 0
}

// writeByte writes a byte to a pipe that has room for it.
func writeByte(pipe *os.File, b byte) error {
	return uninterrupted(func() unix.Errno {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, pipe.Fd(), uintptr(unsafe.Pointer(&b)), 1)
		return errno
	})
}

// readByte waits for a byte from a pipe.
//
// Go's runtime is not told of these system calls. Its monitor would look, every 20 us, for calls
// that last that long, in a thread that takes turns with the worker on its processor. An execution
// lasts about as long, so the monitor would always find one.
//
// The call that waits is poll(2). A signal interrupts it even if its handler asks for a restart. A
// goroutine that is to be stopped, for a garbage collection, gets such signals until it stops,
// which it does before it waits again.
func readByte(pipe *os.File) (b byte, err error) {
	poll := unix.PollFd{Fd: int32(pipe.Fd()), Events: unix.POLLIN}
	if err := uninterrupted(func() unix.Errno {
		_, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, 0, 0, 0, 0)
		return errno
	}); err != nil {
		return 0, err
	}
	n := uintptr(0)
	err = uninterrupted(func() (errno unix.Errno) {
		n, _, errno = unix.RawSyscall(unix.SYS_READ, pipe.Fd(), uintptr(unsafe.Pointer(&b)), 1)
		return errno
	})
	if err == nil && n == 0 {
		err = io.EOF
	}
	return b, err
}

// uninterrupted makes a call until no signal interrupts it. In between the goroutine can be
// stopped.
func uninterrupted(call func() unix.Errno) error {
	for {
		switch errno := call(); errno {
		case 0:
			return nil
		case unix.EINTR:
			runtime.Gosched()
		default:
			return errno
		}
	}
}
