package peers

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"strconv"
)

// looked is what was found out about a process.
type looked struct {
	executable string
	blind      string // why nobody sees what it reads; empty: the shim counts it
}

// Blind describes the processes, as of the last Quiesce, whose reads of the time and of
// random numbers are not counted, and why. shim is the file of the shim in the group.
func (w *Watch) Blind(shim string) ([]string, error) {
	var blind []string
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
			l = looked{executable, whyBlind(process, shim)}
			w.looked[t.pid] = l
		}
		if l.blind != "" {
			blind = append(blind, fmt.Sprintf("%s (%s)", executable, l.blind))
		}
	}
	return blind, nil
}

// whyBlind says why the shim does not see what a process reads; empty if it does.
func whyBlind(process, shim string) string {
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
	case f.Section(".go.buildinfo") != nil:
		return "it is a Go program, which asks the kernel and not the C library"
	case bytes.Contains(maps, []byte(shim)):
		return ""
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "it did not load the shim: it has another C library, or more privileges than who started it"
		}
	}
	return "it is linked statically"
}
