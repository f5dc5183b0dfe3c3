package process

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// System calls are the only way to give a process most of what it has: a descriptor, a session, a
// mapping, a child. The daemon stops it, puts a list of calls into its memory, and has it run
// through that.

// tracee is a stopped process that carries out system calls for the daemon: what forks.
type tracee struct {
	pid       int
	calls     uint64          // address of its mapping for calls
	registers unix.PtraceRegs // of its first thread; the calls take from them all but their own
}

// program is an empty program for it.
func (t tracee) program() *tracer.Program { return tracer.NewProgram(t.calls) }

// callsOf is where the code and room for lists are that lie at an address: no memory of the
// program. They are left out wherever pages of a process are looked at.
func callsOf(address uint64) pagemap.Region {
	return pagemap.Region{From: address, To: address + tracer.InjectionSize}
}

// fork has the process carry out a batch in which its call number made forks, and returns the new
// process. Both are stopped then.
func (t tracee) fork(b *tracer.Batch, made int) (pid int, err error) {
	if err := b.Program.Load(t.pid); err != nil {
		return 0, err
	}
	if err := b.Start(t.pid, t.registers); err != nil {
		return 0, err
	}
	// The new process may come to stop before its maker has come to the end of the batch.
	arrived, err := tracer.AwaitTraps(t.pid)
	if err == nil {
		err = b.Program.Fetch(t.pid)
	}
	if err == nil {
		err = b.Check()
	}
	if err != nil {
		return 0, err
	}
	born, err := arrived.Await(1, t.lost(b.Result(made)))
	if err != nil {
		return 0, err
	}
	return born[0], nil
}

// forkChild has the process fork a child with this number in the group, which tells its end by this
// signal. One that was killed may have the number for a moment longer, so it is tried again.
func (t tracee) forkChild(inner int, exitSignal uint64) (pid int, err error) {
	const attempts, pause = 2000, 50 * time.Microsecond
	for attempt := 1; ; attempt++ {
		b := t.program().Batch()
		made := b.Clone("fork a process", tracer.CloneArguments{Flags: unix.CLONE_PTRACE,
			ExitSignal: exitSignal}, inner)
		if pid, err = t.fork(b, made); !errors.Is(err, unix.EEXIST) || attempt == attempts {
			return pid, err
		}
		time.Sleep(pause)
	}
}

// lost is for a caller that waits for a new process to stop: one that was killed before never does.
// It tells, of a process that this one has made, with this pid in their namespace, whether it has
// ended.
func (t tracee) lost(inner int64) func() bool {
	return func() bool {
		text, err := procfs.Read(fmt.Sprintf("/proc/%d/status", t.pid))
		if err != nil {
			return true
		}
		parent, err := strconv.Atoi(procfs.Status(text).Field("PPid:"))
		if err != nil {
			return true
		}
		siblings, _ := procfs.AllChildren(parent) // those made with CLONE_PARENT
		return !slices.ContainsFunc(siblings, func(pid int) bool {
			n, err := procfs.InnerPID(pid)
			return err == nil && int64(n) == inner && procfs.IsAlive(pid)
		})
	}
}

// deliver sends descriptors over the end with this number of a pair that the process has inherited
// or made, and has it start a batch that receives them. A descriptor can only be sent by somebody
// who has it, and be received by a call of the process: no call gives one to another process.
func (t tracee) deliver(b *tracer.Batch, end int, fds []int) error {
	ours, err := sys.DuplicateOf(t.pid, end)
	if err != nil {
		return err
	}
	defer unix.Close(ours)
	if err := seqpacket.Send(ours, []byte{0}, fds); err != nil {
		return fmt.Errorf("send %d descriptors to process %d: %w", len(fds), t.pid, err)
	}
	return b.Start(t.pid, t.registers)
}
