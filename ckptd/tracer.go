//go:build amd64

package ckptd

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer is a thread that traces processes: the kernel obeys the thread that has attached
// to a process, and no other. When it ends, what it traces is killed.
type tracer struct {
	work    chan func()
	died    <-chan struct{} // some child, or traced process, may have ended
	closing chan struct{}
	closed  chan struct{}
	forget  func()
	dying   map[int]bool // killed and not yet waited for; the thread's own
	queues  int          // directory of the group's message queues, see enterIPC
}

func newTracer(r *reaper) *tracer {
	t := &tracer{dying: map[int]bool{}, queues: -1, work: make(chan func()), closing: make(chan struct{}), closed: make(chan struct{})}
	t.died, t.forget = r.subscribe()
	go t.loop()
	return t
}

func (t *tracer) loop() {
	runtime.LockOSThread() // and stays locked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		// The first thread has the children of all that have ended, such as the proxies:
		// to wait for any that it traces would take them from the reaper. While it is held
		// here, the loop gets another one.
		go t.loop()
		<-t.closed
		runtime.UnlockOSThread()
		return
	}
	defer close(t.closed)
	for {
		select {
		case f := <-t.work:
			f()
		case <-t.died:
			t.reap(unix.WNOHANG)
		case <-t.closing:
			t.reap(0) // nothing is killed after it: the pids may be others' then
			return
		}
	}
}

var errNoTracer = errors.New("nobody traces the processes of the group any more")

// do runs f on the thread.
func (t *tracer) do(f func() error) error {
	result := make(chan error, 1)
	select {
	case t.work <- func() { result <- f() }:
		return <-result
	case <-t.closing:
		return errNoTracer
	}
}

// close ends the thread once all that it traces, which must be dying, has ended. As long as
// it has not waited for them, neither their parent nor their pid namespace can end.
func (t *tracer) close() {
	close(t.closing)
	<-t.closed
	t.forget()
	if t.queues >= 0 {
		unix.Close(t.queues)
	}
}

// reap waits for processes that the thread traces and that have ended.
func (t *tracer) reap(flags int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD|flags, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		delete(t.dying, pid)
	}
}

// maxDying bounds the processes that are killed and not yet waited for.
const maxDying = 64

// kill kills processes that are traced and stopped. Their memory is freed while the caller
// goes on. It is called on the thread.
func (t *tracer) kill(pids []int) {
	for _, pid := range pids {
		if len(t.dying) >= maxDying {
			t.awaitDying()
		}
		if unix.Kill(pid, unix.SIGKILL) == nil { // else it has ended, with the group or by itself
			t.dying[pid] = true
		}
	}
}

// settle returns when all that was killed has ended.
func (t *tracer) settle() error {
	return t.do(func() error { t.awaitDying(); return nil })
}

// awaitDying waits until all that was killed has ended. It is called on the thread.
func (t *tracer) awaitDying() {
	for pid := range t.dying {
		for {
			if status, err := awaitChange(pid); err != nil || !status.Stopped() {
				break
			}
		}
		delete(t.dying, pid)
	}
}

// Requests and events of ptrace(2) that package unix does not name.
const (
	ptraceGetRseq    = 0x420f
	ptraceGetSigmask = 0x420a
	ptraceSetSigmask = 0x420b
	ptracePeekShared = 1     // PTRACE_PEEKSIGINFO_SHARED
	ntX86Xstate      = 0x202 // register set of the floating point and vector units
	ntPrstatus       = 1     // register set of the integer unit
	maxXstate        = 16 << 10
	eventStop        = 128 // PTRACE_EVENT_STOP
)

//go:uintptrescapes
func ptrace(request, tid int, address, data uintptr) (uintptr, error) {
	r, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), address, data, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

// seize attaches to a thread, and has it stop. It runs on these processors from then on.
func (t *thread) seize(here *unix.CPUSet) error {
	if err := t.fetchTo(here); err != nil {
		return err
	}
	if _, err := ptrace(unix.PTRACE_SEIZE, t.tid, 0, unix.PTRACE_O_EXITKILL); err != nil {
		return errors.Join(fmt.Errorf("trace thread %d: %w", t.tid, err), setProcessors(t.tid, &t.processors))
	}
	if _, err := ptrace(unix.PTRACE_INTERRUPT, t.tid, 0, 0); err != nil {
		return fmt.Errorf("stop thread %d: %w", t.tid, err)
	}
	return nil
}

// awaitInterrupt waits until a thread that was seized has stopped.
func awaitInterrupt(tid int) error {
	status, err := awaitStop(tid)
	if err == nil && int(status)>>16 != eventStop {
		err = fmt.Errorf("thread %d stopped for signal %v", tid, status.StopSignal())
	}
	return err
}

// awaitAny waits for whichever process or thread that this thread traces to stop or end.
func awaitAny() (tid int, status unix.WaitStatus, err error) {
	for {
		tid, err = unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("wait for what is traced: %w", err)
	}
	return tid, status, err
}

// awaitStop waits until a traced thread has stopped.
func awaitStop(tid int) (unix.WaitStatus, error) {
	status, err := awaitChange(tid)
	switch {
	case err != nil:
		return 0, fmt.Errorf("wait for thread %d to stop: %w", tid, err)
	case !status.Stopped():
		return 0, fmt.Errorf("thread %d ended (status %#x) where it was to stop", tid, int(status))
	}
	return status, nil
}

// awaitChange waits for a traced thread to stop or end. The end of a process's first thread does
// not show before others have been waited for that have ended, and also are traced: when a
// process is killed that has several, only the caller can do that.
func awaitChange(tid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG, nil)
		if got == tid || err != nil && err != unix.EINTR {
			return status, err
		}
		var info struct {
			signal, errno, code, _, pid int32 // siginfo_t of SIGCHLD
			_                           [108]byte
		}
		err = unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == unix.EINTR || int(info.pid) == tid:
		case err != nil:
			return 0, err
		case info.code == cldExited || info.code == cldKilled || info.code == cldDumped:
			unix.Wait4(int(info.pid), nil, unix.WALL|unix.WNOHANG, nil)
		default: // another one has stopped, whom somebody will wait for
			unix.Nanosleep(&unix.Timespec{Nsec: 10_000}, nil)
		}
	}
}

// Codes of siginfo_t for what has ended: waitid(2).
const cldExited, cldKilled, cldDumped = 1, 2, 3

// detach lets a stopped thread run on, untraced.
func detach(tid int) error {
	if _, err := ptrace(unix.PTRACE_DETACH, tid, 0, 0); err != nil {
		return fmt.Errorf("let thread %d go on: %w", tid, err)
	}
	return nil
}

func getRegisterSet(tid int, set uintptr, buffer []byte) (int, error) {
	v := unix.Iovec{Base: &buffer[0], Len: uint64(len(buffer))}
	if _, err := ptrace(unix.PTRACE_GETREGSET, tid, set, uintptr(unsafe.Pointer(&v))); err != nil {
		return 0, fmt.Errorf("read register set %#x of thread %d: %w", set, tid, err)
	}
	return int(v.Len), nil
}

func setRegisterSet(tid int, set uintptr, buffer []byte) error {
	v := unix.Iovec{Base: &buffer[0], Len: uint64(len(buffer))}
	if _, err := ptrace(unix.PTRACE_SETREGSET, tid, set, uintptr(unsafe.Pointer(&v))); err != nil {
		return fmt.Errorf("set register set %#x of thread %d: %w", set, tid, err)
	}
	return nil
}

func registerBytes(r *unix.PtraceRegs) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}

func getRegisters(tid int) (r unix.PtraceRegs, err error) {
	_, err = getRegisterSet(tid, ntPrstatus, registerBytes(&r))
	return r, err
}

func setRegisters(tid int, r unix.PtraceRegs) error {
	return setRegisterSet(tid, ntPrstatus, registerBytes(&r))
}

func getSignalMask(tid int) (mask uint64, err error) {
	if _, err = ptrace(ptraceGetSigmask, tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); err != nil {
		err = fmt.Errorf("read the signal mask of thread %d: %w", tid, err)
	}
	return mask, err
}

func setSignalMask(tid int, mask uint64) error {
	if _, err := ptrace(ptraceSetSigmask, tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); err != nil {
		return fmt.Errorf("set the signal mask of thread %d: %w", tid, err)
	}
	return nil
}

// hasPendingSignals tells whether a signal waits for the thread, or for its process.
func hasPendingSignals(tid int) (bool, error) {
	for _, flags := range []uint32{0, ptracePeekShared} {
		arguments := struct {
			offset uint64
			flags  uint32
			number int32
		}{0, flags, 1}
		var info [128]byte // siginfo_t
		n, err := ptrace(unix.PTRACE_PEEKSIGINFO, tid, uintptr(unsafe.Pointer(&arguments)), uintptr(unsafe.Pointer(&info)))
		if err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}

// rseq is the registration of a thread's area for restartable sequences: rseq(2).
type rseq struct {
	address          uint64
	size, signature  uint32
	flags, alignment uint32
}

func getRseq(tid int) (r rseq, err error) {
	if _, err = ptrace(ptraceGetRseq, tid, unsafe.Sizeof(r), uintptr(unsafe.Pointer(&r))); err != nil {
		err = fmt.Errorf("read the restartable sequences of thread %d: %w", tid, err)
	}
	return r, err
}

// readMemory and writeMemory copy all pieces from and to a stopped process.
func readMemory(pid int, pieces ...page) error {
	return copyMemory(pid, pieces, unix.ProcessVMReadv, "read")
}

func writeMemory(pid int, pieces ...page) error {
	return copyMemory(pid, pieces, unix.ProcessVMWritev, "write")
}

func copyMemory(pid int, pieces []page, transfer func(int, []unix.Iovec, []unix.RemoteIovec, uint) (int, error), verb string) error {
	var local []unix.Iovec
	var remote []unix.RemoteIovec
	total := 0
	for _, p := range pieces {
		if len(p.content) > 0 {
			local = append(local, unix.Iovec{Base: &p.content[0], Len: uint64(len(p.content))})
			remote = append(remote, unix.RemoteIovec{Base: uintptr(p.address), Len: len(p.content)})
			total += len(p.content)
		}
	}
	if total == 0 {
		return nil
	}
	n, err := transfer(pid, local, remote, 0)
	if err == nil && n != total {
		err = unix.EFAULT
	}
	if err != nil {
		return fmt.Errorf("%s %d bytes at %#x of process %d: %w", verb, total, remote[0].Base, pid, err)
	}
	return nil
}
