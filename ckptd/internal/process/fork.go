package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
)

// What only the process itself can tell it is asked by system calls, in its own context. The same
// list of calls ends with the fork that makes the copy: one stop for all.

// questions are what only a thread itself can tell, and where in a program the answers are.
type questions struct {
	*tracer.Batch
	stack, clearTID, deathSignal uint64
	timers, subreaper            uint64 // of the first thread
}

// ask adds the questions for a thread: calls that change nothing, with room for the answers. The
// first one is asked for the process, too.
func ask(s *tracer.Program, first bool) questions {
	q := questions{Batch: s.Batch()}
	q.stack, q.clearTID, q.deathSignal = q.Put(make([]byte, len(thread{}.stack))), q.Put(make([]byte, 8)),
		q.Put(make([]byte, 4))
	q.Add("ask for the alternate signal stack", unix.SYS_SIGALTSTACK, 0, q.stack)
	q.Add("ask for the address of the thread id", unix.SYS_PRCTL, unix.PR_GET_TID_ADDRESS, q.clearTID)
	q.Add("ask for the signal of the parent's death", unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, q.deathSignal)
	if first {
		q.timers, q.subreaper = q.Put(make([]byte, 3*timerBytes)), q.Put(make([]byte, 4))
		for which := range uint64(3) {
			q.Add("ask for a timer", unix.SYS_GETITIMER, which, q.timers+timerBytes*which)
		}
		q.Add("ask whether it adopts orphans", unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, q.subreaper)
	}
	return q
}

// note notes the answers of a thread, and those of the first one about the process. Those of other
// threads have no place for what is the process's.
func (q questions) note(t *thread, a *attributes) {
	s := q.Program
	copy(t.stack[:], s.Read(q.stack, len(t.stack)))
	t.clearTID = binary.NativeEndian.Uint64(s.Read(q.clearTID, 8))
	t.deathSignal = binary.NativeEndian.Uint32(s.Read(q.deathSignal, 4))
	if q.timers != 0 {
		for which := range a.timers {
			a.timers[which] = decodeTimer(s.Read(q.timers+timerBytes*uint64(which), timerBytes))
		}
		a.subreaper = uint64(binary.NativeEndian.Uint32(s.Read(q.subreaper, 4)))
	}
}

// askAll adds the questions for each thread.
func (p *Frozen) askAll(s *tracer.Program) (asked []questions) {
	for n := range p.threads {
		asked = append(asked, ask(s, n == 0))
	}
	return asked
}

// carryOut has each thread carry out its list of a program, side by side. Results and answers can
// be read when it returns.
func (p *Frozen) carryOut(s *tracer.Program, lists []questions) (arrived tracer.NewTasks, err error) {
	if err := s.Load(p.PID); err != nil {
		return arrived, err
	}
	var tids []int
	for n, t := range p.threads {
		if err := lists[n].Start(t.tid, t.registers); err != nil {
			return arrived, err
		}
		tids = append(tids, t.tid)
	}
	if arrived, err = tracer.AwaitTraps(tids...); err != nil {
		return arrived, err
	}
	return arrived, s.Fetch(p.PID)
}

// Fork asks a frozen process what only it can tell, and makes the copy of it that an image is, with
// this number in the group. Where there is an error, there may be a copy.
//
// The copy must not be seen by anybody: it loses its session, so that the pid of the original can
// be used again, its files, so that connections end with the original, and its network. It goes
// over to copyNetns, whose descriptor it is sent through a pair that it inherits.
func (p *Frozen) Fork(copyNetns *os.File, number int) (*Saved, error) {
	s := p.tracee().program()
	asked := p.askAll(s)
	// The pair gets the first two free numbers, in both processes, and what the copy receives the
	// third.
	free := p.Descriptors.FreeNumbers(3)
	first := asked[0]
	first.MakePair()
	made := first.Clone("copy the process", tracer.CloneArguments{
		Flags: unix.CLONE_PARENT | unix.CLONE_PTRACE}, number)
	for _, end := range free[:2] {
		first.Add("close a socket", unix.SYS_CLOSE, uint64(end))
	}
	strip := s.Batch()
	strip.Strip(free)
	arrived, err := p.carryOut(s, asked)
	for n, q := range asked {
		if err == nil {
			err = q.Check()
		}
		if err == nil {
			q.note(p.threads[n], &p.attributes)
		}
	}
	// Also after an error the copy has to be known, so that it can be killed.
	born := arrived.Stopped
	if err == nil && first.Result(made) > 0 {
		born, err = arrived.Await(1, p.tracee().lost(first.Result(made)))
	}
	if len(born) == 0 {
		return nil, fmt.Errorf("copy process %d: %w", p.PID, err)
	}
	// What is known of the process is true of the copy, but for its pid and the length of its line.
	c := *p.Saved
	c.PID, c.Memory.Generation = born[0], p.Memory.Generation+1
	if err == nil {
		err = c.tracee().deliver(strip, free[1], []int{int(copyNetns.Fd())})
	}
	if err == nil {
		_, err = tracer.AwaitTraps(c.PID)
	}
	if err == nil {
		err = p.checkInherited(&c)
	}
	if err == nil {
		err = s.Fetch(c.PID)
	}
	if err == nil {
		err = strip.Check()
	}
	if err == nil {
		err = c.checkPlan()
	}
	return &c, err
}

// checkInherited sees whether the copy of a process has the memory that the process has. If the
// kernel has wiped some, that is read from the process, so that a restore can write it.
func (p *Frozen) checkInherited(copied *Saved) error {
	sizes, err := pagemap.Sizes(p.PID)
	if err != nil {
		return err
	}
	if now, err := pagemap.Sizes(copied.PID); err != nil || now != sizes {
		return errors.Join(err, incarnation.Refuse("memory of process %d is not inherited by a fork", p.PID))
	}
	if p.own == nil { // then the flags were read, and what is wiped is known
		return nil
	}
	own, err := pagemap.OwnPages(copied.PID, callsOf(p.calls))
	if err != nil || slices.Equal(own, p.own) {
		return err
	}
	// Some was wiped: which shows in the flags of mappings.
	p.Memory.mappings, p.Memory.wiped = nil, nil
	if err := p.Memory.readFlags(p.PID); err != nil {
		return err
	}
	copied.Memory.mappings, copied.Memory.wiped = p.Memory.mappings, p.Memory.wiped
	return nil
}

// Of rt_sigaction(2).
const (
	signals     = 64
	actionBytes = 32 // of the kernel's struct sigaction
	maskBytes   = 8
)

// Interrogate asks a frozen process that another one has forked what only it can tell. It is not
// copied: see descent.
func (p *Frozen) Interrogate() error {
	s := p.tracee().program()
	asked := p.askAll(s)
	first := asked[0]
	actions := first.Put(make([]byte, signals*actionBytes))
	for n := range uint64(signals) {
		first.Add("ask for the action on a signal", unix.SYS_RT_SIGACTION, n+1, 0, actions+n*actionBytes,
			maskBytes)
	}
	heap := first.Add("ask for the end of the heap", unix.SYS_BRK, 0)
	if _, err := p.carryOut(s, asked); err != nil {
		return err
	}
	for n, q := range asked {
		if err := q.Check(); err != nil {
			return err
		}
		q.note(p.threads[n], &p.attributes)
	}
	p.descent.actions = slices.Clone(s.Read(actions, signals*actionBytes))
	p.descent.brk = uint64(first.Result(heap))
	return nil
}

// SaveDifference notes how the memory of a process that another one has forked differs from that of
// its parent. Pages that an earlier image of it has with the same content are shared with that. It
// returns the pages, for the next image, and how many bytes of them are new.
//
// The parent is frozen, too, so that both can be compared page by page. Its heap is taken as brk(2)
// will leave it in a fork.
func (p *Frozen) SaveDifference(earlier []OwnPage) (pages []OwnPage, fresh int64, err error) {
	parents := withHeapOf(p.Parent.Memory.mappings, p.Memory.mappings, p.descent.brk)
	d, common, err := compareMappings(p.PID, parents, p.Memory.mappings)
	if err == nil {
		err = d.refuseKernels(p.PID, p.Parent.Memory.mappings)
	}
	if err != nil {
		return nil, 0, err
	}
	pagesOf, err := pagemap.Compare(p.PID, p.Parent.PID, common, callsOf(p.calls))
	if err != nil {
		return nil, 0, err
	}
	d.emptied = pagesOf.Emptied
	if fresh, err = d.read(p.PID, pagesOf.Own, earlier); err != nil {
		return nil, 0, err
	}
	p.descent.memory = d
	return d.pages, fresh, nil
}
