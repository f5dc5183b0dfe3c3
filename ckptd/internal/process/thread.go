package process

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// A thread that waits in a system call can be stopped and go on as if nothing had happened, since
// the kernel restarts the call. The same holds for another thread with the same registers, if it
// makes the call again from its beginning. That is how threads are saved: as registers, and a few
// things beside.

// thread is what there is to know of a thread. The first one of a process is the process's own. It
// is filled in by stages: by freeze what ptrace tells of any stopped thread, by examine what /proc
// tells, and by the answers of the thread itself what nobody else knows.
type thread struct {
	tid, inner  int
	name        string
	registers   unix.PtraceRegs
	call        uint64 // number of the system call that it waits in, or noCall: see RestartSyscalls
	vector      []byte // the floating point and vector registers; nil: its state was not read
	mask        uint64 // of signals
	rseq        ptrace.RseqArea
	robust      [2]uint64 // list of robust mutexes: address and length of its head
	clearTID    uint64    // where the kernel writes 0 when the thread ends
	stack       [24]byte  // alternate signal stack
	deathSignal uint32    // that it gets when its parent dies
	processors  unix.CPUSet
}

// seize attaches to a thread, and has it stop. It runs on these processors from then on.
func (t *thread) seize(here *unix.CPUSet) error {
	if err := t.fetchTo(here); err != nil {
		return err
	}
	err := ptrace.Seize(t.tid)
	if errors.Is(err, ptrace.ErrNotTraced) {
		// Nobody will thaw what is not traced, so its processors are given back here.
		err = errors.Join(err, osthread.SetProcessors(t.tid, &t.processors))
	}
	return err
}

// fetchTo has a thread run on these processors, and notes on which it may otherwise. The tracer and
// what it traces take turns, at each stop. On one processor that is a switch between two threads;
// on two, one is idle each time, and takes long to be woken up.
func (t *thread) fetchTo(here *unix.CPUSet) error {
	if err := unix.SchedGetaffinity(t.tid, &t.processors); err != nil {
		return fmt.Errorf("ask for the processors of thread %d: %w", t.tid, err)
	}
	return osthread.SetProcessors(t.tid, here)
}

// examine reads what ptrace tells of a stopped thread. A thread that is not in a system call is
// about to do something, and one whose call is not known could not be put back into it. From then
// on all signals wait but the one that ends calls: a handler would run in the midst of those. The
// buffer has room for the vector registers.
func (t *thread) examine(pid int, buffer []byte) (err error) {
	var instruction [2]byte
	if err := ptrace.ReadMemory(pid, ptrace.Piece{Address: t.registers.Rip - 2,
		Content: instruction[:]}); err != nil {
		return err
	}
	if int64(t.registers.Orig_rax) < 0 || instruction != tracer.SyscallInstruction {
		return fmt.Errorf("%w: thread %d of process %d is not in a system call", wire.ErrNotQuiescent, t.tid,
			pid)
	}
	if t.call == noCall {
		return incarnation.Refuse(
			"thread %d of process %d waits in a system call that was interrupted before, by somebody else, "+
				"and whose number cannot be seen any more", t.tid, pid)
	}
	if t.mask, err = ptrace.SignalMask(t.tid); err != nil {
		return err
	}
	n, err := ptrace.RegisterSet(t.tid, ptrace.NtX86Xstate, buffer)
	if err != nil {
		return err
	}
	if t.rseq, err = ptrace.Rseq(t.tid); err != nil {
		return err
	}
	if t.robust, err = ptrace.RobustList(t.tid); err != nil {
		return err
	}
	t.vector = slices.Clone(buffer[:n])
	return ptrace.SetSignalMask(t.tid, tracer.BlockAll)
}

// thaw lets a thread go on as if it had not been stopped. What was not read was not changed, and is
// not put back.
func (t *thread) thaw() error {
	var errs []error
	if t.vector != nil {
		errs = append(errs, ptrace.SetRegisters(t.tid, t.resumption()), ptrace.SetSignalMask(t.tid, t.mask))
	}
	if t.processors != (unix.CPUSet{}) {
		errs = append(errs, osthread.SetProcessors(t.tid, &t.processors))
	}
	return errors.Join(append(errs, ptrace.Detach(t.tid))...)
}

// putBack gives a thread that was made again the registers, the mask and the processors that the
// one had after which it is made. It is in its system call then, and still stopped.
func (t *thread) putBack() error {
	if err := ptrace.SetRegisters(t.tid, t.repeat()); err != nil {
		return err
	}
	if err := ptrace.SetRegisterSet(t.tid, ptrace.NtX86Xstate, t.vector); err != nil {
		return err
	}
	if err := ptrace.SetSignalMask(t.tid, t.mask); err != nil {
		return err
	}
	return osthread.SetProcessors(t.tid, &t.processors)
}

// resumption are the registers with which a thread goes on. The kernel restarts most calls that the
// stop has interrupted by itself, but not the waits for events: those do not tell an interruption
// from a signal.
func (t *thread) resumption() unix.PtraceRegs {
	r := t.registers
	if int64(r.Orig_rax) >= 0 && int64(r.Rax) == -int64(unix.EINTR) {
		switch r.Orig_rax {
		case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_RT_SIGTIMEDWAIT:
			return t.repeat()
		}
	}
	return r
}

// Results by which the kernel tells itself how an interrupted system call is to go on:
// include/linux/errno.h.
const (
	restartSys       = -512
	restartNoIntr    = -513
	restartNoHand    = -514
	restartWithBlock = -516
)

// repeat are the registers with which a thread makes the call again that it waits in. Orig_rax
// says that it is in no call: so the kernel does not restart one by itself.
func (t *thread) repeat() unix.PtraceRegs {
	r := t.registers
	switch int64(r.Rax) {
	case restartSys, restartNoIntr, restartNoHand, restartWithBlock, -int64(unix.EINTR):
		if int64(r.Orig_rax) >= 0 {
			r.Rip -= uint64(len(tracer.SyscallInstruction))
			r.Rax = t.call
		}
	}
	r.Orig_rax = ^uint64(0)
	return r
}

// newThread is a thread to be made, by the first thread of its process. All threads are made by one
// batch, before any of them runs.
type newThread struct {
	*thread
	made  int           // index of the call that makes it
	list  *tracer.Batch // what it does first
	stack uint64        // by which it is told from the others until it has its own
}

// makeThreads adds the calls that make threads, with the numbers that they had, and a list for each
// of what gives it what is its own. A call may fail, since a number may be in use: see bringUp.
func makeThreads(b *tracer.Batch, threads []*thread) (all []newThread) {
	const flags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD |
		unix.CLONE_SYSVSEM | unix.CLONE_SETTLS | unix.CLONE_CHILD_CLEARTID | unix.CLONE_PTRACE
	const step = 16
	for n, t := range threads {
		size := uint64(step * (n + 1))
		made := b.Clone(fmt.Sprintf("make thread %d", t.inner), tracer.CloneArguments{
			Flags: flags, ChildTID: t.clearTID, Tls: t.registers.Fs_base, Stack: b.Program.At,
			StackSize: size,
		}, t.inner)
		b.Optional[made] = true
		all = append(all, newThread{thread: t, made: made, list: b.Program.Batch(),
			stack: b.Program.At + size})
		all[n].equip(all[n].list)
	}
	return all
}

// equip adds the calls that give a thread what is its own, and what no other can give it. The list
// of robust mutexes and the restartable sequences are addresses that the kernel has noted for a
// thread: a new one begins with none.
func (t *thread) equip(b *tracer.Batch) {
	b.Add("set the name of a thread", unix.SYS_PRCTL, unix.PR_SET_NAME, b.Put(append([]byte(t.name), 0)))
	b.Add("set the signal stack of a thread", unix.SYS_SIGALTSTACK, b.Put(t.stack[:]), 0)
	b.Add("set the signal of the parent's death", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG,
		uint64(t.deathSignal))
	if t.rseq.Address != 0 {
		b.Add("set the restartable sequences of a thread", unix.SYS_RSEQ, t.rseq.Address, uint64(t.rseq.Size),
			0, uint64(t.rseq.Signature))
	}
	if t.robust[0] != 0 {
		b.Add("set the list of robust mutexes", unix.SYS_SET_ROBUST_LIST, t.robust[0], t.robust[1])
	}
}

// noCall is the number of a call that is not known.
const noCall = ^uint64(0)
