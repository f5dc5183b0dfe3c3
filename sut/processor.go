package sut

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// processor is the one that a worker runs on. Checker and worker take turns and
// never run at the same time; on two processors each turn would have to wake one
// up, which takes longer than most turns.
type processor struct {
	one, all unix.CPUSet
	known    bool
}

// claimProcessor ties a process to a processor. It is a matter of speed only:
// where it cannot be done, nothing happens.
func claimProcessor(pid int) (p processor) {
	if unix.SchedGetaffinity(0, &p.all) != nil || p.all.Count() == 0 {
		return p
	}
	nth := pid % p.all.Count() // several workers spread
	for cpu := 0; ; cpu++ {
		if !p.all.IsSet(cpu) {
			continue
		}
		if nth == 0 {
			p.one.Set(cpu)
			break
		}
		nth--
	}
	p.known = unix.SchedSetaffinity(pid, &p.one) == nil
	return p
}

// share brings the calling goroutine to the worker's processor until the
// function that it returns is called.
func (p *processor) share() (leave func()) {
	if !p.known {
		return func() {}
	}
	runtime.LockOSThread()
	unix.SchedSetaffinity(0, &p.one)
	return func() {
		unix.SchedSetaffinity(0, &p.all)
		runtime.UnlockOSThread()
	}
}
