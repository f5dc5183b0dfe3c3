package narrate

import (
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// race tells a data race in the words of a report. Goroutines and places get the names that the
// counterexample uses.
func (n *narrator) race(r *sut.Race) *report.Race {
	return &report.Race{Later: n.memoryAccess(r.Later), Earlier: n.memoryAccess(r.Earlier)}
}

// memoryAccess tells one access of a race. Of the earlier one, goroutine and stack are known only
// if it was watched for.
func (n *narrator) memoryAccess(a sut.MemoryAccess) report.MemoryAccess {
	m := report.MemoryAccess{
		Operation: memoryOperation(a), Address: a.Address, Size: a.Size, Stack: frames(n.program, a.Stack),
	}
	if i, ok := n.names[a.Goroutine]; ok {
		m.Goroutine = n.result.Goroutines[i]
	}
	return m
}

// memoryOperation is what an access does, in words.
func memoryOperation(a sut.MemoryAccess) string {
	name := "read"
	if a.Write {
		name = "write"
	}
	if a.Atomic {
		name = "atomic " + name
	}
	return name
}

// frames leaves out the innermost calls as far as they are a part of the access, and the outermost,
// which started the goroutine. A program counter that is not known ends the list.
func frames(p *sut.Program, pcs []uint64) []report.Frame {
	var list []report.Frame
	for _, pc := range pcs {
		at, ok := p.Position(pc)
		if !ok || at.Function == "runtime.goexit" || at.Function == "runtime.main" {
			break
		}
		if len(list) == 0 && partOfAccess(at.Function) {
			continue
		}
		list = append(list, report.Frame{Function: at.Function, Source: shortSource(at)})
	}
	return list
}

// partOfAccess reports whether a function is one by which the runtime notes an access, or that the
// program calls to make it: nobody looks for the race there.
func partOfAccess(function string) bool {
	for _, prefix := range []string{"runtime.", "internal/runtime/", "internal/race.", "sync/atomic."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
