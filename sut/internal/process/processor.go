package process

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// Processor is the one that a process runs on. Checker and process take turns and never run at the
// same time; on two processors each turn would have to wake one up, which takes longer than most
// turns.
type Processor struct {
	// Number tells processes apart that run at the same time, so that they spread over the
	// processors: 1, 2, ...; 0: it does not matter.
	Number int

	one, all unix.CPUSet
	chosen   bool
	known    bool
	stays    bool         // the goroutine that calls Share is there
	together []*Processor // of processes that are there, too, and move with this one
	pid      int          // of the process that is there
	crowding crowding
}

// claim ties a process to the processor, which is chosen by the first. It is a matter of speed
// only: where it cannot be done, nothing happens. A container, for instance, may forbid it.
func (p *Processor) claim(pid int) {
	if !p.chosen {
		p.choose(pid)
	}
	p.known = p.chosen && unix.SchedSetaffinity(pid, &p.one) == nil
	p.pid, p.crowding = pid, crowding{machine: &kernel{}}
}

// leaveCrowd moves the process, and the calling thread if that stays with it, to a processor that
// is idle, where others run on theirs. It looks now and then only.
func (p *Processor) leaveCrowd() {
	now := time.Now()
	if !p.known || !p.crowding.due(now) {
		return
	}
	if cpu := p.crowding.better(now, unix.Gettid(), p.pid, &p.all); cpu >= 0 {
		p.move(cpu)
	}
}

// move ties the threads of the process, and that of the checker, to another processor. Where that
// cannot be done, all stays as it is, or becomes slower: a matter of speed only.
func (p *Processor) move(cpu int) {
	one := unix.CPUSet{}
	one.Set(cpu)
	if p.bring(one); p.stays {
		_ = unix.SchedSetaffinity(0, &p.one)
	}
	for _, q := range p.together {
		if q != p {
			q.bring(one)
		}
	}
}

// bring ties the threads of the process to another processor.
func (p *Processor) bring(one unix.CPUSet) {
	p.one = one
	var reader procfs.Reader
	threads, err := reader.Threads(p.pid)
	if err != nil {
		return // it has ended
	}
	for _, tid := range threads {
		_ = unix.SchedSetaffinity(tid, &p.one)
	}
}

// choose takes one of the processors. Several workers spread. It takes the one whose number among
// the allowed ones follows from the process ID, or from Number.
func (p *Processor) choose(pid int) {
	if p.Number > 0 {
		pid = os.Getpid() + p.Number
	}
	if unix.SchedGetaffinity(0, &p.all) != nil || p.all.Count() == 0 {
		return
	}
	nth := pid % p.all.Count()
	for cpu := 0; !p.chosen; cpu++ {
		if !p.all.IsSet(cpu) {
			continue
		}
		if nth == 0 {
			p.one.Set(cpu)
			p.chosen = true
		}
		nth--
	}
}

// Share brings the calling goroutine to the worker's processor until the
// function that it returns is called. If others run there, both may move to another one first.
func (p *Processor) Share() (leave func()) {
	if !p.known {
		return func() {}
	}
	if p.stays {
		p.leaveCrowd()
		return func() {}
	}
	runtime.LockOSThread()
	p.leaveCrowd()
	var before unix.CPUSet // perhaps that of another worker, where the goroutine stays
	if unix.SchedGetaffinity(0, &before) != nil {
		before = p.all
	}
	unix.SchedSetaffinity(0, &p.one)
	return func() {
		unix.SchedSetaffinity(0, &before)
		runtime.UnlockOSThread()
	}
}

// Stay keeps the calling goroutine on the process's processor until the function that it returns is
// called. Meanwhile Share only moves both together.
func (p *Processor) Stay() (leave func()) {
	away := p.Share()
	p.stays = true
	return func() {
		p.stays = false
		away()
	}
}

// StayTogether keeps the calling goroutine on the processor of the first process, as Stay does, and
// brings the others there. Until the function that it returns is called, Share of one of them moves
// all of them together.
// Processes that cannot be tied to a processor are left where they are.
func StayTogether(all []*Processor) (leave func()) {
	var tied []*Processor
	for _, p := range all {
		if p.known {
			tied = append(tied, p)
		}
	}
	if len(tied) == 0 {
		return func() {}
	}
	away := tied[0].Stay()
	for _, p := range tied {
		if p.one != tied[0].one {
			p.bring(tied[0].one)
		}
		p.stays, p.together = true, tied
	}
	return func() {
		for _, p := range tied {
			p.stays, p.together = false, nil
		}
		away()
	}
}
