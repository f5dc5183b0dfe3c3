package sut

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Isolation is how one execution is kept from the next.
type Isolation uint8

const (
	Snapshot Isolation = iota // the memory is put back in place
	Fork                      // every execution is a process of its own; slower, the cross-check
)

// Options of a worker.
type Options struct {
	Args      []string
	Env       []string // NAME=VALUE, in addition to a fixed small environment
	Dir       string
	Isolation Isolation
	// Patience is how long an execution may go on without a visible operation
	// that reaches the checker, before the worker is ended; 0: 30 s.
	Patience time.Duration
	World    World
	// Processor tells workers apart that run at the same time, so that they spread over
	// the processors: 1, 2, ...; 0: it does not matter.
	Processor int
}

const (
	backupBytes  = 512 << 20
	basePatience = 30 * time.Second
)

// Worker is one process that runs executions of a program, one at a time. Its
// methods must not be called concurrently, but for Interrupt.
type Worker struct {
	program *Program
	options Options
	process *exec.Cmd
	shared  *abi.Shared
	memory  []byte
	mapped  sync.Mutex // held while shared is taken away, and while watch looks at it
	pages   *pageTable
	cpu     processor
	command *os.File
	answer  *os.File
	stdout  *os.File
	stderr  *os.File
	reader  logReader
	started atomic.Int64 // when the worker was last heard of while busy, ns; 0: idle
	running atomic.Pointer[os.Process]
	hung    atomic.Pointer[hangPosition] // where a worker was that had to be ended
	stop    chan struct{}
}

// Start starts a worker.
func Start(p *Program, o Options) (*Worker, error) {
	if o.Patience == 0 {
		o.Patience = basePatience
	}
	w := &Worker{program: p, options: o, cpu: processor{number: o.Processor}}
	if err := w.launch(); err != nil {
		return nil, fmt.Errorf("starting %s under control: %w", p.ImportPath, err)
	}
	return w, nil
}

// launch starts the process and takes the snapshot.
func (w *Worker) launch() error {
	memory, err := memoryFile("tandem", int64(unsafe.Sizeof(abi.Shared{})))
	if err != nil {
		return err
	}
	defer memory.Close()
	w.memory, err = unix.Mmap(int(memory.Fd()), 0, int(unsafe.Sizeof(abi.Shared{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	w.shared = (*abi.Shared)(unsafe.Pointer(&w.memory[0]))
	w.shared.BackupBytes = backupBytes
	if w.options.Processor > 1 { // the first has the file
		w.shared.OwnCode = 1
	}
	if err := w.options.World.describe(&w.shared.World); err != nil {
		w.release()
		return err
	}
	w.stop = make(chan struct{})
	if err := w.spawn(memory); err != nil {
		w.release()
		return err
	}
	w.running.Store(w.process.Process)
	w.started.Store(time.Now().UnixNano())
	go w.watch(w.process.Process, w.stop)
	if err := w.prepare(); err != nil {
		err = w.explain(err)
		w.Close()
		return err
	}
	w.started.Store(0)
	return nil
}

func memoryFile(name string, size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (w *Worker) spawn(memory *os.File) error {
	var err error
	for _, f := range []**os.File{&w.stdout, &w.stderr} {
		if *f, err = memoryFile("output", 0); err != nil {
			return err
		}
		if _, err := unix.FcntlInt((*f).Fd(), unix.F_SETFL, unix.O_APPEND); err != nil {
			return err
		}
	}
	stdin, err := w.options.World.standardInput()
	if err != nil {
		return err
	}
	defer stdin.Close()
	commandIn, commandOut, err := blockingPipe()
	if err != nil {
		return err
	}
	defer commandIn.Close()
	answerIn, answerOut, err := blockingPipe()
	if err != nil {
		commandOut.Close()
		return err
	}
	defer answerOut.Close()
	w.command, w.answer = commandOut, answerIn
	w.process = exec.Command(w.program.Path, w.options.Args...)
	w.process.Args[0] = w.program.Name()
	w.process.Dir = w.options.Dir
	w.process.Env = w.environment()
	w.process.Stdin, w.process.Stdout, w.process.Stderr = stdin, w.stdout, w.stderr
	w.process.ExtraFiles = []*os.File{memory, commandIn, answerOut}
	w.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true} // a Ctrl-C is for the checker
	if err := startOnThread(w.process, w.stop); err != nil {
		return err
	}
	w.cpu.claim(w.process.Process.Pid)
	return nil
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

// Of personality(2): ADDR_NO_RANDOMIZE, and nothing to change.
const (
	addressesAsTheyAre = 0x0040000
	asItIs             = 0xffffffff
)

// startOnThread starts a process from a thread that lives until stop is closed:
// the kernel takes the end of the thread for that of the parent. The addresses of its arguments are the same each time: the trace of a
// panic shows them.
func startOnThread(process *exec.Cmd, stop <-chan struct{}) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, asItIs, 0, 0)
		if errno == 0 { // else some of what is printed may differ: where that is noticed, it is said
			unix.RawSyscall(unix.SYS_PERSONALITY, before|addressesAsTheyAre, 0, 0)
		}
		err := process.Start()
		if errno == 0 {
			unix.RawSyscall(unix.SYS_PERSONALITY, before, 0, 0)
		}
		started <- err
		<-stop
	}()
	return <-started
}

// environment is fixed, so that no execution depends on who started the checker.
func (w *Worker) environment() []string {
	mode := "snapshot"
	if w.options.Isolation == Fork {
		mode = "forkeach" // as long as the other, so that what follows it in memory has the same address
	}
	fixed := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent", "TZ=UTC", "LANG=C",
		"GOGC=off", "GOTRACEBACK=single",
		"TANDEM_WORKER=" + mode,
	}
	return slices.Concat(fixed, w.program.Environment(), w.options.Env)
}

// prepare waits for the program to arrive at main and takes the snapshot.
func (w *Worker) prepare() error {
	if err := w.expect(abi.AnswerReady); err != nil {
		return err
	}
	if w.options.Isolation == Fork {
		return nil
	}
	w.pages = newPageTable(w.process.Process.Pid, w.shared)
	if err := w.pages.snapshot(); err != nil {
		return w.orGone(err)
	}
	if err := w.tell(abi.CommandCopy); err != nil {
		return err
	}
	if err := w.expect(abi.AnswerReady); err != nil {
		return err
	}
	w.shared.Regions = 0
	return nil
}

// orGone is the error, or that the worker has ended, if that explains it.
func (w *Worker) orGone(err error) error {
	if w.gone() {
		return errWorkerGone
	}
	return err
}

// settle completes the region table and has the worker put the pages back that
// were not in it at the end of the last execution, until that touches no others.
func (w *Worker) settle() error {
	for w.shared.Faults != w.pages.faults {
		w.pages.faults = w.shared.Faults
		added, err := w.pages.scan()
		if err != nil {
			return w.orGone(err)
		}
		if !added {
			return nil
		}
		if err := w.tell(abi.CommandPutBack); err != nil {
			return err
		}
		if err := w.expect(abi.AnswerEnd); err != nil {
			return err
		}
	}
	return nil
}

// gone reports whether the process has ended, if it was about to.
func (w *Worker) gone() bool {
	const soon = 200 // ms
	poll := []unix.PollFd{{Fd: int32(w.answer.Fd())}}
	n, err := unix.Poll(poll, soon)
	return err == nil && n > 0 && poll[0].Revents&unix.POLLHUP != 0
}

func (w *Worker) tell(b byte) error {
	if err := ring(w.command, b); err != nil {
		return fmt.Errorf("the worker does not take commands: %w", err)
	}
	return nil
}

// hear waits for the worker's next answer.
func (w *Worker) hear() (byte, error) {
	b, err := await(w.answer)
	switch {
	case err == io.EOF:
		return 0, errWorkerGone
	case err != nil:
		return 0, fmt.Errorf("waiting for the worker: %w", err)
	}
	return b, nil
}

var errWorkerGone = errors.New("the worker has ended")

func (w *Worker) expect(want byte) error {
	got, err := w.hear()
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("the worker answered %q instead of %q", got, want)
	}
	return nil
}

// watch ends a worker that has been busy for too long.
func (w *Worker) watch(p *os.Process, stop chan struct{}) {
	tick := time.NewTicker(w.options.Patience/8 + time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			since := w.started.Load()
			if since != 0 && time.Now().UnixNano()-since > int64(w.options.Patience) {
				at := hangPositionOf(w.program, p.Pid, w.openCall())
				w.hung.Store(&at)
				p.Kill()
				return
			}
		}
	}
}

// Close ends the worker and frees what it holds.
func (w *Worker) Close() error {
	if w.process != nil && w.process.Process != nil && w.process.ProcessState == nil {
		w.process.Process.Kill()
		w.process.Wait()
	}
	w.release()
	return nil
}

func (w *Worker) release() {
	for _, f := range []*os.File{w.command, w.answer, w.stdout, w.stderr} {
		if f != nil {
			f.Close()
		}
	}
	w.command, w.answer, w.stdout, w.stderr = nil, nil, nil, nil
	if w.memory != nil {
		w.mapped.Lock()
		unix.Munmap(w.memory)
		w.memory, w.shared = nil, nil
		w.mapped.Unlock()
	}
	if w.stop != nil {
		close(w.stop)
		w.stop = nil
	}
}

// Interrupt ends the process of a worker at once; a Run under way returns an
// error. It may be called at any time, from any goroutine.
func (w *Worker) Interrupt() {
	if p := w.running.Load(); p != nil {
		p.Kill()
	}
}

// Pid is the process ID of the worker.
func (w *Worker) Pid() int { return w.process.Process.Pid }
