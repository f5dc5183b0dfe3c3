package process

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// A checkpoint looks at processes that stand still. ptrace stops a thread in the system call that
// it waits in, and the thread does not notice: the call is restarted when it goes on. What the
// daemon does to a process meanwhile, such as the mapping for calls, is undone before that.

// Frozen is a process that is stopped for a checkpoint, with what is found out about it. It is
// embedded in what will be in the image, so that whatever is found out is there already.
type Frozen struct {
	*Saved
	Parent *Frozen          // nil: it is a peer
	status procfs.Status    // of its first thread
	own    []pagemap.Region // its pages that are not a file's; nil: not known
}

// freeze stops all threads of a process that waits for input. They run on these processors until
// the process is thawed. It returns also what it has stopped before an error. A thread that begins
// while the others are stopped shows in a second look at the list: the group was not quiescent.
func freeze(pid int, here *unix.CPUSet) (*Frozen, error) {
	p := &Frozen{Saved: &Saved{PID: pid}}
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
	// None can begin any more: all that there were are stopped.
	again, err := procfs.Threads(pid)
	if err == nil && len(again) != len(tids) {
		err = fmt.Errorf("%w: process %d starts threads", wire.ErrNotQuiescent, pid)
	}
	return p, err
}

// FreezeTree stops a process and all that it has forked, parents first, and returns also those that
// it has stopped before an error. A process that is stopped forks nothing any more, so the children
// that are listed then are all.
func FreezeTree(pid int, parent *Frozen, here *unix.CPUSet) (all []*Frozen, err error) {
	p, err := freeze(pid, here)
	all = []*Frozen{p}
	if err != nil {
		return all, err
	}
	if p.Parent = parent; parent != nil {
		parent.Children = append(parent.Children, p.Saved)
	}
	for _, t := range p.threads {
		children, err := procfs.Children(pid, t.tid)
		if err != nil {
			return all, err
		}
		for _, child := range children {
			// An image has no process that has ended, and the parent would wait for it in vain.
			if procfs.HasEnded(child) {
				return all, fmt.Errorf("%w: process %d has not waited for a child that has ended",
					wire.ErrNotQuiescent, pid)
			}
			below, err := FreezeTree(child, p, here)
			all = append(all, below...)
			if err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// Thaw lets the threads go on as if nothing had happened. It tries everything, also after an error:
// a thread that stays stopped would be seen by the peers. Before the image is complete nobody knows
// whether it will be; the process goes on in any case.
func (p *Frozen) Thaw() error {
	var errs []error
	if p.calls != 0 {
		first := p.threads[0]
		errs = append(errs, tracer.Withdraw(first.tid, first.registers, p.calls))
		p.calls = 0
	}
	for _, t := range p.threads {
		errs = append(errs, t.thaw())
	}
	return errors.Join(errs...)
}

// Disturbed returns ErrNotQuiescent if a signal has come since the process was frozen. A fork would
// not have it, so the image would lack what the process is about to do. It is asked after the fork:
// until then a signal may come.
func (p *Frozen) Disturbed() error {
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

// Inject maps the code and room for lists into the process, at an address that is free; 0: where
// the kernel likes it. Thaw takes it away. The first thread maps it by the very system call
// instruction that it waits at: before that there is no code of the daemon's in the process.
func (p *Frozen) Inject(at uint64) error {
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
	p.calls = address
	return ptrace.WriteMemory(p.PID, ptrace.Piece{Address: address, Content: tracer.InjectionCode})
}

// MeetingPlace is an address where none of these processes has memory: a process that one of them
// forks has the calls where it has them.
func MeetingPlace(all []*Frozen) (uint64, error) {
	const first, step, last = 0x100000000000, 1 << 30, 0x400000000000
	for at := uint64(first); at < last; at += step {
		taken := slices.ContainsFunc(all, func(p *Frozen) bool {
			return slices.ContainsFunc(p.Memory.mappings,
				func(m *mappings.Mapping) bool {
					return m.From < at+tracer.InjectionSize+pagemap.PageSize &&
						at < m.End()+pagemap.PageSize
				})
		})
		if !taken {
			return at, nil
		}
	}
	return 0, incarnation.Refuse("there is no address where no process of the group has memory")
}
