// Package process has what an image knows of one process, and what is done with one: it is stopped,
// looked at, copied by a fork, and made again by a fork of the copy.
//
// FreezeTree stops processes. Examine and ExamineMemory read what /proc tells, and refuse what
// could not be made again. Inject gives a process room for system calls that the daemon has it
// carry out; Fork, or Interrogate for one that a peer has forked, asks by these what only the
// process can tell. Thaw lets it go on. A Revival makes processes like the copies; Release lets
// these run.
//
// All of it is for the tracer's goroutine, but for ExamineMemory, CompareMappings and SavePages.
package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
	"github.com/tandem-mc/tandem/proxy"
)

// Process is a peer, or what one has forked: what a checkpoint has to know of it beside its memory.
type Process struct {
	PID      int // as the daemon sees it
	Inner    int // in the group's pid namespace
	threads  []*thread
	maps     string           // the mappings, as /proc shows them
	Private  int64            // bytes of memory that it shares with no other process
	own      []pagemap.Region // its pages that are not a file's; nil: not known
	sizes    [3]string        // of its mappings
	remapped bool             // some of its memory was mapped anew
	// wiped are pages whose content a fork does not inherit.
	wiped       []ptrace.Piece
	Parent      *Process            // nil: it is a peer
	Children    []*Process          // that it has forked, in their order
	descent     *descent            // nil: it is a peer
	Unnamed     []*mappings.Mapping // what it has mapped that is shared and has no name
	mappings    []*mappings.Mapping
	Generation  int // forks since it shared no page with another
	Descriptors openfiles.Descriptors
	timers      [3]unix.Itimerval // real, virtual, profiling
	subreaper   uint64
	directory   string
	injected    uint64        // address of the mapping for calls, 0 if there is none
	common      procfs.Status // of the first thread
	Tables      int64         // bytes of page tables
}

// thread is one of its threads, the first one being the process's own.
type thread struct {
	tid, inner  int
	name        string
	registers   unix.PtraceRegs
	call        uint64 // number of the system call that it waits in, or noCall: see waits
	vector      []byte // the floating point and vector registers
	mask        uint64
	rseq        ptrace.RseqArea
	robust      [2]uint64 // list of robust mutexes: address and length of its head
	clearTID    uint64
	stack       [24]byte // alternate signal stack
	deathSignal uint32
	processors  unix.CPUSet // on which it may run
}

// freeze stops all threads of a process that waits for input. They run on these processors
// until the process is thawed.
func freeze(pid int, here *unix.CPUSet) (*Process, error) {
	p := &Process{PID: pid}
	tids, err := procfs.Threads(pid)
	if err != nil {
		return p, err
	}
	for _, tid := range tids {
		t := &thread{tid: tid}
		if err = t.seize(here); err != nil {
			break
		}
		p.threads = append(p.threads, t)
	}
	for _, t := range p.threads { // they stop side by side
		e := ptrace.AwaitInterrupt(t.tid)
		if e == nil {
			t.registers, e = ptrace.Registers(t.tid)
			t.call = t.registers.Orig_rax
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		return p, err
	}
	again, err := procfs.Threads(pid)
	if err == nil && len(again) != len(tids) {
		err = fmt.Errorf("%w: process %d starts threads", wire.ErrNotQuiescent, pid)
	}
	return p, err
}

// Thaw lets the threads go on as if nothing had happened. It tries everything, also after an error:
// a thread that stays stopped would be seen by the peers.
func (p *Process) Thaw() error {
	var errs []error
	if p.injected != 0 {
		first := p.threads[0]
		errs = append(errs, tracer.Withdraw(first.tid, first.registers, p.injected))
		p.injected = 0
	}
	for _, t := range p.threads {
		if t.vector != nil { // its state was read, and may have been changed since
			errs = append(errs, ptrace.SetRegisters(t.tid, t.resumption()),
				ptrace.SetSignalMask(t.tid, t.mask))
		}
		if t.processors != (unix.CPUSet{}) {
			errs = append(errs, osthread.SetProcessors(t.tid, &t.processors))
		}
		errs = append(errs, ptrace.Detach(t.tid))
	}
	return errors.Join(errs...)
}

// resumption are the registers with which a thread goes on. The kernel restarts most calls
// that the stop has interrupted by itself, but not the waits for events: those do not tell
// an interruption from a signal.
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

// repeat are the registers with which a thread makes the call again that it waits in.
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

// Examine reads what there is to know from outside of a frozen process, but for its memory and its
// files. It refuses timers, directories and signals that could not be given to another process.
func (p *Process) Examine() error {
	vector := make([]byte, ptrace.MaxXstate)
	for n, t := range p.threads {
		if err := t.examine(p.PID, vector); err != nil {
			return err
		}
		if err := p.examineStatus(t, n == 0); err != nil {
			return err
		}
	}
	if timers, err := procfs.Read(fmt.Sprintf("/proc/%d/timers", p.PID)); err == nil && len(timers) > 0 {
		return incarnation.Refuse("process %d has POSIX timers (timer_create)", p.PID)
	}
	var err error
	if p.directory, err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID)); err != nil {
		return err
	}
	if strings.HasSuffix(p.directory, " (deleted)") {
		return incarnation.Refuse("the directory of process %d was deleted", p.PID)
	}
	if root, err := os.Readlink(fmt.Sprintf("/proc/%d/root", p.PID)); err != nil || root != "/" {
		return errors.Join(err, incarnation.Refuse("process %d has a root directory of its own, %s (chroot)",
			p.PID, root))
	}
	return nil
}

// examine uses a buffer, which has room for the vector registers.
func (t *thread) examine(pid int, vector []byte) (err error) {
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
	n, err := ptrace.RegisterSet(t.tid, ptrace.NtX86Xstate, vector)
	if err != nil {
		return err
	}
	if t.rseq, err = ptrace.Rseq(t.tid); err != nil {
		return err
	}
	if t.robust, err = ptrace.RobustList(t.tid); err != nil {
		return err
	}
	t.vector = slices.Clone(vector[:n])
	return ptrace.SetSignalMask(t.tid, tracer.BlockAll)
}

// statusOfAll are the lines of /proc/PID/status that all threads must have in common.
var statusOfAll = []string{"Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:",
	"NoNewPrivs:", "Seccomp:", "Umask:"}

// examineStatus reads what there is in /proc/PID/status of a thread, and refuses what a new process
// would not have. The threads of a process must agree, since a new one gets all from its maker.
func (p *Process) examineStatus(t *thread, first bool) error {
	text, err := procfs.Read(fmt.Sprintf("/proc/%d/task/%d/status", p.PID, t.tid))
	if err != nil {
		return err
	}
	lines := procfs.Status(text)
	t.name = lines.Field("Name:")
	inner := func(field string) int { return lines.Innermost(field) }
	t.inner = inner("NSpid:")
	if trap, _ := strconv.ParseUint(lines.Field("SigIgn:"), 16, 64); trap&^tracer.BlockAll != 0 {
		return incarnation.Refuse("process %d ignores the signal SIGTRAP", p.PID)
	}
	if first {
		p.Inner = t.inner
		p.common = lines
		if p.Parent != nil {
			if err := p.examineDescent(); err != nil {
				return err
			}
		} else if inner("NSsid:") != p.Inner || inner("NSpgid:") != p.Inner {
			return incarnation.Refuse("process %d is not the leader of its session", p.PID)
		}
		p.Tables = lines.Bytes("VmPTE:")
		if err := p.examineRights(); err != nil {
			return err
		}
		return p.examineKinds()
	}
	for _, field := range statusOfAll {
		if lines.Field(field) != p.common.Field(field) {
			return incarnation.Refuse("thread %d of process %d has a %s of its own", t.tid, p.PID,
				strings.TrimSuffix(field, ":"))
		}
	}
	return nil
}

// examineRights refuses a process that may not carry out the calls that a restore takes.
func (p *Process) examineRights() error {
	const admin = 1 << unix.CAP_SYS_ADMIN
	if effective, err := strconv.ParseUint(p.common.Field("CapEff:"), 16, 64); err != nil ||
		effective&admin == 0 {
		return incarnation.Refuse("process %d has dropped the capability CAP_SYS_ADMIN", p.PID)
	}
	if p.common.Field("Seccomp:") != "0" && p.common.Field("Seccomp_filters:") != strconv.Itoa(
		proxy.Filters) {
		return incarnation.Refuse("process %d has its system calls filtered (seccomp)", p.PID)
	}
	return nil
}

// examineKinds refuses a process with memory of a kind that a fork does not carry over.
func (p *Process) examineKinds() error {
	for name, what := range map[string]string{"VmLck:": "is locked", "HugetlbPages:": "has huge pages"} {
		if p.common.Bytes(name) > 0 {
			return incarnation.Refuse("memory of process %d %s", p.PID, what)
		}
	}
	if strings.Contains(p.common.Field("x86_Thread_features:"), "shstk") {
		return incarnation.Refuse("memory of process %d is a shadow stack", p.PID)
	}
	return nil
}

// questions are what only a thread itself can tell, and where in a program the answers are.
type questions struct {
	*tracer.Batch
	stack, clearTID, deathSignal uint64
	timers, subreaper            uint64 // of the first thread
}

// ask adds the questions for thread n: calls that change nothing, with room for the answers.
func (p *Process) ask(s *tracer.Program, n int) questions {
	q := questions{Batch: s.Batch()}
	q.stack, q.clearTID, q.deathSignal = q.Put(make([]byte, len(thread{}.stack))), q.Put(make([]byte, 8)),
		q.Put(make([]byte, 4))
	q.Add("ask for the alternate signal stack", unix.SYS_SIGALTSTACK, 0, q.stack)
	q.Add("ask for the address of the thread id", unix.SYS_PRCTL, unix.PR_GET_TID_ADDRESS, q.clearTID)
	q.Add("ask for the signal of the parent's death", unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, q.deathSignal)
	if n == 0 {
		q.timers, q.subreaper = q.Put(make([]byte, 3*timerBytes)), q.Put(make([]byte, 4))
		for which := range uint64(3) {
			q.Add("ask for a timer", unix.SYS_GETITIMER, which, q.timers+timerBytes*which)
		}
		q.Add("ask whether it adopts orphans", unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, q.subreaper)
	}
	return q
}

// note notes the answers of thread n.
func (p *Process) note(q questions, n int) {
	t, s := p.threads[n], q.Program
	copy(t.stack[:], s.Read(q.stack, len(t.stack)))
	t.clearTID = binary.NativeEndian.Uint64(s.Read(q.clearTID, 8))
	t.deathSignal = binary.NativeEndian.Uint32(s.Read(q.deathSignal, 4))
	if n == 0 {
		for which := range p.timers {
			p.timers[which] = decodeTimer(s.Read(q.timers+timerBytes*uint64(which), timerBytes))
		}
		p.subreaper = uint64(binary.NativeEndian.Uint32(s.Read(q.subreaper, 4)))
	}
}

const timerBytes = 32 // struct itimerval

// decodeTimer reads a struct itimerval of the kernel.
func decodeTimer(b []byte) (t unix.Itimerval) {
	word := func(n int) int64 { return int64(binary.NativeEndian.Uint64(b[8*n:])) }
	t.Interval = unix.Timeval{Sec: word(0), Usec: word(1)}
	t.Value = unix.Timeval{Sec: word(2), Usec: word(3)}
	return t
}

// encodeTimer writes one, the interval first.
func encodeTimer(t unix.Itimerval) (b []byte) {
	for _, word := range []int64{t.Interval.Sec, t.Interval.Usec, t.Value.Sec, t.Value.Usec} {
		b = binary.NativeEndian.AppendUint64(b, uint64(word))
	}
	return b
}

// Disturbed returns ErrNotQuiescent if a signal has come since the process was frozen. A fork would
// not have it, so the image would lack what the process is about to do.
func (p *Process) Disturbed() error {
	for _, t := range p.threads {
		pending, err := ptrace.HasPendingSignals(t.tid)
		if err != nil {
			return err
		}
		if pending {
			return fmt.Errorf("%w: a signal for process %d is pending", wire.ErrNotQuiescent, p.PID)
		}
	}
	return nil
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

// seize attaches to a thread, and has it stop. It runs on these processors from then on.
func (t *thread) seize(here *unix.CPUSet) error {
	if err := t.fetchTo(here); err != nil {
		return err
	}
	err := ptrace.Seize(t.tid)
	if errors.Is(err, ptrace.ErrNotTraced) {
		err = errors.Join(err, osthread.SetProcessors(t.tid, &t.processors))
	}
	return err
}

// calls is where the code and room for lists are, which are no memory of the program.
func (p *Process) calls() pagemap.Region {
	return pagemap.Region{From: p.injected, To: p.injected + tracer.InjectionSize}
}

// Inject maps the code and room for lists into a frozen process, at an address that is free; 0:
// where the kernel likes it.
func (p *Process) Inject(at uint64) error {
	first := p.threads[0]
	flags := uint64(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS)
	if at != 0 {
		flags |= unix.MAP_FIXED_NOREPLACE
	}
	address, err := tracer.Single(first.tid, first.registers, "map memory for calls", unix.SYS_MMAP, at,
		tracer.InjectionSize,
		unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, flags, ^uint64(0), 0)
	if err != nil {
		return err
	}
	p.injected = address
	return ptrace.WriteMemory(p.PID, ptrace.Piece{Address: address, Content: tracer.InjectionCode})
}
