package narrate

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/quote"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// blocked says what the goroutines wait for that have not ended.
func (n *narrator) blocked() {
	pending, left := map[int]sut.Event{}, map[int]sut.Event{}
	for _, e := range n.log.Events {
		switch e.Kind {
		case sut.Pending:
			if e.Operation == sut.Advance {
				continue
			}
			pending[n.names[e.Subject]] = e
		case sut.Left:
			left[n.names[e.Subject]] = e
		}
	}
	for i := range n.result.Goroutines {
		e, parked := pending[i]
		leak, isLeft := left[i]
		switch {
		// It has ended, or the leak is not its own.
		case n.ended[i], n.log.Outcome == sut.Leaked && !isLeft:
		case isLeft && loopOnTimers(&leak) != "":
			n.result.Goroutines[i].Blocked = loopOnTimers(&leak) + ", at " +
				n.source(cmp.Or(leak.Open, leak.PC))
		case parked && !e.CanGoOn():
			where := describe(n.nameOf(e.Operation, e.PC, 0), n.objects[e.Object], n.source(e.PC))
			if e.Operation == sut.Select {
				where += n.selectsFrom(e.PC)
			}
			why := n.because(i, &e)
			n.result.Goroutines[i].Blocked = where + why
			n.waitsFor(i, e.Subject, e.PC, e.Object)
			if why != "" { // it is kept waiting, and does not only wait for the next call
				n.result.Goroutines[i].Library = false
			}
		case isLeft && n.last[i].source != n.source(leak.PC): // blocked in no operation, as in select {}
			n.result.Goroutines[i].Blocked = describe(n.whyLeft(&leak), "", n.source(leak.PC))
			n.waitsFor(i, leak.Subject, leak.PC, 0)
		case !parked && n.last[i].source != "" &&
			(isLeft || n.log.Outcome == sut.Deadlock || n.log.Outcome == sut.Livelock):
			l := n.last[i]
			n.result.Goroutines[i].Blocked = describe(n.nameOf(l.operation, l.pc, 0), l.object, l.source)
			n.waitsFor(i, n.ids[i], l.pc, 0)
		}
	}
}

// because is the end of the sentence that says what a goroutine is blocked in: who keeps it
// waiting.
func (n *narrator) because(waiting int, e *sut.Event) string {
	why := n.locks.why(waiting, e, func(goroutine int) string {
		name := n.result.Goroutines[goroutine].Name
		if n.ended[goroutine] {
			name += ", which has ended,"
		}
		return name
	})
	if why == "" {
		return ""
	}
	return "; " + why
}

// waitsFor completes what is known of a goroutine that is left: its stack, from the operation at pc
// on, and what the objects are that it waits for.
func (n *narrator) waitsFor(goroutine int, id, pc, object uint64) {
	g := &n.result.Goroutines[goroutine]
	d := n.log.Details
	if d == nil {
		return
	}
	g.Stack = n.frames(d.Stacks[id], pc)
	g.Library = g.Library && !slices.ContainsFunc(g.Stack, func(f report.Frame) bool { return f.Own })
	// A select may wait for one channel in several cases, and each object is said once.
	known := map[string]bool{}
	note := func(text string) {
		if !known[text] {
			g.Objects, known[text] = append(g.Objects, text), true
		}
	}
	for _, w := range d.Waits[id] {
		note(n.channel(w.Object))
	}
	// Locks and the like have no place where they are made: many are part of something. Where one
	// was first used says as much.
	if name, ok := n.objects[object]; ok && len(d.Waits[id]) == 0 && n.uses[object] != "" {
		note(name + ": first used in " + n.uses[object])
	}
}

// channel says what a channel is.
func (n *narrator) channel(object uint64) string {
	if object == 0 {
		return "a nil channel: nobody can ever send or receive there"
	}
	d := n.log.Details
	c, state := d.Channels[object], ""
	switch {
	case c.Closed:
		state = "closed"
	case c.Cap == 0:
		state = "without a buffer"
	case c.Size == 0:
		state = "empty"
	case c.Size == c.Cap:
		state = "full"
	default:
		state = fmt.Sprintf("with %d of them", c.Size)
	}
	// The name of the type is that of the runtime: error, main.message, struct {}.
	text := fmt.Sprintf("%s: chan %s", n.nameObject(object, "channel"), c.Type)
	if c.Cap > 0 {
		text += fmt.Sprintf(", cap %d", c.Cap)
	}
	text += ", " + state
	if made, ok := d.Made[object]; ok {
		// A channel that a library makes, such as that of time.After, is made where it is called.
		place := n.source(made.PC)
		if own, ok := n.program.Position(made.Open); ok {
			place = shortSource(own)
		}
		text += ", made at " + place
	}
	return text
}

// selectsFrom lists the cases of the select statement at pc.
func (n *narrator) selectsFrom(pc uint64) string {
	at, known := n.program.Position(pc)
	if !known {
		return ""
	}
	// Readers know the order of the source. That of the arms is the compiler's.
	arms, _, ok := n.sources.File(at.File).Cases(at.Line)
	if !ok || len(arms) == 0 {
		return ""
	}
	byLine := make([]string, len(arms))
	for i, c := range arms {
		place := 0
		for j, other := range arms {
			if other.Line < c.Line || other.Line == c.Line && j < i {
				place++
			}
		}
		byLine[place] = c.Text
	}
	return ": " + strings.Join(byLine, ", ")
}

// armAfter is the arm that a goroutine's channel operation takes which the event at an index begins
// or completes: -1 is the default. ok is false if it was not noted.
func (n *narrator) armAfter(index int, goroutine uint64) (arm int, ok bool) {
	if n.log.Details == nil {
		return 0, false
	}
	for _, a := range n.log.Details.Arms {
		// The arm is noted when the goroutine goes on, which is after the event.
		if a.At <= index || a.Goroutine != goroutine {
			continue
		}
		// Another step may have come between. That is none of the operation's.
		for i := index + 1; i < a.At; i++ {
			if n.log.Events[i].Kind == sut.Stepped {
				return 0, false
			}
		}
		return a.Number, true
	}
	return 0, false
}

// caseOf is the case of the select statement at pc that has an arm. ok is false where the source
// does not tell.
func (n *narrator) caseOf(pc uint64, arm int) (c quote.Case, at sut.Position, ok bool) {
	at, known := n.program.Position(pc)
	if !known {
		return c, at, false
	}
	arms, other, ok := n.sources.File(at.File).Cases(at.Line)
	switch {
	case !ok || arm >= len(arms) || arm < 0 && other.Text == "":
		return c, at, false
	case arm < 0:
		c = other
	default:
		c = arms[arm]
	}
	at.Line = c.Line
	return c, at, true
}

// choose names, in a step that begins a channel operation, what it takes of several: the case of a
// select, or the default of a statement that has only one other case.
func (n *narrator) choose(s *report.Step, e *sut.Event, index int) {
	arm, ok := n.armAfter(index, e.Subject)
	if !ok {
		return
	}
	s.Operation = e.Operation.String()
	c, at, known := n.caseOf(e.PC, arm)
	switch {
	case !known && arm < 0:
		s.Operation += ": default"
	case known && e.Operation == sut.Select:
		s.Operation, s.Source = "select: "+c.Text, shortSource(at)
	case known && arm < 0:
		s.Operation, s.Source = "select: default", shortSource(at)
	}
}

// stepAt is the step that is under way before the event at an index.
func (n *narrator) stepAt(index int) int {
	return sort.Search(len(n.told), func(i int) bool { return n.told[i].begins >= index }) - 1
}

// outputs are what the program printed, by step. What it is not known of when it was printed has
// no step: it comes last. Of tests it is left out, as their failures have what they print.
func (n *narrator) outputs() {
	if n.program.Tests {
		return
	}
	before := string(n.log.Stderr)
	if n.log.Outcome == sut.Panicked || n.log.Outcome == sut.Fatal { // what follows is the failure
		before, _ = crashOutput(before)
	}
	// Standard output and error each have an order of their own. The log says when how much of
	// either was written, and the bytes follow one another.
	left, total := map[int][]byte{1: n.log.Stdout, 2: []byte(before)}, map[int]int{}
	if d := n.log.Details; d != nil {
		for _, p := range d.Printed {
			total[p.Descriptor] += p.Bytes
		}
		for _, p := range d.Printed {
			// The runtime prints, too: then what is noted is not all, and nobody knows which is
			// which.
			if text := left[p.Descriptor]; total[p.Descriptor] == len(text) {
				n.print(n.stepAt(p.At), text[:p.Bytes])
				left[p.Descriptor], total[p.Descriptor] = text[p.Bytes:], total[p.Descriptor]-p.Bytes
			}
		}
	}
	// Standard error is the reason of an exit, which has it, and otherwise what was printed last.
	for fd := 1; fd <= 2; fd++ {
		if fd == 1 || n.log.Outcome != sut.Exited { // that shows it as the reason
			n.print(-1, left[fd])
		}
	}
	slices.SortStableFunc(n.result.Outputs, func(a, b report.Output) int {
		return cmp.Compare(uint(a.Step), uint(b.Step)) // -1 comes last
	})
}

// print adds what the program has printed.
func (n *narrator) print(step int, text []byte) {
	if len(text) > 0 {
		n.result.Outputs = append(n.result.Outputs, report.Output{Step: step,
			Wrote: report.Wrote{Text: text}})
	}
}

// nameOf is the name of the operation that is called where a call returns to pc. Several methods
// may be one operation: the code says which was called. An addition of -1 is one of Done where the
// code does not say.
func (n *narrator) nameOf(o sut.Operation, pc uint64, delta int32) operationName {
	name := operationName{verb: o.Verb(), object: strings.TrimPrefix(o.On(), o.Verb()+" ")}
	if name.object == o.Verb() {
		name.object = ""
	}
	// Names follow the call: Broadcast and Signal are one operation, as are Add and Done.
	callee := n.program.Callee(pc)
	_, method, _ := cutLast(callee, ".")
	switch o {
	case sut.CondSignal:
		if callee == "sync.(*Cond).Broadcast" {
			name.verb = method
		}
	case sut.Add:
		if callee == "sync.(*WaitGroup).Done" || callee != "sync.(*WaitGroup).Add" && delta == -1 {
			name.verb = "Done of"
		}
	case sut.Timer, sut.SetTimer:
		if strings.HasPrefix(callee, "time.") {
			name.verb = strings.TrimPrefix(method, "New")
		}
	case sut.AtomicLoad, sut.AtomicStore, sut.AtomicUpdate:
		if strings.HasPrefix(callee, "sync/atomic.") {
			method, _, _ = strings.Cut(method, "[")
			name.verb = "atomic " + method
		}
	}
	return name
}

// whyLeft says what a goroutine is blocked in that is in no operation.
func (n *narrator) whyLeft(e *sut.Event) operationName {
	if isSleep(n.program.Callee(e.PC)) {
		return operationName{verb: "Sleep"}
	}
	return operationName{verb: "blocked"}
}

// library is the package of an operation that is not in the user's own code; "" if it is. What the
// surroundings of the program choose, and where connections begin, is nobody's.
func (n *narrator) library(e *sut.Event) string {
	switch e.Operation {
	case sut.Choose, sut.NetworkFault, sut.PeerTimer, sut.TimePasses, sut.SignalArrive, sut.SocketConnect,
		sut.SocketBind, sut.Exit:
		return ""
	}
	at, ok := n.program.Position(e.PC)
	if !ok || n.program.IsOwn(at) || at.Package() == annotations || e.Choices > 1 && !e.Operation.HasArms() {
		return ""
	}
	return at.Package()
}
