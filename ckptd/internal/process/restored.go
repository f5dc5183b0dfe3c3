package process

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// A new process stops before its first instruction. It carries out its main list; the threads that
// this makes carry out theirs; then each is given the registers of the thread that it stands for,
// and let go.

// Restored is a process that was made again. It is stopped until Release. From its making to its
// release it is traced: it does nothing but what its plan says.
type Restored struct {
	PID, Inner int
	Generation int // see AddressSpace
	saved      *Saved
	threads    []*thread // like those that were saved, with ids of their own
	calls      uint64    // address of the mapping for calls
	remapped   bool      // some of its memory was mapped anew
}

// restored is a process like the one that was saved, not made yet.
func (s *Saved) restored() *Restored {
	q := &Restored{Inner: s.Inner, saved: s, calls: s.calls}
	for _, t := range s.threads {
		own := *t
		q.threads = append(q.threads, &own)
	}
	return q
}

// tracee is the process while it is stopped and has its mapping for calls.
func (q *Restored) tracee() tracee { return tracee{q.PID, q.calls, q.threads[0].registers} }

// makePair has a child carry out the first batch of its plan, which only it can: its parent goes on
// with its own files.
func (q *Restored) makePair(p *plan) error {
	if err := p.first.Program.Load(q.PID); err != nil {
		return err
	}
	if err := p.first.Start(q.PID, q.threads[0].registers); err != nil {
		return err
	}
	if _, err := tracer.AwaitTraps(q.PID); err != nil {
		return err
	}
	if err := p.first.Program.Fetch(q.PID); err != nil {
		return err
	}
	return p.first.Check()
}

// carryOut sends a new process its descriptors, and has it carry out the main batch of its plan and
// its new threads theirs. The pair is descriptors 0 and 1 of the new process by then, and the
// daemon sends through 1.
func (q *Restored) carryOut(p *plan, fds []int) error {
	q.threads[0].tid = q.PID
	if err := q.tracee().deliver(p.main, 1, fds); err != nil {
		return err
	}
	arrived, err := tracer.AwaitTraps(q.PID)
	if err != nil {
		return err
	}
	return q.bringUp(p.main, p.threads, arrived)
}

// bringUp goes on when a batch that makes threads has come to its end: they carry out their lists.
// The numbers of threads that were killed may be in use a moment longer than their process; those
// that could not be made are made then. A thread whose number is not free yet is no error, but for
// a time that no dying thread takes.
func (q *Restored) bringUp(b *tracer.Batch, all []newThread, arrived tracer.NewTasks) error {
	const attempts, pause = 2000, 50 * time.Microsecond
	for attempt := 1; ; attempt++ {
		if err := b.Program.Fetch(q.PID); err != nil {
			return err
		}
		if err := b.Check(); err != nil {
			return err
		}
		missing, err := q.equipThreads(b, all, arrived)
		if err != nil || len(missing) == 0 {
			return err
		}
		if attempt == attempts {
			return fmt.Errorf("make thread %d: its number is in use", missing[0].inner)
		}
		time.Sleep(pause)
		b = q.tracee().program().Batch()
		all = makeThreads(b, missing)
		if err := b.Program.Load(q.PID); err != nil {
			return err
		}
		if err := b.Start(q.PID, q.threads[0].registers); err != nil {
			return err
		}
		if arrived, err = tracer.AwaitTraps(q.PID); err != nil {
			return err
		}
	}
}

// equipThreads has the threads that could be made carry out their lists, side by side, and returns
// the others. Which thread is which shows in the stack that it was made with.
func (q *Restored) equipThreads(b *tracer.Batch, all []newThread, arrived tracer.NewTasks) (missing []*thread,
	err error) {
	// A new thread has the stack pointer that the call gave it, and nothing else of its own yet.
	byStack := map[uint64]newThread{}
	for _, t := range all {
		switch r := b.Result(t.made); {
		case r == -int64(unix.EEXIST):
			missing = append(missing, t.thread)
		case r != int64(t.inner):
			return nil, fmt.Errorf("make thread %d: the result is %d", t.inner, r)
		default:
			byStack[t.stack] = t
		}
	}
	born, err := arrived.Await(len(byStack), func() bool { return !procfs.IsAlive(q.PID) })
	if err != nil {
		return nil, err
	}
	for _, tid := range born {
		r, err := ptrace.Registers(tid)
		if err != nil {
			return nil, err
		}
		t, ok := byStack[r.Rsp]
		if !ok {
			return nil, fmt.Errorf("thread %d was not to be made", tid)
		}
		t.tid = tid
		if err := t.list.Start(tid, t.registers); err != nil {
			return nil, err
		}
	}
	if _, err := tracer.AwaitTraps(born...); err != nil {
		return nil, err
	}
	if err := b.Program.Fetch(q.PID); err != nil {
		return nil, err
	}
	for _, t := range byStack {
		if err := t.list.Check(); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// Release removes the mapping for calls and lets all threads go on, in the calls that they waited
// in. Its memory is compared with what was saved before: what runs cannot be looked at. An error
// leaves it stopped, and the group is ended.
func (q *Restored) Release() error {
	first := q.threads[0]
	if err := tracer.Withdraw(first.tid, first.registers, q.calls); err != nil {
		return err
	}
	if err := q.saved.Memory.check(q.PID, q.remapped, q.saved.descent != nil); err != nil {
		return err
	}
	for _, t := range q.threads {
		if err := t.putBack(); err != nil {
			return err
		}
	}
	for _, t := range q.threads {
		if err := ptrace.Detach(t.tid); err != nil {
			return err
		}
	}
	return nil
}
