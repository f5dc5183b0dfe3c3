package process

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// newThread is a thread to be made, by the first thread of its process.
type newThread struct {
	*thread
	made  int           // index of the call that makes it
	list  *tracer.Batch // what it does first
	stack uint64        // by which it is told from the others until it has its own
}

// makeThreads adds the calls that make threads, with the numbers that they had, and a list
// for each of what gives it what is its own.
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

// equip adds the calls that give a thread what is its own.
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

// bringUp goes on when a batch that makes threads has come to its end: they carry out their
// lists. The numbers of threads that were killed may be in use a moment longer than their
// process; those that could not be made are made then.
func (p *Process) bringUp(b *tracer.Batch, all []newThread, arrived tracer.NewTasks) error {
	const attempts, pause = 2000, 50 * time.Microsecond
	for attempt := 1; ; attempt++ {
		if err := b.Program.Fetch(p.PID); err != nil {
			return err
		}
		if err := b.Check(); err != nil {
			return err
		}
		missing, err := p.equipThreads(b, all, arrived)
		if err != nil || len(missing) == 0 {
			return err
		}
		if attempt == attempts {
			return fmt.Errorf("make thread %d: its number is in use", missing[0].inner)
		}
		time.Sleep(pause)
		b = tracer.NewProgram(p.injected).Batch()
		all = makeThreads(b, missing)
		if err := b.Program.Load(p.PID); err != nil {
			return err
		}
		if err := b.Start(p.PID, p.threads[0].registers); err != nil {
			return err
		}
		if arrived, err = tracer.AwaitTraps(p.PID); err != nil {
			return err
		}
	}
}

// equipThreads has the threads that could be made carry out their lists, side by side, and
// returns the others.
func (p *Process) equipThreads(b *tracer.Batch, all []newThread, arrived tracer.NewTasks) (missing []*thread,
	err error) {
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
	born, err := arrived.Await(len(byStack), func() bool { return !procfs.IsAlive(p.PID) })
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
	if err := b.Program.Fetch(p.PID); err != nil {
		return nil, err
	}
	for _, t := range byStack {
		if err := t.list.Check(); err != nil {
			return nil, err
		}
	}
	return missing, nil
}
