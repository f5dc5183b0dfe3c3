package narrate

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/tandem-mc/tandem/check/internal/gotest"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// A failure is told in two parts. The message is what is wrong, in the words of the runtime where
// it has said it. The stack is where: of the goroutine that failed, or of each that is left. The
// steps of the schedule that it is about are marked: they are shown where others are folded.

// annotations is the package through which programs speak to the checker.
const annotations = "github.com/tandem-mc/tandem"

// failure is how the execution ended, in words. An outcome without a case of its own is a panic or
// a fatal error.
func (n *narrator) failure() report.Failure {
	l := n.log
	f := report.Failure{Printed: strings.TrimSpace(string(l.Stderr))}
	switch l.Outcome {
	case sut.Deadlock:
		f.Kind, f.Message = model.Deadlock, "deadlock: "+cmp.Or(l.Message,
			"no goroutine can go on, and no timer is set")
	case sut.Livelock:
		f.Kind, f.Message = model.Livelock, n.livelock()
	case sut.Leaked:
		f.Kind, f.Message = model.Leaked, n.leak()
	case sut.AssertionFailed:
		f.Kind, f.Message = model.AssertionFailed, "assertion failed: "+l.Message
	case sut.DataRace:
		f.Kind, f.Message = model.DataRace, "data race: nothing orders two accesses to the same memory"
	case sut.Exited:
		f.Kind, f.Printed = model.Exited, strings.TrimRightFunc(n.printed(), unicode.IsSpace)
		if f.Message = "ended by signal " + l.Message; l.Message == "" {
			f.Message, f.Status = fmt.Sprintf("exit status %d", l.ExitCode), l.ExitCode
		}
		if n.program.Tests {
			f.Said = failingLine(n.program.Dir, gotest.Failures(l.Stdout))
		}
	default:
		before, crash := crashOutput(n.printed())
		f.Kind, f.Message, f.Printed = model.Panicked, strings.TrimSpace(crash), strings.TrimSpace(before)
	}
	return f
}

// printed is what the program has written to standard error, after what its tests say. For tests
// the marks of package testing are removed first.
func (n *narrator) printed() string {
	if n.program.Tests {
		return gotest.Text(n.log.Stdout) + string(n.log.Stderr)
	}
	return string(n.log.Stderr)
}

// leak says which goroutines are left, and where they were started.
func (n *narrator) leak() string {
	text := "goroutine leak: the program has ended, and what it started can never go on"
	if loopsOnTimers(n.log) {
		text = "goroutine leak: the program has ended, and what it started never does"
	}
	for _, g := range n.result.Goroutines {
		if g.Blocked != "" {
			text += fmt.Sprintf("\n%s, started at %s, runs %s", g.Name, g.Created, g.Function)
		}
	}
	return text
}

// livelock says who goes round in which loop: the function and what one round does, each operation
// with its line.
func (n *narrator) livelock() string {
	if loopsOnTimers(n.log) {
		return "livelock: who can go on only goes round in a loop on a timer, without effect, for ever"
	}
	text := "livelock: who can go on only goes round in a loop without effect, and no timer is set"
	for _, l := range loopsOf(n.log) {
		text += fmt.Sprintf("\n%s goes round", n.result.Goroutines[n.names[l.goroutine]].Name)
		if len(l.round) == 0 {
			continue
		}
		var said []string
		for i := range l.round {
			e := &l.round[i]
			at, _ := programPlace(n.program, e)
			what := describe(n.nameOf(e.Operation, e.PC, e.Delta()), n.objects[n.objectKey(e)],
				shortSource(at))
			// Equal neighbours are said once.
			if len(said) == 0 || said[len(said)-1] != what {
				said = append(said, what)
			}
		}
		at, _ := programPlace(n.program, &l.round[0])
		text += fmt.Sprintf(" in %s: %s", at.Name(), strings.Join(said, ", "))
		if own, ok := n.program.Position(l.round[0].Open); ok && own != at {
			text += ", called at " + shortSource(own)
		}
	}
	return text
}

// failedAt says which goroutine failed, and where: the one that acted last. It marks the steps that
// the failure is about.
func (n *narrator) failedAt(acting int) {
	f := &n.result.Failure
	switch n.log.Outcome {
	case sut.Panicked, sut.Fatal:
		// The runtime has printed the stack. There is no other note of it.
		quoted := false
		_, calls := callsOf(n.printed())
		for _, at := range calls {
			// "created by main.main in goroutine 1" is no call.
			if strings.HasPrefix(at.Function, "created by ") {
				break
			}
			if at.Function == "panic" && !quoted { // calls above it, of a library, have panicked again
				f.Stack = nil
			}
			if len(f.Stack) > 0 || !partOfAccess(at.Function) && at.Function != "panic" {
				f.Stack = append(f.Stack, n.frame(at, &quoted))
			}
		}
		f.Stack = withoutGo(f.Stack)
	case sut.AssertionFailed:
		// The call of Assert is the place, and not what Assert does.
		f.Stack = n.frames(afterAnnotation(n.program, n.log.Stack), 0)
	case sut.Deadlock, sut.Leaked, sut.Livelock:
		n.markBlocked()
		return
	default:
		return
	}
	// The runtime has stopped the program where the last step was.
	if acting >= 0 && acting < len(n.result.Goroutines) {
		f.Goroutine = n.result.Goroutines[acting].Name
	}
}

// afterAnnotation leaves out the innermost calls of a stack up to that of package tandem, which
// fails the assertion.
func afterAnnotation(p *sut.Program, stack []uint64) []uint64 {
	for i, pc := range stack {
		if at, _ := p.Position(pc); at.Package() == annotations {
			return stack[i+1:]
		}
	}
	return stack
}

// markBlocked marks the last steps of the goroutines that are left, and those in which the locks
// were taken that they wait for.
func (n *narrator) markBlocked() {
	last := map[int]int{}
	for i, s := range n.result.Steps {
		last[s.Goroutine] = i
	}
	// A goroutine of a library only waits for its next call. Its last step says nothing.
	for i, g := range n.result.Goroutines {
		if step, ok := last[i]; ok && g.Blocked != "" && !g.Library {
			n.result.Steps[step].Key = true
		}
	}
	// The locks are as they were at the end, so their owners are those that keep others waiting.
	for _, e := range n.log.Events {
		if e.Kind != sut.Pending {
			continue
		}
		for _, owner := range n.locks.locks[e.Object] {
			if owner.step >= 0 && owner.step < len(n.result.Steps) {
				n.result.Steps[owner.step].Key = true
			}
		}
	}
}

// race tells a data race in the words of a report. Goroutines and places get the names that the
// counterexample uses.
func (n *narrator) race(r *sut.Race) *report.Race {
	return &report.Race{Later: n.memoryAccess(r.Later), Earlier: n.memoryAccess(r.Earlier)}
}

// memoryAccess tells one access of a race. Of the earlier one, goroutine and stack are known only
// if it was watched for.
func (n *narrator) memoryAccess(a sut.MemoryAccess) report.MemoryAccess {
	m := report.MemoryAccess{
		Operation: memoryOperation(a), Address: a.Address, Size: a.Size, Stack: n.frames(a.Stack, 0),
	}
	if i, ok := n.names[a.Goroutine]; ok {
		m.Goroutine = n.result.Goroutines[i]
	}
	return m
}

// frames are the calls of a stack, innermost first. What the runtime does on behalf of the call at
// from is left out, as are the outermost calls, which started the goroutine. A program counter that
// is not known ends the list. The innermost call in the user's own code has its line.
func (n *narrator) frames(pcs []uint64, from uint64) (list []report.Frame) {
	// Where from is not on the stack, all calls are shown.
	for i, pc := range pcs {
		if pc == from && from != 0 {
			pcs = pcs[i:]
			break
		}
	}
	quoted := false
	for _, pc := range pcs {
		at, ok := n.program.Position(pc)
		if !ok || at.Function == "runtime.goexit" || at.Function == "runtime.main" {
			break
		}
		if at.File != generated && (len(list) > 0 || !partOfAccess(at.Function)) {
			list = append(list, n.frame(at, &quoted))
		}
	}
	return withoutGo(list)
}

// generated is the file of functions that the compiler has made, such as those of method values.
const generated = "<autogenerated>"

// withoutGo leaves out the outermost call of a goroutine that was given to a method Go: where that
// was is said besides.
func withoutGo(stack []report.Frame) []report.Frame {
	if last := len(stack) - 1; last > 0 && strings.HasSuffix(stack[last].Function, ".Go.func1") {
		return stack[:last]
	}
	return stack
}

// frame is a call, with its line if it is the first in the user's own code.
func (n *narrator) frame(at sut.Position, quoted *bool) report.Frame {
	f := report.Frame{Function: at.Function, Source: shortSource(at), Own: n.program.IsOwn(at)}
	if f.Own && !*quoted {
		f.Text, *quoted = n.sources.File(at.File).Line(at.Line), true
	}
	return f
}

// callerOf is the call around a step in the user's own code, with its line. It is zero where there
// is none, or the calls are not known.
func (n *narrator) callerOf(step int) report.Frame {
	begins, own := n.told[step].begins, 0
	for _, pc := range n.seen.around(&n.log.Events[begins], begins) {
		at, ok := n.program.Position(pc)
		if !ok || at.File == generated || !n.program.IsOwn(at) {
			continue
		}
		if own++; own == 2 {
			quoted := false
			return n.frame(at, &quoted)
		}
	}
	return report.Frame{}
}
