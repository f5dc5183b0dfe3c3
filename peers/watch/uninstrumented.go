package watch

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
)

// Uninstrumented is a process of which nobody knows what it reads of the time and of random
// numbers.
type Uninstrumented struct {
	Peer       string
	Executable string
	Why        string
	Chosen     bool // it belongs to a peer whose behaviour, or clock, is chosen
}

func (u Uninstrumented) String() string { return fmt.Sprintf("%s (%s)", u.Executable, u.Why) }

// looked is what was found out about a process.
type looked struct {
	executable string
	why        string // why nobody sees what it reads; empty: the shim counts it
}

// Uninstrumented describes the processes, as of the last Quiesce, whose reads of the time and of
// random numbers are neither counted nor chosen, and why. The libraries are those of the shim, by
// the names that the group sees.
func (w *Watch) Uninstrumented(libraries shim.Libraries) []Uninstrumented {
	var all []Uninstrumented
	last := -1
	for _, t := range w.tasks[1] {
		if t.pid == last {
			continue // another thread
		}
		last = t.pid
		process := "/proc/" + strconv.Itoa(t.pid)
		executable, err := os.Readlink(process + "/exe")
		if err != nil {
			continue // it has ended
		}
		l, known := w.looked[t.pid]
		if !known || l.executable != executable {
			l = looked{executable, whyUninstrumented(process, libraries, t.peer >= 0 && w.peers[t.peer].VirtualClock)}
			w.looked[t.pid] = l
		}
		if l.why == "" {
			continue
		}
		u := Uninstrumented{Peer: w.nameOf(t.peer), Executable: executable, Why: l.why}
		u.Chosen = w.isChosen(t.peer)
		all = append(all, u)
	}
	return all
}

// isChosen reports whether the behaviour of a peer, or its clock, is chosen; an orphan may be
// anybody's.
func (w *Watch) isChosen(peer int) bool {
	if peer >= 0 {
		return w.peers[peer].IsChosen()
	}
	return slices.ContainsFunc(w.peers, func(p peers.Process) bool { return p.IsChosen() })
}

// whyUninstrumented says why the shim does not see what a process reads, or cannot freeze its
// time-outs; empty if it does.
func whyUninstrumented(process string, libraries shim.Libraries, frozen bool) string {
	maps, err := os.ReadFile(process + "/maps")
	if err != nil {
		return "" // it has ended
	}
	f, err := elf.Open(process + "/exe")
	if err != nil {
		return "it is no program that can be looked at: " + err.Error()
	}
	defer f.Close()
	switch {
	case bytes.Contains(maps, []byte(libraries.VDSO)) && !frozen:
		return ""
	case isGo(f):
		return "it is a Go program, which asks the kernel and not the C library"
	case bytes.Contains(maps, []byte(libraries.Library)):
		return ""
	case isStatic(f):
		return "it is linked statically"
	}
	return "it did not load the shim: it has another C library, or more privileges than who started it"
}

func isGo(f *elf.File) bool { return f.Section(".go.buildinfo") != nil }

func isStatic(f *elf.File) bool {
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
