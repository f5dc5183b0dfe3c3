package sut

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// processor is the one that a worker runs on. Checker and worker take turns and
// never run at the same time; on two processors each turn would have to wake one
// up, which takes longer than most turns.
type processor struct {
	number   int // Options.Processor
	one, all unix.CPUSet
	chosen   bool
	known    bool
	stays    bool // the goroutine that calls Run is there
}

// claim ties a process to the processor, which is chosen by the first. It is a
// matter of speed only: where it cannot be done, nothing happens.
func (p *processor) claim(pid int) {
	if !p.chosen {
		p.choose(pid)
	}
	p.known = p.chosen && unix.SchedSetaffinity(pid, &p.one) == nil
}

// choose takes one of the processors. Several workers spread.
func (p *processor) choose(pid int) {
	if p.number > 0 {
		pid = os.Getpid() + p.number
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

// share brings the calling goroutine to the worker's processor until the
// function that it returns is called.
func (p *processor) share() (leave func()) {
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

// Stay keeps the calling goroutine on the worker's processor until the function that
// it returns is called. Only that goroutine may then call Run, which need not move it
// there and back for each execution.
func (w *Worker) Stay() (leave func()) {
	away := w.cpu.share()
	w.cpu.stays = true
	return func() {
		w.cpu.stays = false
		away()
	}
}
