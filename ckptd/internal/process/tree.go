package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// Processes that a peer has forked go back with it. A copy of a child would be of no use, since
// what it forks is never a child of the restored parent. So the image of a child is what its
// parent's copy does not have: the pages of memory that differ, which in servers that fork are few.
// A restored parent forks a process, whose memory is then made the child's. What a process gets
// when it executes a program is not made again: a child that has executed another one is refused.

// descent is what there is to know of a process that a peer has forked.
type descent struct {
	exitSignal uint64
	session    int // of the parent's, or its own; in the group's pid namespace
	group      int
	umask      uint64
	brk        uint64
	actions    []byte          // of all signals
	memory     forked          // what differs from the parent's
	forker     ptrace.RseqArea // of the parent, which a fork inherits
}

// kindsOfSharing are what processes may share and these must not: kcmp(2).
var kindsOfSharing = map[uintptr]string{1: "memory", 2: "open files", 3: "directories", 4: "signal handlers"}

// FreezeTree stops a process and all that it has forked, parents first, and returns also those that
// it has stopped before an error.
func FreezeTree(pid int, parent *Process, here *unix.CPUSet) (all []*Process, err error) {
	p, err := freeze(pid, here)
	all = []*Process{p}
	if err != nil {
		return all, err
	}
	if p.Parent = parent; parent != nil {
		parent.Children = append(parent.Children, p)
	}
	for _, t := range p.threads {
		children, err := procfs.Children(pid, t.tid)
		if err != nil {
			return all, err
		}
		for _, child := range children {
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

// examineDescent reads what there is to know from outside of a process that another one has forked,
// or refuses.
func (p *Process) examineDescent() error {
	for kind, what := range kindsOfSharing {
		r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(p.PID), uintptr(p.Parent.PID), kind, 0, 0, 0)
		if errno != 0 {
			return fmt.Errorf("compare processes %d and %d: %w", p.PID, p.Parent.PID, errno)
		}
		if r == 0 {
			return incarnation.Refuse("process %d shares its %s with its parent", p.PID, what)
		}
	}
	d := &descent{forker: p.Parent.threads[0].rseq}
	p.descent = d
	own, err := procfs.StatFields(p.PID)
	if err != nil {
		return err
	}
	parents, err := procfs.StatFields(p.Parent.PID)
	if err != nil {
		return err
	}
	const nice, exitSignal, startData, envEnd = 16, 35, 42, 48 // 3 less than in proc(5)
	if d.exitSignal, err = strconv.ParseUint(own[exitSignal], 10, 8); err != nil {
		return fmt.Errorf("the signal that tells of the end of process %d: %w", p.PID, err)
	}
	var programs [2]string
	for n, pid := range []int{p.PID, p.Parent.PID} {
		if programs[n], err = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			return err
		}
	}
	if programs[0] != programs[1] || !slices.Equal(own[startData:envEnd+1], parents[startData:envEnd+1]) {
		return incarnation.Refuse("process %d, which a peer has started, has executed a program, %s", p.PID,
			programs[0])
	}
	if own[nice] != parents[nice] {
		return incarnation.Refuse("process %d has another priority than its parent", p.PID)
	}
	var limits [2]string
	for n, pid := range []int{p.PID, p.Parent.PID} {
		text, err := procfs.Read(fmt.Sprintf("/proc/%d/limits", pid))
		if err != nil {
			return err
		}
		limits[n] = string(text)
	}
	if limits[0] != limits[1] {
		return incarnation.Refuse("process %d has other limits than its parent", p.PID)
	}
	return p.examineHeritage()
}

// examineHeritage compares the status with that of the parent. What a fork inherits cannot be given
// to the child later, so both must have the same.
func (p *Process) examineHeritage() (err error) {
	d := p.descent
	for _, field := range append([]string{"Seccomp_filters:"}, statusOfAll...) {
		if field != "Umask:" && p.common.Field(field) != p.Parent.common.Field(field) {
			return incarnation.Refuse("process %d has another %s than its parent", p.PID,
				strings.TrimSuffix(field, ":"))
		}
	}
	if d.umask, err = strconv.ParseUint(p.common.Field("Umask:"), 8, 32); err != nil {
		return fmt.Errorf("the umask of process %d: %w", p.PID, err)
	}
	d.session, d.group = p.common.Innermost("NSsid:"), p.common.Innermost("NSpgid:")
	leads := d.session == p.Inner && d.group == p.Inner
	follows := d.session == p.Parent.common.Innermost("NSsid:") &&
		(d.group == p.Inner || d.group == p.Parent.common.Innermost("NSpgid:"))
	if !leads && !follows {
		return incarnation.Refuse(
			"process %d is in a session or a process group that is neither its own nor its parent's", p.PID)
	}
	return nil
}

// MeetingPlace is an address where none of these processes has memory: a process that one of them
// forks has the calls where it has them.
func MeetingPlace(all []*Process) (uint64, error) {
	const first, step, last = 0x100000000000, 1 << 30, 0x400000000000
	for at := uint64(first); at < last; at += step {
		taken := slices.ContainsFunc(all, func(p *Process) bool {
			return slices.ContainsFunc(p.mappings,
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

// Of rt_sigaction(2).
const (
	signals     = 64
	actionBytes = 32 // of the kernel's struct sigaction
	maskBytes   = 8
)

// Interrogate asks a frozen process that another one has forked what only it can tell.
func (p *Process) Interrogate() error {
	s := tracer.NewProgram(p.injected)
	var asked []questions
	for n := range p.threads {
		asked = append(asked, p.ask(s, n))
	}
	first := asked[0]
	actions := first.Put(make([]byte, signals*actionBytes))
	for n := range uint64(signals) {
		first.Add("ask for the action on a signal", unix.SYS_RT_SIGACTION, n+1, 0, actions+n*actionBytes,
			maskBytes)
	}
	heap := first.Add("ask for the end of the heap", unix.SYS_BRK, 0)
	if _, err := p.runAll(s, asked); err != nil {
		return err
	}
	for n, q := range asked {
		if err := q.Check(); err != nil {
			return err
		}
		p.note(q, n)
	}
	p.descent.actions = slices.Clone(s.Read(actions, signals*actionBytes))
	p.descent.brk = uint64(first.Result(heap))
	return nil
}

// MakeChildren has a restored process, which does not run yet, fork those that it had forked.
func (r *Revival) MakeChildren(parent *Process, children []*Process) (all []*Process, err error) {
	for _, c := range children {
		q, err := r.makeChild(parent, c)
		if err != nil {
			return all, fmt.Errorf("make process %d again: %w", c.Inner, err)
		}
		all = append(all, q)
		below, err := r.MakeChildren(q, c.Children)
		all = append(all, below...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// makeChild has a restored parent fork one child, and makes that what it was. Its parts are those
// of MakePeer, but memory is made the child's instead of the parent's.
func (r *Revival) makeChild(parent, c *Process) (*Process, error) {
	q := *c
	q.threads, q.remapped, q.injected, q.Parent = nil, true, parent.injected, parent
	for _, t := range c.threads {
		u := *t
		q.threads = append(q.threads, &u)
	}
	var err error
	if q.PID, err = parent.forkChild(&q); err != nil {
		return nil, err
	}
	q.threads[0].tid = q.PID
	fds, err := r.Files.Open(q.Descriptors)
	if err != nil {
		return nil, err
	}
	files, err := q.descent.memory.open(r)
	r.Files.Keep(files...)
	if err != nil {
		return nil, err
	}
	fds = append(fds, files...)
	s := tracer.NewProgram(q.injected)
	begin, main := s.Batch(), s.Batch()
	begin.Add("close all files", unix.SYS_CLOSE_RANGE, 0, 1<<32-1, 0)
	begin.MakePair()
	q.install(main, len(fds), q.descent.memory.remapped)
	q.resume(main)
	q.inheritNot(main)
	threads := makeThreads(main, q.threads[1:])
	if err := s.Load(q.PID); err != nil {
		return nil, err
	}
	if err := begin.Start(q.PID, q.threads[0].registers); err != nil {
		return nil, err
	}
	if _, err := tracer.AwaitTraps(q.PID); err != nil {
		return nil, err
	}
	if err := s.Fetch(q.PID); err != nil {
		return nil, err
	}
	if err := begin.Check(); err != nil {
		return nil, err
	}
	if err := q.deliver(main, 1, fds); err != nil {
		return nil, err
	}
	arrived, err := tracer.AwaitTraps(q.PID)
	if err == nil {
		err = q.bringUp(main, threads, arrived)
	}
	if err == nil {
		err = q.descent.memory.write(q.PID)
	}
	return &q, err
}

// forkChild has a process that is stopped fork one with the number of another.
func (p *Process) forkChild(c *Process) (pid int, err error) {
	const attempts, pause = 2000, 50 * time.Microsecond
	for attempt := 1; ; attempt++ {
		b := tracer.NewProgram(p.injected).Batch()
		made := b.Clone("fork a process", tracer.CloneArguments{Flags: unix.CLONE_PTRACE,
			ExitSignal: c.descent.exitSignal}, c.Inner)
		if pid, err = p.forkAgain(b, made); !errors.Is(err, unix.EEXIST) || attempt == attempts {
			return pid, err
		}
		time.Sleep(pause) // one that was killed may have the number for a moment
	}
}

// join adds the calls that bring a process to its session and process group.
func (p *Process) join(b *tracer.Batch) {
	d := p.descent
	switch {
	case d == nil || d.session == p.Inner:
		b.Add("begin a session", unix.SYS_SETSID)
	case d.group == p.Inner:
		b.Add("begin a process group", unix.SYS_SETPGID, 0, 0)
	}
}

// prepareMemory adds the calls that free the memory which the process has from its parent, and had
// not, before other memory is mapped.
func (p *Process) prepareMemory(b *tracer.Batch) {
	d := p.descent
	if d == nil {
		return
	}
	if d.forker.Address != 0 { // the kernel writes there
		const unregister = 1
		b.Add("forget the restartable sequences", unix.SYS_RSEQ, d.forker.Address, uint64(d.forker.Size),
			unregister, uint64(d.forker.Signature))
	}
	b.Add("set the end of the heap", unix.SYS_BRK, d.brk)
	for _, r := range d.memory.unmapped {
		b.Add("unmap memory", unix.SYS_MUNMAP, r.From, r.To-r.From)
	}
	for _, r := range d.memory.emptied {
		b.Add("empty memory", unix.SYS_MADVISE, r.From, r.To-r.From, unix.MADV_DONTNEED)
	}
}

// inheritNot adds the calls that give a process back what it would otherwise have from its parent.
func (p *Process) inheritNot(b *tracer.Batch) {
	first := p.threads[0]
	actions := b.Put(p.descent.actions)
	for n := range uint64(signals) {
		if signal := unix.Signal(n + 1); signal != unix.SIGKILL && signal != unix.SIGSTOP {
			b.Add("set the action on a signal", unix.SYS_RT_SIGACTION, n+1, actions+n*actionBytes, 0,
				maskBytes)
		}
	}
	b.Add("set the mask of files", unix.SYS_UMASK, p.descent.umask)
	first.equip(b)
}
