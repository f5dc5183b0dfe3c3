// Package testkit has what tests of searches need: small concurrent programs, random ones too, a
// worker that runs them as a schedule says, and what a search finds in them.
package testkit

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Worker interprets a program the way the real worker runs one: it follows a
// schedule and logs transitions. It is the obvious implementation of the rules in
// the documentation of Schedule and Transition.
type Worker struct {
	program    *Program
	schedule   core.Schedule
	limit      int                     // of transitions; 0 for none
	objectID   func(int) core.ObjectID // names objects
	goroutines []*simGoroutine         // in the order of creation
	objects    []simObject             // as in program.objects
	sleep      []*core.Sleeper         // who is asleep
	Log        core.Execution
	current    *core.Transition // being executed
	running    *simGoroutine    // executed last
	last       *simGoroutine    // the same; nil when the clock has advanced since
	spent      SimCost
	picker     *picker
	now        int    // virtual time
	early      int    // how often the clock may still advance early
	Ended      bool   // by an operation of the program
	message    string // what it ended with
	lasts
}

// lasts are the last transitions of some kinds, counted from 1.
type lasts struct {
	effect  int  // with an effect
	ticked  int  // of the clock
	turn    int  // that had alternatives, or effects and could have come later
	several bool // goroutines could go on before the present transition
}

type simGoroutine struct {
	id         core.GoroutineID
	name       string
	main       bool
	body       []instruction
	pc         int
	regs       [4]int
	children   int
	blocked    bool // in sleep until wake
	arrived    bool // waits at a channel operation, and its partners know
	sealed     bool // that operation is
	waiting    instruction
	wake       int
	continuing bool // woken: goes on with a transition of its own
	returned   bool
}

type simObject struct {
	value    int // variable, counter of a wait group, readers
	locked   bool
	buffer   []int
	capacity int
	closed   bool
}

// Run executes a program along a schedule.
func Run(p *Program, s core.Schedule, limit int) *Worker {
	return RunNaming(p, s, limit, func(object int) core.ObjectID { return core.ObjectID(object + 1) })
}

// RunNaming is Run with other names for objects.
func RunNaming(p *Program, s core.Schedule, limit int, objectID func(int) core.ObjectID) *Worker {
	w := newWorker(p, s, limit, objectID)
	for w.step() {
	}
	w.finish()
	return w
}

// Follow executes a prefix and nothing else.
func Follow(p *Program, prefix []core.Action) *Worker {
	w := newWorker(p, core.Schedule{Prefix: prefix}, 0,
		func(object int) core.ObjectID { return core.ObjectID(object + 1) })
	for range prefix {
		w.step()
	}
	return w
}

func newWorker(p *Program, s core.Schedule, limit int, objectID func(int) core.ObjectID) *Worker {
	w := &Worker{program: p, schedule: s, limit: limit, objectID: objectID, early: s.EarlyTimers}
	w.picker = newPicker(w)
	w.Log.Weight = 1
	w.objects = make([]simObject, len(p.objects))
	for i, name := range p.objects {
		w.objects[i].capacity = int(name[len(name)-1]-'0') * btoi(name[len(name)-1] <= '9')
	}
	w.create(1, 0)
	return w
}

// ClockObject is the virtual time.
const ClockObject = core.ObjectID(1 << 40)

// EarlyClock is the clock where it advances early: it then counts as a goroutine.
const EarlyClock = core.GoroutineID(2)

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *Worker) create(id core.GoroutineID, body int) {
	g := &simGoroutine{
		id: id, name: w.program.names[body], main: body == 0 && len(w.goroutines) == 0,
		body: w.program.Bodies[body],
	}
	w.goroutines = append(w.goroutines, g)
	if len(g.body) > 0 {
		w.arrive(g)
	}
}

// step executes one transition; false when the execution has ended.
func (w *Worker) step() bool {
	n := len(w.Log.Transitions)
	enabled := w.Enabled()
	if len(enabled) == 0 {
		w.Log.Outcome = core.Deadlock
		return false
	}
	if w.limit > 0 && n >= w.limit {
		w.Log.Outcome = core.StepLimit
		return false
	}
	if n == w.schedule.SleepFrom {
		w.sleep = slices.Clone(w.schedule.Sleep)
	}
	affordable := slices.DeleteFunc(slices.Clone(enabled),
		func(a core.Alternative) bool { return !w.affordable(a, enabled) })
	action, ok := w.pick(n, enabled, affordable)
	if !ok {
		w.Log.Outcome = core.Redundant
		return false
	}
	t := core.Transition{Action: action, Alive: w.alive()}
	for _, a := range enabled {
		if a.Goroutine == action.Goroutine {
			t.Choices = a.Choices
		}
	}
	if w.schedule.WantEnabled {
		t.Enabled = affordable
	}
	w.spent = w.spent.Plus(w.cost(core.Alternative{Goroutine: action.Goroutine, Choices: 1}, enabled))
	w.current = &t
	w.several = len(enabled) > 1
	w.execute(action)
	w.Log.Transitions = append(w.Log.Transitions, t)
	w.sleep = slices.DeleteFunc(w.sleep, func(s *core.Sleeper) bool {
		return s.Goroutine == t.Goroutine || s.Wakes(t.Accesses)
	})
	return !w.Ended
}

// Enabled lists what can be picked: goroutines, and the clock if it may advance early; if there are
// none, the return of main; and if that is not pending, the clock.
func (w *Worker) Enabled() []core.Alternative {
	var list []core.Alternative
	var returning bool
	for _, g := range w.goroutines {
		switch {
		case g.blocked || g.returned:
		case w.returning(g):
			returning = true
		case w.holds(g):
			list = append(list, core.Alternative{Goroutine: g.id, Choices: w.choices(g),
				Rests: g == w.last && g.continuing})
		}
	}
	if w.early > 0 && w.sleepers() {
		list = append(list, core.Alternative{Goroutine: EarlyClock, Choices: 1})
	}
	switch {
	case len(list) > 0:
	case returning:
		list = []core.Alternative{{Goroutine: w.goroutines[0].id, Choices: 1}}
	case w.sleepers():
		list = []core.Alternative{{Choices: 1}}
	}
	return list
}

// alive counts goroutines that have not ended.
func (w *Worker) alive() (n int) {
	for _, g := range w.goroutines {
		n += btoi(!g.returned)
	}
	return n
}

// returning reports whether all that main has left is to return.
func (w *Worker) returning(g *simGoroutine) bool {
	return g.main && g.pc == len(g.body) && !g.continuing
}

// pending returns the operation that g is parked at, if it is a visible one.
func (w *Worker) pending(g *simGoroutine) (instruction, bool) {
	if g.continuing || g.pc == len(g.body) || g.body[g.pc].op.local() {
		return instruction{}, false
	}
	return g.body[g.pc], true
}

func (w *Worker) needs(g *simGoroutine) (needs []core.Need) {
	in, ok := w.pending(g)
	if !ok {
		return nil
	}
	switch in.op {
	case opLock, opWait:
		return []core.Need{{Object: w.objectID(in.object), Mask: core.ReadyExclusive}}
	case opRLock:
		return []core.Need{{Object: w.objectID(in.object), Mask: core.ReadyShared}}
	}
	if arms, block := in.arms(); block {
		for _, a := range arms {
			needs = append(needs, core.Need{Object: w.objectID(a.object), Mask: a.mask()})
			if a.send && w.objects[a.object].capacity == 0 {
				own := uint8(btoi(slices.Contains(arms, arm{a.object, false})))
				needs = append(needs, core.Need{Object: w.objectID(w.partners(a)),
					Mask: core.ReadyPartner, Own: own})
			}
		}
	}
	return needs
}

func (w *Worker) holds(g *simGoroutine) bool {
	in, ok := w.pending(g)
	if !ok {
		return true
	}
	if arms, _ := in.arms(); len(arms) > 0 {
		return len(w.alternatives(g, in)) > 0
	}
	switch in.op {
	case opLock, opWait:
		return w.ready(in.object)&core.ReadyExclusive != 0
	case opRLock:
		return w.ready(in.object)&core.ReadyShared != 0
	}
	return true
}

func (w *Worker) ready(object int) uint8 {
	if object >= len(w.objects) {
		return core.CountsWaiting | core.ReadyPartner*uint8(btoi(w.count(object) > 0))
	}
	o, ready := &w.objects[object], uint8(0)
	if o.closed || len(o.buffer) < o.capacity {
		ready |= core.ReadySend
	}
	if o.closed || len(o.buffer) > 0 {
		ready |= core.ReadyReceive
	}
	if !o.locked {
		ready |= core.ReadyShared
		if o.value == 0 {
			ready |= core.ReadyExclusive
		}
	}
	return ready
}

func (w *Worker) choices(g *simGoroutine) int {
	in, ok := w.pending(g)
	switch {
	case ok && in.op == opChoose:
		return in.value
	case ok:
		if arms, _ := in.arms(); len(arms) > 0 {
			return len(w.alternatives(g, in))
		}
	}
	return 1
}

// pick chooses the next action: the prefix, then the running goroutine, then the
// one after it, and so on, none that is asleep.
func (w *Worker) pick(n int, enabled, affordable []core.Alternative) (core.Action, bool) {
	if n < len(w.schedule.Prefix) {
		a := w.schedule.Prefix[n]
		for _, e := range enabled {
			if e.Goroutine == a.Goroutine && a.Choice < e.Choices {
				return a, true
			}
		}
		panic(fmt.Sprintf("step %d: %s is not enabled, only %v\n%v", n, a, enabled, w.program))
	}
	if w.schedule.Seed != 0 {
		return w.picker.random(n, w.picker.notHeld(affordable)), true
	}
	var awake []core.Action
	for _, e := range w.picker.notHeld(w.awake(affordable)) {
		for choice := range e.Choices {
			if a := (core.Action{Goroutine: e.Goroutine, Choice: choice}); !w.asleep(a) {
				awake = append(awake, a)
			}
		}
	}
	if len(awake) == 0 {
		return core.Action{}, false
	}
	for _, a := range awake {
		if w.running != nil && a.Goroutine == w.running.id {
			return a, true
		}
	}
	return awake[0], true
}

func (w *Worker) asleep(a core.Action) bool {
	return slices.ContainsFunc(w.sleep, func(s *core.Sleeper) bool { return s.Action == a })
}

// awake leaves out goroutines of which all alternatives are asleep.
func (w *Worker) awake(list []core.Alternative) []core.Alternative {
	return slices.DeleteFunc(slices.Clone(list), func(e core.Alternative) bool {
		for choice := range e.Choices {
			if !w.asleep(core.Action{Goroutine: e.Goroutine, Choice: choice}) {
				return false
			}
		}
		return true
	})
}

// execute runs one transition.
func (w *Worker) execute(a core.Action) {
	if a.Goroutine == 0 || a.Goroutine == EarlyClock {
		w.tick(a.Goroutine == EarlyClock)
		return
	}
	i := slices.IndexFunc(w.goroutines, func(g *simGoroutine) bool { return g.id == a.Goroutine })
	g := w.goroutines[i]
	w.running, w.last = g, g
	if !w.returning(g) {
		w.touchState(g)
	}
	if w.returning(g) {
		w.current.Barrier, g.returned, w.Ended = true, true, true
		return
	}
	w.current.Needs = w.needs(g)
	w.current.Place = w.program.place(g)
	in, visible := w.pending(g)
	w.current.SingleAccess = visible && in.settles() && !g.goesOn(g.pc+1)
	g.continuing = false
	if visible {
		w.operate(g, a.Choice)
	}
	for !w.Ended && !g.blocked && g.pc < len(g.body) {
		in := g.body[g.pc]
		if w.current.Choices > 1 && !in.op.local() && (in.sealed || w.announces(in)) {
			g.continuing = true // what it has chosen does not change what it accesses
			return
		}
		if !in.op.local() && !in.sealed {
			w.arrive(g)
			return
		}
		if !w.holds(g) || w.choices(g) > 1 { // a sealed operation that has to wait
			if arms, _ := in.arms(); len(arms) > 0 {
				w.look(g, in)
			} else if in.op != opChoose {
				w.access(in.object, core.Read)
			}
			w.arrive(g)
			return
		}
		w.operate(g, 0)
	}
	g.returned = g.pc == len(g.body) && !g.main && !g.blocked
}

// goesOn reports whether a transition that has come to the instruction at pc may go on with a
// visible operation.
func (g *simGoroutine) goesOn(pc int) bool {
	switch {
	case pc >= len(g.body):
		return false
	case g.body[pc].op == opSkip && g.goesOn(pc+1+g.body[pc].other):
		return true
	case g.body[pc].op.local():
		return g.goesOn(pc + 1)
	}
	return g.body[pc].sealed
}

// clockNeeds is what the clock waits for where it advances early: a sleeper.
var clockNeeds = []core.Need{{Object: ClockObject, Mask: core.ReadyExclusive}}

// clockAccess is that of an operation that sets a timer.
func (w *Worker) clockAccess() core.Access {
	if w.schedule.EarlyTimers == 0 {
		return core.Access{Object: ClockObject, Kind: core.Read}
	}
	a := core.Access{Object: ClockObject, Kind: core.Write}
	if w.sleepers() {
		a.Ready = core.ReadyExclusive
	}
	return a
}

func (w *Worker) sleepers() bool {
	return slices.ContainsFunc(w.goroutines, func(g *simGoroutine) bool { return g.blocked && g.wake > 0 })
}

// tick advances the clock to the next time at which a goroutine is to wake.
func (w *Worker) tick(early bool) {
	w.current.Barrier = !early
	w.current.Accesses = []core.Access{{Object: ClockObject, Kind: core.Write}}
	if early {
		w.early--
		w.current.Needs = clockNeeds
		w.current.Accesses[0].Ready = core.ReadyExclusive
	}
	next := 0
	for _, g := range w.goroutines {
		if g.blocked && g.wake > 0 && (next == 0 || g.wake < next) {
			next = g.wake
		}
	}
	w.now, w.last = next, nil
	w.ticked, w.effect = len(w.Log.Transitions)+1, len(w.Log.Transitions)+1
	for _, g := range w.goroutines {
		if g.blocked && g.wake == next {
			g.wake = 0
			w.resume(g)
		}
	}
}

func (w *Worker) resume(g *simGoroutine) {
	g.blocked, g.continuing = false, true
	w.current.Starts = append(w.current.Starts, g.id)
}

// operate executes the operation at the program counter of g.
func (w *Worker) operate(g *simGoroutine, choice int) {
	in := g.body[g.pc]
	g.pc++
	switch in.op {
	case opChoose:
		g.regs[in.reg] = choice
	case opSleep:
		w.current.Accesses = append(w.current.Accesses, w.clockAccess())
		g.blocked, g.wake = true, w.now+in.value
		w.Log.Timers++
	case opExit:
		outcome := core.Completed
		if in.value != 0 {
			outcome = core.Exited
		}
		w.end(outcome, "exit %d", in.value)
	case opGo:
		g.children++
		id := core.GoroutineID(core.Mix(uint64(g.id)) + uint64(g.children))
		w.create(id, in.object)
		w.current.Starts = append(w.current.Starts, id)
	case opSkip:
		if g.regs[in.reg] == in.value {
			g.pc = min(g.pc+in.other, len(g.body))
		}
	case opState:
		w.name(g, in)
	case opEstimate:
		w.Log.Estimates = append(w.Log.Estimates,
			core.Estimated{At: len(w.Log.Transitions), Value: int64(in.value)})
	case opAssert:
		if got := g.regs[in.reg]; got != in.value {
			w.end(core.AssertionFailed, "%s: r%d is %d, not %d", g.name, in.reg, got, in.value)
		}
	case opSend, opRecv, opSelect, opEither, opPoll, opOffer:
		w.channel(g, in, choice)
	default:
		w.memory(g, in)
	}
}
