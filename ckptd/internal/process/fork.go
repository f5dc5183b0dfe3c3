package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// Fork asks a frozen process what only it can tell, and makes the copy of it that an image
// is, with this number in the group. Where there is an error, there may be a copy.
func (p *Process) Fork(copyNetns *os.File, number int) (*Process, error) {
	s := tracer.NewProgram(p.injected)
	var asked []questions
	for n := range p.threads {
		asked = append(asked, p.ask(s, n))
	}
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
	arrived, err := p.runAll(s, asked)
	for n, q := range asked {
		if err == nil {
			err = q.Check()
		}
		if err == nil {
			p.note(q, n)
		}
	}
	born := arrived.Stopped
	if err == nil && first.Result(made) > 0 {
		born, err = arrived.Await(1, p.lost(first.Result(made)))
	}
	if len(born) == 0 {
		return nil, fmt.Errorf("copy process %d: %w", p.PID, err)
	}
	c := *p
	c.PID, c.Generation = born[0], p.Generation+1
	if err == nil {
		err = c.deliver(strip, free[1], []int{int(copyNetns.Fd())})
	}
	if err == nil {
		_, err = tracer.AwaitTraps(c.PID)
	}
	if err == nil {
		err = p.inherited(&c)
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

// inherited sees whether the copy of a process has the memory that the process has. If the kernel
// has wiped some, that is read from the process, so that a restore can write it.
func (p *Process) inherited(copied *Process) error {
	sizes, err := pagemap.Sizes(p.PID)
	if err != nil {
		return err
	}
	if now, err := pagemap.Sizes(copied.PID); err != nil || now != sizes {
		return errors.Join(err, incarnation.Refuse("memory of process %d is not inherited by a fork", p.PID))
	}
	if p.own == nil {
		return nil
	}
	own, err := pagemap.OwnPages(copied.PID, p.calls())
	if err != nil || slices.Equal(own, p.own) {
		return err
	}
	// Some was wiped: which shows in the flags of mappings.
	p.mappings, p.wiped = nil, nil
	if err := p.examineFlags(); err != nil {
		return err
	}
	copied.mappings, copied.wiped = p.mappings, p.wiped
	return nil
}

// runAll has each thread carry out its list of a program, side by side.
func (p *Process) runAll(s *tracer.Program, lists []questions) (arrived tracer.NewTasks, err error) {
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

// deliver sends descriptors over the end with this number of a pair that a process has
// inherited, and has the process begin with a batch that receives them.
func (p *Process) deliver(b *tracer.Batch, end int, fds []int) error {
	pidfd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	ours, err := unix.PidfdGetfd(pidfd, end, 0)
	if err != nil {
		return err
	}
	defer unix.Close(ours)
	if err := seqpacket.Send(ours, []byte{0}, fds); err != nil {
		return fmt.Errorf("send %d descriptors to process %d: %w", len(fds), p.PID, err)
	}
	return b.Start(p.PID, p.threads[0].registers)
}

// MakePeer makes a process like the one that the copy p is of; it does not run yet.
func (r *Revival) MakePeer(p *Process) (*Process, error) {
	q := *p
	q.threads, q.remapped = nil, false
	for _, t := range p.threads {
		u := *t
		q.threads = append(q.threads, &u)
	}
	fds, remapped, err := r.open(&q)
	if err != nil {
		return nil, err
	}
	q.remapped = len(remapped) > 0
	s := q.plan(len(fds), remapped)
	if err := osthread.SetProcessors(p.PID, r.Here); err != nil {
		return nil, err
	}
	if q.PID, err = p.forkAgain(s.fork, s.made); err != nil {
		return nil, err
	}
	q.threads[0].tid = q.PID
	if err := q.deliver(s.main, 1, fds); err != nil {
		return nil, err
	}
	arrived, err := tracer.AwaitTraps(q.PID)
	if err == nil {
		err = q.bringUp(s.main, s.threads, arrived)
	}
	if err != nil {
		return nil, err
	}
	if q.Generation++; p.Generation >= MaxGeneration {
		q.Generation = 0
	}
	for _, m := range remapped {
		if m.Shared {
			continue
		}
		if err := m.CopyOwn(p.PID, q.PID); err != nil {
			return nil, err
		}
	}
	return &q, ptrace.WriteMemory(q.PID, q.wiped...)
}

// lost is for who waits for a new process to stop: one that was killed before never does. It tells,
// of a process that this one has made, with this pid in their namespace, whether it has
// ended.
func (p *Process) lost(inner int64) func() bool {
	return func() bool {
		text, err := procfs.Read(fmt.Sprintf("/proc/%d/status", p.PID))
		if err != nil {
			return true
		}
		parent, err := strconv.Atoi(procfs.Status(text).Field("PPid:"))
		if err != nil {
			return true
		}
		siblings, _ := procfs.AllChildren(parent)
		return !slices.ContainsFunc(siblings, func(pid int) bool {
			n, err := procfs.InnerPID(pid)
			return err == nil && int64(n) == inner && procfs.IsAlive(pid)
		})
	}
}

// forkAgain has a stopped process carry out a batch in which it forks, and returns the new one,
// which is stopped, too.
func (p *Process) forkAgain(fork *tracer.Batch, made int) (pid int, err error) {
	if err := fork.Program.Load(p.PID); err != nil {
		return 0, err
	}
	if err := fork.Start(p.PID, p.threads[0].registers); err != nil {
		return 0, err
	}
	arrived, err := tracer.AwaitTraps(p.PID)
	if err == nil {
		err = fork.Program.Fetch(p.PID)
	}
	if err == nil {
		err = fork.Check()
	}
	if err != nil {
		return 0, err
	}
	born, err := arrived.Await(1, p.lost(fork.Result(made)))
	if err != nil {
		return 0, err
	}
	return born[0], nil
}

// open opens files like those that the process had, twins left out, then those to be
// mapped again, and last the namespaces to enter.
func (r *Revival) open(p *Process) (fds []int, remapped []mappings.Remap, err error) {
	if fds, err = r.Files.Open(p.Descriptors); err != nil {
		return nil, nil, err
	}
	remapped, files, err := r.remaps(p)
	r.Files.Keep(files...)
	if err != nil {
		return nil, nil, err
	}
	fds = append(fds, files...)
	return append(fds, int(r.Files.Network.Fd()), int(r.Clock.Fd())), remapped, nil
}

// install adds the calls that receive count descriptors, over descriptor 0, and give them
// their numbers.
func (p *Process) install(b *tracer.Batch, count int, remapped []mappings.Remap) {
	aside := uint64(max(count+1, p.Descriptors.Above()))
	p.join(b)
	b.Add("put the socket aside", unix.SYS_DUP3, 0, aside, unix.O_CLOEXEC)
	b.Add("close the socket pair", unix.SYS_CLOSE_RANGE, 0, 1, 0)
	b.Receive(aside, count) // as 0, 1, 2, ...
	b.Add("close the socket", unix.SYS_CLOSE, aside)
	file := uint64(p.Descriptors.Descriptions())
	p.prepareMemory(b)
	for _, m := range remapped {
		mappings.MapAnew(b, m, file)
		if m.FromFile {
			b.Add("close a mapped file", unix.SYS_CLOSE, file)
			file++
		}
	}
	for kind := uint64(unix.CLONE_NEWNET); file < uint64(count); file++ {
		b.Add("enter a namespace of the group", unix.SYS_SETNS, file, kind)
		b.Add("close a namespace of the group", unix.SYS_CLOSE, file)
		kind = unix.CLONE_NEWTIME
	}
	p.Descriptors.Place(b)
}

// resume adds the calls that give the process back what a fork does not inherit.
func (p *Process) resume(b *tracer.Batch) {
	first := p.threads[0]
	directory := b.Put(append([]byte(p.directory), 0))
	b.Add("enter the directory", unix.SYS_CHDIR, directory)
	for which, t := range p.timers {
		if t != (unix.Itimerval{}) {
			b.Add("set a timer", unix.SYS_SETITIMER, uint64(which), b.Put(encodeTimer(t)), 0)
		}
	}
	b.Add("set whether it adopts orphans", unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, p.subreaper)
	b.Add("set the signal of the parent's death", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG,
		uint64(first.deathSignal))
	b.Add("set the address of the thread id", unix.SYS_SET_TID_ADDRESS, first.clearTID)
	if first.robust[0] != 0 {
		b.Add("set the list of robust mutexes", unix.SYS_SET_ROBUST_LIST, first.robust[0], first.robust[1])
	}
}

// Release removes the mapping for calls and lets all threads go on, in the calls that they
// waited in.
func (p *Process) Release() error {
	first := p.threads[0]
	if err := tracer.Withdraw(first.tid, first.registers, p.injected); err != nil {
		return err
	}
	if err := p.checkMappings(p.remapped); err != nil {
		return err
	}
	for _, t := range p.threads {
		if err := ptrace.SetRegisters(t.tid, t.repeat()); err != nil {
			return err
		}
		if err := ptrace.SetRegisterSet(t.tid, ptrace.NtX86Xstate, t.vector); err != nil {
			return err
		}
		if err := ptrace.SetSignalMask(t.tid, t.mask); err != nil {
			return err
		}
		if err := osthread.SetProcessors(t.tid, &t.processors); err != nil {
			return err
		}
	}
	for _, t := range p.threads {
		if err := ptrace.Detach(t.tid); err != nil {
			return err
		}
	}
	return nil
}
