//go:build amd64

// Package ptrace has the calls by which one process looks into another, and changes it: ptrace(2),
// and process_vm_readv(2) with its counterpart. The kernel obeys the thread that traces, and no
// other.
package ptrace

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests and events of ptrace(2) that package unix does not name.
const (
	ptraceGetRseq    = 0x420f
	ptraceGetSigmask = 0x420a
	ptraceSetSigmask = 0x420b
	ptracePeekShared = 1     // PTRACE_PEEKSIGINFO_SHARED
	NtX86Xstate      = 0x202 // register set of the floating point and vector units
	ntPrstatus       = 1     // register set of the integer unit
	MaxXstate        = 16 << 10
	EventStop        = 128 // PTRACE_EVENT_STOP
)

// Request makes a request of ptrace(2) that package unix does not have.
//
//go:uintptrescapes
func Request(request, tid int, address, data uintptr) (uintptr, error) {
	r, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), address, data, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

// ErrNotTraced says that a thread could not be traced, and goes on as it was.
var ErrNotTraced = errors.New("trace a thread")

// Seize attaches to a thread, and has it stop: AwaitInterrupt says when it has. It is killed when
// the calling thread, its tracer, ends.
func Seize(tid int) error {
	if _, err := Request(unix.PTRACE_SEIZE, tid, 0, unix.PTRACE_O_EXITKILL); err != nil {
		return fmt.Errorf("%w: thread %d: %w", ErrNotTraced, tid, err)
	}
	if _, err := Request(unix.PTRACE_INTERRUPT, tid, 0, 0); err != nil {
		return fmt.Errorf("stop thread %d: %w", tid, err)
	}
	return nil
}

// AwaitInterrupt waits until a thread that was seized has stopped.
func AwaitInterrupt(tid int) error {
	status, err := AwaitStop(tid)
	if err == nil && int(status)>>16 != EventStop {
		err = fmt.Errorf("thread %d stopped for signal %v", tid, status.StopSignal())
	}
	return err
}

// AwaitAny waits for whichever process or thread that this thread traces to stop or end.
func AwaitAny() (tid int, status unix.WaitStatus, err error) {
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

// AwaitStop waits until a traced thread has stopped, for whatever reason: the status tells. That it
// has ended instead is an error.
func AwaitStop(tid int) (unix.WaitStatus, error) {
	status, err := AwaitChange(tid)
	switch {
	case err != nil:
		return 0, fmt.Errorf("wait for thread %d to stop: %w", tid, err)
	case !status.Stopped():
		return 0, fmt.Errorf("thread %d ended (status %#x) where it was to stop", tid, int(status))
	}
	return status, nil
}

// AwaitChange waits for a traced thread to stop or end. The end of a process's first thread does
// not show before others have been waited for that have ended, and also are traced: when a
// process is killed that has several, only the caller can do that.
func AwaitChange(tid int) (unix.WaitStatus, error) {
	for {
		// The thread itself first, without waiting: mostly it has stopped already.
		var status unix.WaitStatus
		got, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG, nil)
		if got == tid || err != nil && err != unix.EINTR {
			return status, err
		}
		// Then whatever the kernel has to tell of others, which is left for whoever waits for them.
		var info struct {
			signal, errno, code, _, pid int32 // siginfo_t of SIGCHLD
			_                           [108]byte
		}
		err = unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL|unix.WNOTHREAD, nil)
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

// Detach lets a stopped thread run on, untraced. A thread that is not stopped cannot be detached.
func Detach(tid int) error {
	if _, err := Request(unix.PTRACE_DETACH, tid, 0, 0); err != nil {
		return fmt.Errorf("let thread %d go on: %w", tid, err)
	}
	return nil
}

// RegisterSet reads a register set of a stopped thread into a buffer, and returns how many bytes it
// has.
func RegisterSet(tid int, set uintptr, buffer []byte) (int, error) {
	v := unix.Iovec{Base: &buffer[0], Len: uint64(len(buffer))}
	if _, err := Request(unix.PTRACE_GETREGSET, tid, set, uintptr(unsafe.Pointer(&v))); err != nil {
		return 0, fmt.Errorf("read register set %#x of thread %d: %w", set, tid, err)
	}
	return int(v.Len), nil
}

// SetRegisterSet writes a register set of a stopped thread.
func SetRegisterSet(tid int, set uintptr, buffer []byte) error {
	v := unix.Iovec{Base: &buffer[0], Len: uint64(len(buffer))}
	if _, err := Request(unix.PTRACE_SETREGSET, tid, set, uintptr(unsafe.Pointer(&v))); err != nil {
		return fmt.Errorf("set register set %#x of thread %d: %w", set, tid, err)
	}
	return nil
}

func registerBytes(r *unix.PtraceRegs) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}

// Registers are those of the integer unit of a stopped thread.
func Registers(tid int) (r unix.PtraceRegs, err error) {
	_, err = RegisterSet(tid, ntPrstatus, registerBytes(&r))
	return r, err
}

// SetRegisters sets those of the integer unit of a stopped thread.
func SetRegisters(tid int, r unix.PtraceRegs) error {
	return SetRegisterSet(tid, ntPrstatus, registerBytes(&r))
}

// SignalMask are the signals that a stopped thread blocks, a bit for each.
func SignalMask(tid int) (mask uint64, err error) {
	if _, err = Request(ptraceGetSigmask, tid, unsafe.Sizeof(mask),
		uintptr(unsafe.Pointer(&mask))); err != nil {
		err = fmt.Errorf("read the signal mask of thread %d: %w", tid, err)
	}
	return mask, err
}

// SetSignalMask sets the signals that a stopped thread blocks. The kernel does not let it block
// SIGKILL and SIGSTOP, whatever the mask says.
func SetSignalMask(tid int, mask uint64) error {
	if _, err := Request(ptraceSetSigmask, tid, unsafe.Sizeof(mask),
		uintptr(unsafe.Pointer(&mask))); err != nil {
		return fmt.Errorf("set the signal mask of thread %d: %w", tid, err)
	}
	return nil
}

// HasPendingSignals tells whether a signal waits for the thread, or for its process. It takes none
// of them off the queue.
func HasPendingSignals(tid int) (bool, error) {
	for _, flags := range []uint32{0, ptracePeekShared} {
		arguments := struct {
			offset uint64
			flags  uint32
			number int32
		}{0, flags, 1}
		var info [128]byte // siginfo_t
		n, err := Request(unix.PTRACE_PEEKSIGINFO, tid, uintptr(unsafe.Pointer(&arguments)),
			uintptr(unsafe.Pointer(&info)))
		if err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}

// RseqArea is the registration of a thread's area for restartable sequences: rseq(2).
type RseqArea struct {
	Address          uint64
	Size, Signature  uint32
	flags, alignment uint32
}

// Rseq is the registration of a stopped thread; its address is 0 where there is none.
func Rseq(tid int) (r RseqArea, err error) {
	if _, err = Request(ptraceGetRseq, tid, unsafe.Sizeof(r), uintptr(unsafe.Pointer(&r))); err != nil {
		err = fmt.Errorf("read the restartable sequences of thread %d: %w", tid, err)
	}
	return r, err
}

// RobustList is where a thread has its list of robust mutexes: the address and the length of its
// head.
func RobustList(tid int) (list [2]uint64, err error) {
	_, _, errno := unix.Syscall(unix.SYS_GET_ROBUST_LIST, uintptr(tid), uintptr(unsafe.Pointer(&list[0])),
		uintptr(unsafe.Pointer(&list[1])))
	if errno != 0 {
		return list, fmt.Errorf("read the list of robust mutexes of thread %d: %w", tid, errno)
	}
	return list, nil
}

// Continue lets a stopped thread run on, traced. The signal that it may have stopped for is not
// delivered.
func Continue(tid int) error {
	if _, err := Request(unix.PTRACE_CONT, tid, 0, 0); err != nil {
		return fmt.Errorf("let thread %d carry out calls: %w", tid, err)
	}
	return nil
}
