package watch

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strconv"

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

// uninstrumented keeps, by pid, what was found out about processes.
type uninstrumented map[int]examined

// examined is what was found out about a process while it executed a program.
type examined struct {
	executable string
	why        string // why the shim does not see what it reads; empty: it does
}

// why says why the shim does not see what a process reads, or cannot freeze its time-outs. It is
// empty if there is no reason. A process is looked at once for each program that it executes.
func (u uninstrumented) why(pid int, executable string, libraries shim.Libraries, frozen bool) string {
	e, known := u[pid]
	if !known || e.executable != executable {
		e = examined{executable, examine("/proc/"+strconv.Itoa(pid), libraries, frozen)}
		u[pid] = e
	}
	return e.why
}

// examine looks at the program that a process executes, and at what it has mapped. The reason is a
// part of a sentence about the process.
func examine(process string, libraries shim.Libraries, frozen bool) string {
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

// isGo tells whether the Go toolchain has built a program.
func isGo(f *elf.File) bool { return f.Section(".go.buildinfo") != nil }

// isStatic tells whether a program is started without a dynamic linker, which would preload the
// shim.
func isStatic(f *elf.File) bool {
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
