package process

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
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
	stays    bool // the goroutine that calls Share is there
}

// claim ties a process to the processor, which is chosen by the first. It is a matter of speed
// only: where it cannot be done, nothing happens. A container, for instance, may forbid it.
func (p *Processor) claim(pid int) {
	if !p.chosen {
		p.choose(pid)
	}
	p.known = p.chosen && unix.SchedSetaffinity(pid, &p.one) == nil
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
// function that it returns is called.
func (p *Processor) Share() (leave func()) {
	if !p.known || p.stays {
		return func() {}
	}
	runtime.LockOSThread()
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
// called. Meanwhile Share does nothing.
func (p *Processor) Stay() (leave func()) {
	away := p.Share()
	p.stays = true
	return func() {
		p.stays = false
		away()
	}
}
