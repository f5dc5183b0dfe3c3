// Package narrate puts what happened in an execution into the words of a report. It says, too,
// which executions show the same violation, and in what two logs differ.
package narrate

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/quote"
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

// Node is Counterexample of one of several programs that are checked together. What it was sent is
// told elsewhere, with what the others did.
func Node(p *sut.Program, log *sut.Log, preempting []bool) *report.Counterexample {
	c := Counterexample(p, log, nil, preempting)
	for i := range c.Goroutines {
		if g := &c.Goroutines[i]; g.Function == timeOfPeers {
			g.Function = "the clock of all nodes"
		}
	}
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Operation == sut.TimePasses.String() {
			s.Operation = "other nodes go on, or the clock advances"
		}
	}
	return c
}

// timeOfPeers is what those steps are called that let time pass for the peers.
const timeOfPeers = "the time of the peers"

// narrator turns a log into the words of a counterexample. It is used for one log, by one
// goroutine.
type narrator struct {
	program   *sut.Program
	log       *sut.Log
	exchanges []driver.Exchange
	result    report.Counterexample
	names     map[uint64]int    // goroutines, by index into result.Goroutines
	ids       []uint64          // of each goroutine, how the log calls it
	children  []int             // of each goroutine, how many it has started
	ended     []bool            // whether each goroutine has
	last      []performed       // what each goroutine did last
	objects   map[uint64]string // what objects are called
	locks     lockOwners        // what is locked
	counted   map[string]int
	// preempting: for each of the transitions of goroutines to come, whether another one could have
	// gone on; nil if that is not known.
	preempting []bool
	networks   networks
	meets      string // whose operation on a channel the present step completes, too
	sources    quote.Sources
	told       []toldStep          // more of the steps in the result
	uses       map[uint64]string   // when and where objects were first used
	ran        map[uint64][]string // functions that goroutines have been in; nil: not collected yet
	seen       places
}

// performed is the last operation of a goroutine.
type performed struct {
	operation      sut.Operation
	object, source string
	pc             uint64
	chosen         string // of a select: the case, as a step has it
}

func newNarrator(p *sut.Program, log *sut.Log, exchanges []driver.Exchange) *narrator {
	return &narrator{
		program: p, log: log, exchanges: exchanges,
		networks: networks{}, names: map[uint64]int{}, objects: map[uint64]string{},
		counted: map[string]int{}, locks: newLockOwners(), sources: quote.Sources{},
		uses: map[uint64]string{}, seen: newPlaces(log),
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
			n.step(current, e, i)
			n.result.Steps[len(n.result.Steps)-1].Preempts = preempts
		case sut.Ticked:
			if e.AsksPeers() || e.Tick() == sut.TickWithin {
				continue // what the peers do says more
			}
			current = report.Clock
			n.addStep(report.Step{Goroutine: report.Clock, Kind: report.Timer, Operation: tick(e)},
				toldStep{begins: i})
		case sut.Accessed:
			n.access(current, e)
		case sut.Partnered:
			n.partner(e, i)
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
	n.failedAt(current)
	if n.log.Race != nil {
		n.result.Race = n.race(n.log.Race)
	}
	// What follows needs all steps, and the failure.
	n.result.Led = ledTo(&n.result, n.told, n.sources)
	for i := range n.result.Led {
		n.result.Led[i].Caller = n.callerOf(n.result.Led[i].First)
	}
	n.outputs()
	n.result.Failure.Peer = peerDied(&n.result)
	n.result.Sources = n.seen.parts()
	signature := SignatureOf(n.program, n.log)
	if at, ok := n.program.Declared("main.main"); ok {
		n.result.Begins = shortSource(at)
	}
	n.result.Summary, n.result.Files = signature.Summary(), sourceFiles(n.program, n.log, signature)
	n.result.Summary.Size = n.result.Size()
	return &n.result
}

// addStep adds a step, with what else is known of it.
func (n *narrator) addStep(s report.Step, told toldStep) {
	n.result.Steps, n.told = append(n.result.Steps, s), append(n.told, told)
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
		// An expression of the source names no function yet.
		if _, ok := n.program.Declared(g.Function); !ok && g.Function != "" {
			if n.ran == nil {
				n.ran = functionsOf(n.program, n.log)
			}
			g.Function = functionLike(g.Function, n.ran[id])
		}
		// A library may start what the user has given it, as the Go of a WaitGroup does.
		at, ok := n.program.Position(spawn.PC)
		g.Library = ok && !n.program.IsOwn(at) && !n.program.IsOwn(sut.Position{Function: g.Function})
	}
	n.result.Goroutines = append(n.result.Goroutines, g)
	n.children, n.ids = append(n.children, 0), append(n.ids, id)
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
		n.result.Goroutines[len(n.result.Goroutines)-1].Function = timeOfPeers
		return
	}
	if e.Subject == sut.PeerTimerSource {
		n.goroutine(e.Subject, "timers", sut.Event{})
		n.result.Goroutines[len(n.result.Goroutines)-1].Function = "the timers of the peers"
		return
	}
	// Timers of the program start goroutines without a parent.
	if parent < 0 {
		n.counted["clock/"]++ // no object is called that
		n.goroutine(e.Subject, fmt.Sprintf("clock/%d", n.counted["clock/"]), *e)
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
func (n *narrator) step(goroutine int, e *sut.Event, index int) {
	n.meets = ""
	s := report.Step{Goroutine: goroutine, Operation: e.Operation.String()}
	s.Kind = report.Kind(e.Operation.Class())
	if e.Operation == sut.Resume {
		s.Operation = n.goesOn(goroutine, e)
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
	by := n.performs(e, index)
	at, ok := n.own(by)
	if ok {
		s.Source, s.Function, s.Library = shortSource(at), at.Function, n.library(by)
	}
	if e.Operation == sut.NetworkFault && e.Alternative() != 0 {
		s.Library = "" // what fails is not folded
	}
	// Where a goroutine begins, or has been given to a method Go, its own place says nothing.
	if g := n.result.Goroutines[goroutine]; g.Created != "" &&
		(e.Operation == sut.Begin || strings.HasPrefix(at.Function, "sync.")) {
		s.Source, s.Function = g.Created, ""
		if n.program.IsOwn(sut.Position{Function: g.Function}) {
			s.Library = ""
		}
	}
	s.Stack = n.seen.calls(n.program, e, index)
	if e.Operation.HasArms() {
		n.choose(&s, e, index)
	}
	n.addStep(s, toldStep{begins: index, at: at})
	if e.Operation.HasArms() {
		n.last[goroutine] = performed{operation: e.Operation, source: n.source(e.PC), pc: e.PC}
	}
}

// performs is the event whose place is that of a step. Whether the network fails is chosen inside
// the standard library, for the operation that comes next: of that, the caller is known.
func (n *narrator) performs(e *sut.Event, index int) *sut.Event {
	if at, ok := n.program.Position(e.PC); e.Operation != sut.NetworkFault || e.Open != 0 || !ok ||
		n.program.IsOwn(at) || n.program.Module(at) != "" {
		return e
	}
	for i := index + 1; i < len(n.log.Events); i++ {
		next := &n.log.Events[i]
		if next.Kind == sut.Stepped && next.Subject == e.Subject && next.Operation != sut.NetworkFault {
			return next
		}
	}
	return e
}

// goesOn says with what a goroutine goes on that has been blocked in it. After an operation that
// had alternatives others may come in between, and then it is nothing.
func (n *narrator) goesOn(goroutine int, e *sut.Event) string {
	last := n.last[goroutine]
	// What it was blocked in, it goes on with at the same place.
	switch {
	case last.operation.Blocks() && n.source(last.pc) == n.source(e.PC):
		return "goes on: " + cmp.Or(last.chosen, n.nameOf(last.operation, last.pc, 0).String())
	case isSleep(n.program.Callee(e.PC)):
		return "goes on: Sleep"
	}
	return "goes on"
}

// partner says whose operation the present step completes, too.
func (n *narrator) partner(e *sut.Event, index int) {
	partner := n.names[e.Subject]
	n.meets = " to "
	if e.Operation == sut.ChannelSend {
		n.meets = " from "
	}
	n.meets += n.result.Goroutines[partner].Name
	n.last[partner] = performed{operation: e.Operation, source: n.source(e.PC), pc: e.PC}
	if arm, ok := n.armAfter(index, e.Subject); ok && e.Operation == sut.Select {
		if c, _, ok := n.caseOf(e.PC, arm); ok {
			n.last[partner].chosen = "select: " + c.Text
		}
	}
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
	if told := &n.told[len(n.told)-1]; told.object == 0 {
		told.object = n.objectKey(e)
	}
	if s.Object == "" && s.Operation == e.Operation.String() {
		// A step that has no object yet is completed once.
		s.Object = n.object(e) + n.meets
		n.meets = ""
		s.Operation = n.nameOf(e.Operation, e.PC, e.Delta()).verb
	}
	if e.Operation.HasArms() {
		n.object(e)
		return // it may be a partner's
	}
	if e.Operation == sut.Unlock && n.last[goroutine].operation == sut.CondWait {
		return // a part of waiting for a condition
	}
	n.last[goroutine] = performed{operation: e.Operation, object: n.object(e), source: n.source(e.PC),
		pc: e.PC}
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
	if _, ok := n.uses[subject]; !ok {
		n.uses[subject] = n.now(e)
	}
	return n.nameObject(subject, e.Operation.Object())
}

// nameObject is the name of an object of a kind, the next one of that kind if it has none.
func (n *narrator) nameObject(subject uint64, kind string) string {
	if name, ok := n.objects[subject]; ok || kind == "" {
		return name
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
	n.result.Inputs = append(n.result.Inputs, len(n.result.Steps)-1)
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

// hold notes what an access has to do with locks.
func (n *narrator) hold(goroutine int, e *sut.Event) {
	n.locks.take(goroutine, e, moment{len(n.result.Steps) - 1, n.now(e)})
}

// now is the present step and its place: "step 4 at main.go:3".
func (n *narrator) now(e *sut.Event) string {
	text := fmt.Sprintf("step %d", len(n.result.Steps))
	if at, ok := n.own(e); ok {
		text += " at " + shortSource(at)
	}
	return text
}
