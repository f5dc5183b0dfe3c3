// Package narrate puts what happened in an execution into the words of a report. It says, too,
// which executions show the same violation, and in what two logs differ.
package narrate

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/gotest"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Counterexample tells an execution: what its goroutines did, step by step, what was exchanged with
// the peers, and how it ended. Preempting says for each transition of a goroutine whether another
// one could have gone on; nil: that is not known.
func Counterexample(
	p *sut.Program, log *sut.Log, exchanges []driver.Exchange, preempting []bool,
) *report.Counterexample {
	n := newNarrator(p, log, exchanges)
	n.preempting = preempting
	return n.narrate()
}

// narrator turns a log into the words of a counterexample. It is used for one log, by one
// goroutine.
type narrator struct {
	program   *sut.Program
	log       *sut.Log
	exchanges []driver.Exchange
	result    report.Counterexample
	names     map[uint64]int    // goroutines, by index into result.Goroutines
	children  []int             // of each goroutine, how many it has started
	ended     []bool            // whether each goroutine has
	last      []performed       // what each goroutine did last
	objects   map[uint64]string // what objects are called
	locks     lockOwners        // what is locked
	counted   map[string]int
	ticks     int
	// preempting: for each of the transitions of goroutines to come, whether another one could have
	// gone on; nil if that is not known.
	preempting []bool
	networks   networks
	meets      string // whose operation on a channel the present step completes, too
	seen       places
}

// performed is the last operation of a goroutine.
type performed struct {
	operation      sut.Operation
	object, source string
}

func newNarrator(p *sut.Program, log *sut.Log, exchanges []driver.Exchange) *narrator {
	return &narrator{
		program: p, log: log, exchanges: exchanges,
		networks: networks{}, names: map[uint64]int{}, objects: map[uint64]string{},
		counted: map[string]int{}, locks: newLockOwners(), seen: newPlaces(),
	}
}

// narrate goes through the log once. An event belongs to the step that was begun last, so steps are
// completed as their events come. The result is filled in place, so it is called once.
func (n *narrator) narrate() *report.Counterexample {
	n.goroutine(1, "main", sut.Event{})
	current := 0
	for i := range n.log.Events {
		e := &n.log.Events[i]
		switch e.Kind {
		case sut.Stepped:
			preempts := n.preempts()
			if e.Operation == sut.Advance {
				continue // what it is follows
			}
			if e.Subject == sut.PeerTimeSource && e.Operation != sut.TimePasses {
				continue // it begins to wait for its turn
			}
			current = n.names[e.Subject]
			n.step(current, e)
			n.result.Steps[len(n.result.Steps)-1].Preempts = preempts
		case sut.Ticked:
			if e.AsksPeers() || e.Tick() == sut.TickWithin {
				continue // what the peers do says more
			}
			current = report.Clock
			n.result.Steps = append(n.result.Steps, report.Step{
				Goroutine: report.Clock, Kind: report.Timer, Operation: tick(e),
			})
		case sut.Accessed:
			n.access(current, e)
		case sut.Partnered:
			n.partner(e)
		case sut.Spawned:
			n.spawn(current, e)
		case sut.Exchanged:
			n.exchange()
		case sut.Signalled:
			n.signal(e)
		case sut.Dialled:
			if d, ok := sut.DialAt(n.log.Events, i); ok {
				addDial(n.result.Steps, current, d)
			}
		case sut.Ended:
			n.ended[n.names[e.Subject]] = true
		}
	}
	n.blocked()
	n.result.Failure = n.failure()
	if n.log.Race != nil {
		n.result.Race = n.race(n.log.Race)
	}
	n.result.Sources = n.seen.parts()
	signature := SignatureOf(n.program, n.log)
	if at, ok := n.program.Declared("main.main"); ok {
		n.result.Begins = shortSource(at)
	}
	n.result.Summary, n.result.Files = signature.Summary(), sourceFiles(n.program, n.log, signature)
	n.result.Summary.Size = n.result.Size()
	return &n.result
}

// preempts takes what is known of the next transition.
func (n *narrator) preempts() bool {
	if len(n.preempting) == 0 {
		return false
	}
	first := n.preempting[0]
	n.preempting = n.preempting[1:]
	return first
}

// goroutine notes a goroutine that did not exist before. Its index in the result is its number in
// reports.
func (n *narrator) goroutine(id uint64, name string, spawn sut.Event) {
	n.names[id] = len(n.result.Goroutines)
	g := report.Goroutine{ID: len(n.result.Goroutines), Name: name, Function: "main.main"}
	if spawn.Kind == sut.Spawned {
		g.Created = n.source(spawn.PC)
		// A place inside package sync tells nobody anything; the caller of sync does.
		if at, ok := n.program.Position(spawn.PC); ok && strings.HasPrefix(at.Function, "sync.") {
			g.Created = n.source(spawn.Open)
		}
		g.Function = started(n.program, spawn)
	}
	n.result.Goroutines = append(n.result.Goroutines, g)
	n.children = append(n.children, 0)
	n.ended = append(n.ended, false)
	n.last = append(n.last, performed{})
}

// spawn names a goroutine after the one that started it, and its place among those: the name is the
// same in each execution in which it is started there. What is no goroutine of the program has a
// name that says so.
func (n *narrator) spawn(parent int, e *sut.Event) {
	if e.Subject == sut.SignalSource {
		n.goroutine(e.Subject, "signals", sut.Event{})
		n.result.Goroutines[len(n.result.Goroutines)-1].Function = "the arrival of signals"
		return
	}
	if e.Subject == sut.NetworkSource {
		n.goroutine(e.Subject, "network", sut.Event{})
		n.result.Goroutines[len(n.result.Goroutines)-1].Function = "what the network delivers late"
		return
	}
	if e.Subject == sut.PeerTimeSource {
		n.goroutine(e.Subject, "time", sut.Event{})
		n.result.Goroutines[len(n.result.Goroutines)-1].Function = "the time of the peers"
		return
	}
	if e.Subject == sut.PeerTimerSource {
		n.goroutine(e.Subject, "timers", sut.Event{})
		n.result.Goroutines[len(n.result.Goroutines)-1].Function = "the timers of the peers"
		return
	}
	// Timers of the program start goroutines without a parent.
	if parent < 0 {
		n.ticks++
		n.goroutine(e.Subject, fmt.Sprintf("clock/%d", n.ticks), *e)
		return
	}
	n.children[parent]++
	n.goroutine(e.Subject, fmt.Sprintf("%s/%d", n.result.Goroutines[parent].Name, n.children[parent]), *e)
}

// signal completes the step with which a signal arrives, or none does.
func (n *narrator) signal(e *sut.Event) {
	step := &n.result.Steps[len(n.result.Steps)-1]
	if step.Operation = "no signal arrives now"; e.Signal() != 0 {
		step.Operation = unix.SignalName(e.Signal()) + " arrives"
	}
}

// step begins a step. What the operation is about shows in the accesses that follow. Cases with
// several alternatives name the one that was taken, counted from 1.
func (n *narrator) step(goroutine int, e *sut.Event) {
	n.meets = ""
	s := report.Step{Goroutine: goroutine, Operation: e.Operation.String()}
	s.Kind = report.Kind(e.Operation.Class())
	// What was blocked before goes on with the operation that had blocked it.
	if last := n.last[goroutine]; e.Operation == sut.Resume && last.operation.Blocks() {
		s.Operation = "goes on: " + last.operation.String()
	}
	if e.Choices > 1 {
		s.Operation = fmt.Sprintf("%s: takes alternative %d of %d", e.Operation, e.Alternative()+1, e.Choices)
	}
	if e.Choices > 1 && e.Operation == sut.SocketBind {
		way := e.Alternative() + 1
		s.Operation = fmt.Sprintf("listen, and the peers behave in way %d of %d", way, e.Choices)
	}
	if e.Choices > 1 && e.Operation == sut.SocketConnect {
		way := e.Alternative() + 1
		s.Operation = fmt.Sprintf("connect, and the peers behave in way %d of %d", way, e.Choices)
	}
	if e.Operation == sut.NetworkFault {
		s.Operation = "network: " + sut.Fault(e.Alternative(), e.Object)
	}
	if e.Operation == sut.PeerTimer {
		s.Operation = "a timer of theirs is to be due next"
		if e.Choices > 1 && e.Alternative() == 0 {
			s.Operation = "none of theirs is due before the clock advances"
		}
	}
	if at, ok := n.own(e); ok {
		s.Source, s.Function = shortSource(at), at.Function
	}
	s.Stack, s.Library = n.seen.calls(n.program, e)
	n.result.Steps = append(n.result.Steps, s)
	if e.Operation.HasArms() {
		n.last[goroutine] = performed{operation: e.Operation, source: n.source(e.PC)}
	}
}

// partner says whose operation the present step completes, too.
func (n *narrator) partner(e *sut.Event) {
	partner := n.names[e.Subject]
	n.meets = " to "
	if e.Operation == sut.ChannelSend {
		n.meets = " from "
	}
	n.meets += n.result.Goroutines[partner].Name
	n.last[partner] = performed{operation: e.Operation, source: n.source(e.PC)}
}

// own is where an event happened, in the program's own code if that is known. ok is false for code
// that the checker has added.
func (n *narrator) own(e *sut.Event) (sut.Position, bool) {
	if at, ok := n.program.Position(e.Open); ok {
		return at, true
	}
	at, ok := n.program.Position(e.PC)
	// The end of main is in no line of the program.
	return at, ok && !strings.HasPrefix(filepath.Base(at.File), "tandem_")
}

// access completes the step that it belongs to: the first one tells the object. Accesses of the
// clock belong to no step of a goroutine.
func (n *narrator) access(goroutine int, e *sut.Event) {
	if goroutine < 0 {
		return
	}
	n.hold(goroutine, e)
	s := &n.result.Steps[len(n.result.Steps)-1]
	if s.Object == "" && s.Operation == e.Operation.String() {
		// A step that has no object yet is completed once.
		s.Object = n.object(e) + n.meets
		n.meets = ""
		s.Operation = e.Operation.Verb()
	}
	if e.Operation.HasArms() {
		n.object(e)
		return // it may be a partner's
	}
	if e.Operation == sut.Unlock && n.last[goroutine].operation == sut.CondWait {
		return // a part of waiting for a condition
	}
	n.last[goroutine] = performed{e.Operation, n.object(e), n.source(e.PC)}
}

// objectKey is what the name of an accessed object is kept under. The lowest two bits tell the
// waiters of a channel apart.
func (n *narrator) objectKey(e *sut.Event) uint64 {
	if e.Operation.HasArms() {
		return e.Subject &^ 3 // those that wait for the channel have names of their own
	}
	return e.Subject
}

// object gives an object a name that people can follow. Names count for each kind, such as "mutex
// 2". They are given in the order of first use.
func (n *narrator) object(e *sut.Event) string {
	subject := n.objectKey(e)
	if name, ok := n.objects[subject]; ok {
		return name
	}
	kind := e.Operation.Object()
	if kind == "" {
		return ""
	}
	n.counted[kind]++
	name := fmt.Sprintf("%s %d", kind, n.counted[kind])
	n.objects[subject] = name
	return name
}

// source is a place of the source, "" if that is not known.
func (n *narrator) source(pc uint64) string {
	at, ok := n.program.Position(pc)
	if !ok {
		return ""
	}
	return shortSource(at)
}

// shortSource keeps the last directory of a path: enough to know the file by.
func shortSource(at sut.Position) string {
	dir, file := filepath.Split(at.File)
	return fmt.Sprintf("%s:%d", filepath.Join(filepath.Base(dir), file), at.Line)
}

// exchange adds the next input, and the peers' answer, to the present step. Outputs of peers go
// with the step, and an incomplete record is marked for the whole report.
func (n *narrator) exchange() {
	if len(n.exchanges) == 0 || len(n.result.Steps) == 0 {
		return
	}
	x := n.exchanges[0]
	n.exchanges = n.exchanges[1:]
	s := &n.result.Steps[len(n.result.Steps)-1]
	s.IO = append(s.IO, n.networks.messages(x)...)
	s.Cached = x.Cached
	n.result.PeerTimer = timerLeft(&x) // unless something follows
	for _, w := range x.Wrote {
		n.result.Outputs = append(n.result.Outputs, report.Output{
			Step: len(n.result.Steps) - 1, Wrote: report.Wrote{Peer: w.Peer, Text: []byte(w.Text)},
		})
	}
	n.result.Unheard = n.result.Unheard || !x.Heard
	if s.Restored = x.Restored; x.Restored != "" && x.Cached {
		s.Restored += ", earlier in the search"
	}
}

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
			where := describe(e.Operation.String(), n.objects[e.Object], n.source(e.PC))
			n.result.Goroutines[i].Blocked = where + n.because(i, &e)
		case isLeft && n.last[i].source != n.source(leak.PC): // blocked in no operation, as in select {}
			n.result.Goroutines[i].Blocked = describe("blocked", "", n.source(leak.PC))
		case !parked && n.last[i].source != "" &&
			(isLeft || n.log.Outcome == sut.Deadlock || n.log.Outcome == sut.Livelock):
			l := n.last[i]
			n.result.Goroutines[i].Blocked = describe(l.operation.String(), l.object, l.source)
		}
	}
}

// loopOnTimers says how a goroutine loops on timers; empty if it does not.
func loopOnTimers(e *sut.Event) string {
	switch loops, proven := e.LoopsOnTimers(); {
	case proven:
		return "loops on timers for ever"
	case loops:
		return fmt.Sprintf("still looped on timers when time had passed after main (%s, or %d years)",
			textutil.CountOf(sut.OvertimeTimers, "timer"), sut.OvertimeYears)
	}
	return ""
}

// describe says what a goroutine is blocked in, as far as it is known.
func describe(operation, object, source string) string {
	if object != "" {
		operation += " (" + object + ")"
	}
	if source != "" {
		operation += " at " + source
	}
	return operation
}

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

// loopsOnTimers reports whether a goroutine is left that waits for timers again and again.
func loopsOnTimers(log *sut.Log) bool {
	return slices.ContainsFunc(log.Events, func(e sut.Event) bool {
		loops, _ := e.LoopsOnTimers()
		return loops
	})
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

// hold notes what an access has to do with locks.
func (n *narrator) hold(goroutine int, e *sut.Event) {
	since := ""
	if at, ok := n.own(e); ok {
		since = shortSource(at)
	}
	n.locks.take(goroutine, e, since)
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
