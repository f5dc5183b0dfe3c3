package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
)

// worker interprets a program the way the real worker runs one: it follows a
// schedule and logs transitions. It is the obvious implementation of the rules in
// the documentation of Schedule and Transition.
type worker struct {
	program    *program
	schedule   Schedule
	limit      int                // of transitions; 0 for none
	objectID   func(int) ObjectID // names objects
	goroutines []*simGoroutine    // in the order of creation
	objects    []simObject        // as in program.objects
	sleep      []*Sleeper         // who is asleep
	log        Execution
	current    *Transition   // being executed
	running    *simGoroutine // executed last
	last       *simGoroutine // the same; nil when the clock has advanced since
	spent      simCost
	priorities map[GoroutineID]uint64
	now        int    // virtual time
	ended      bool   // by an operation of the program
	message    string // what it ended with
	random     uint64 // state, when picking randomly
}

type simGoroutine struct {
	id         GoroutineID
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

// run executes a program along a schedule.
func run(p *program, s Schedule, limit int) *worker {
	return runNaming(p, s, limit, func(object int) ObjectID { return ObjectID(object + 1) })
}

func runNaming(p *program, s Schedule, limit int, objectID func(int) ObjectID) *worker {
	w := &worker{program: p, schedule: s, limit: limit, objectID: objectID, random: s.Seed}
	w.log.Weight, w.priorities = 1, map[GoroutineID]uint64{}
	w.objects = make([]simObject, len(p.objects))
	for i, name := range p.objects {
		w.objects[i].capacity = int(name[len(name)-1]-'0') * btoi(name[len(name)-1] <= '9')
	}
	w.create(1, 0)
	for w.step() {
	}
	w.finish()
	return w
}

// clockObject is the virtual time.
const clockObject = ObjectID(1 << 40)

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *worker) create(id GoroutineID, body int) {
	g := &simGoroutine{
		id: id, name: w.program.names[body], main: body == 0 && len(w.goroutines) == 0, body: w.program.bodies[body],
	}
	w.goroutines = append(w.goroutines, g)
	if len(g.body) > 0 {
		w.arrive(g)
	}
}

// step executes one transition; false when the execution has ended.
func (w *worker) step() bool {
	n := len(w.log.Transitions)
	enabled := w.enabled()
	if len(enabled) == 0 {
		w.log.Outcome = Deadlock
		return false
	}
	if w.limit > 0 && n >= w.limit {
		w.log.Outcome = StepLimit
		return false
	}
	if n == w.schedule.SleepFrom {
		w.sleep = slices.Clone(w.schedule.Sleep)
	}
	affordable := slices.DeleteFunc(slices.Clone(enabled), func(a Alternative) bool { return !w.affordable(a, enabled) })
	action, ok := w.pick(n, enabled, affordable)
	if !ok {
		w.log.Outcome = Redundant
		return false
	}
	t := Transition{Action: action}
	for _, a := range enabled {
		if a.Goroutine == action.Goroutine {
			t.Choices = a.Choices
		}
	}
	if w.schedule.WantEnabled {
		t.Enabled = affordable
	}
	w.spent = w.spent.plus(w.cost(Alternative{Goroutine: action.Goroutine, Choices: 1}, enabled))
	w.current = &t
	w.execute(action)
	w.log.Transitions = append(w.log.Transitions, t)
	w.sleep = slices.DeleteFunc(w.sleep, func(s *Sleeper) bool {
		return s.Goroutine == t.Goroutine || s.Wakes(t.Accesses)
	})
	return !w.ended
}

// enabled lists what can be picked: goroutines; if there are none, the return of
// main; and if that is not pending, the clock.
func (w *worker) enabled() []Alternative {
	var list []Alternative
	var returning, sleeping bool
	for _, g := range w.goroutines {
		sleeping = sleeping || g.blocked && g.wake > 0
		switch {
		case g.blocked || g.returned:
		case w.returning(g):
			returning = true
		case w.holds(g):
			list = append(list, Alternative{g.id, w.choices(g), g == w.last && g.continuing})
		}
	}
	switch {
	case len(list) > 0:
	case returning:
		list = []Alternative{{Goroutine: w.goroutines[0].id, Choices: 1}}
	case sleeping:
		list = []Alternative{{Choices: 1}}
	}
	return list
}

// returning reports whether all that main has left is to return.
func (w *worker) returning(g *simGoroutine) bool {
	return g.main && g.pc == len(g.body) && !g.continuing
}

// pending returns the operation that g is parked at, if it is a visible one.
func (w *worker) pending(g *simGoroutine) (instruction, bool) {
	if g.continuing || g.pc == len(g.body) || g.body[g.pc].op.local() {
		return instruction{}, false
	}
	return g.body[g.pc], true
}

func (w *worker) needs(g *simGoroutine) (needs []Need) {
	in, ok := w.pending(g)
	if !ok {
		return nil
	}
	switch in.op {
	case opLock, opWait:
		return []Need{{Object: w.objectID(in.object), Mask: model.ReadyExclusive}}
	case opRLock:
		return []Need{{Object: w.objectID(in.object), Mask: model.ReadyShared}}
	}
	if arms, block := in.arms(); block {
		for _, a := range arms {
			needs = append(needs, Need{Object: w.objectID(a.object), Mask: a.mask()})
			if a.send && w.objects[a.object].capacity == 0 {
				own := uint8(btoi(slices.Contains(arms, arm{a.object, false})))
				needs = append(needs, Need{Object: w.objectID(w.partners(a)), Mask: model.ReadyPartner, Own: own})
			}
		}
	}
	return needs
}

func (w *worker) holds(g *simGoroutine) bool {
	in, ok := w.pending(g)
	if !ok {
		return true
	}
	if arms, _ := in.arms(); len(arms) > 0 {
		return len(w.alternatives(g, in)) > 0
	}
	switch in.op {
	case opLock, opWait:
		return w.ready(in.object)&model.ReadyExclusive != 0
	case opRLock:
		return w.ready(in.object)&model.ReadyShared != 0
	}
	return true
}

func (w *worker) ready(object int) uint8 {
	if object >= len(w.objects) {
		return model.CountsWaiting | model.ReadyPartner*uint8(btoi(w.count(object) > 0))
	}
	o, ready := &w.objects[object], uint8(0)
	if o.closed || len(o.buffer) < o.capacity {
		ready |= model.ReadySend
	}
	if o.closed || len(o.buffer) > 0 {
		ready |= model.ReadyReceive
	}
	if !o.locked {
		ready |= model.ReadyShared
		if o.value == 0 {
			ready |= model.ReadyExclusive
		}
	}
	return ready
}

func (w *worker) choices(g *simGoroutine) int {
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
func (w *worker) pick(n int, enabled, affordable []Alternative) (Action, bool) {
	if n < len(w.schedule.Prefix) {
		a := w.schedule.Prefix[n]
		for _, e := range enabled {
			if e.Goroutine == a.Goroutine && a.Choice < e.Choices {
				return a, true
			}
		}
		panic(fmt.Sprintf("step %d: %s is not enabled, only %v\n%v", n, a, enabled, w.program))
	}
	switch {
	case w.schedule.Priorities != nil:
		return w.pickByPriority(n, affordable), true
	case w.schedule.Seed != 0:
		return w.pickRandomly(affordable), true
	}
	var awake []Action
	for _, e := range affordable {
		for choice := range e.Choices {
			a := Action{Goroutine: e.Goroutine, Choice: choice}
			if !slices.ContainsFunc(w.sleep, func(s *Sleeper) bool { return s.Action == a }) {
				awake = append(awake, a)
			}
		}
	}
	if len(awake) == 0 {
		return Action{}, false
	}
	for _, a := range awake {
		if w.running != nil && a.Goroutine == w.running.id {
			return a, true
		}
	}
	return awake[0], true
}

// execute runs one transition.
func (w *worker) execute(a Action) {
	if a.Goroutine == 0 {
		w.tick()
		return
	}
	i := slices.IndexFunc(w.goroutines, func(g *simGoroutine) bool { return g.id == a.Goroutine })
	g := w.goroutines[i]
	w.running, w.last = g, g
	if w.returning(g) {
		w.current.Barrier, g.returned, w.ended = true, true, true
		return
	}
	w.current.Needs = w.needs(g)
	in, visible := w.pending(g)
	w.current.Settled = visible && in.settles() && !g.goesOn(g.pc+1)
	g.continuing = false
	if visible {
		w.operate(g, a.Choice)
	}
	for !w.ended && !g.blocked && g.pc < len(g.body) {
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
				w.access(in.object, Read)
			}
			w.arrive(g)
			return
		}
		w.operate(g, 0)
	}
	g.returned = g.pc == len(g.body) && !g.main && !g.blocked
}

// goesOn reports whether a transition that has come to the instruction at pc may go on with a visible operation.
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

// tick advances the clock to the next time at which a goroutine is to wake.
func (w *worker) tick() {
	w.current.Barrier = true
	w.current.Accesses = []Access{{Object: clockObject, Kind: Write}}
	next := 0
	for _, g := range w.goroutines {
		if g.blocked && g.wake > 0 && (next == 0 || g.wake < next) {
			next = g.wake
		}
	}
	w.now, w.last = next, nil
	for _, g := range w.goroutines {
		if g.blocked && g.wake == next {
			g.wake = 0
			w.resume(g)
		}
	}
}

func (w *worker) resume(g *simGoroutine) {
	g.blocked, g.continuing = false, true
	w.current.Starts = append(w.current.Starts, g.id)
}

func (w *worker) access(object int, kind AccessKind, delta ...int) {
	if w.current == nil {
		return // main begins
	}
	a := w.accessTo(object, kind)
	if len(delta) > 0 {
		a.Delta = int32(delta[0])
	}
	if len(delta) > 0 && a.Ready&model.CountsWaiting == 0 {
		a.Count = int32(w.objects[object].value)
		if a.Count+a.Delta < 0 {
			a.Kind = Write
		}
	}
	w.current.Accesses = append(w.current.Accesses, a)
}

func (w *worker) accessTo(object int, kind AccessKind) Access {
	return Access{Object: w.objectID(object), Kind: kind, Ready: w.ready(object), Count: w.count(object)}
}

func (w *worker) end(o Outcome, format string, args ...any) {
	w.ended, w.log.Outcome, w.message = true, o, fmt.Sprintf(format, args...)
}

// operate executes the operation at the program counter of g.
func (w *worker) operate(g *simGoroutine, choice int) {
	in := g.body[g.pc]
	g.pc++
	switch in.op {
	case opChoose:
		g.regs[in.reg] = choice
	case opSleep:
		w.current.Accesses = append(w.current.Accesses, Access{Object: clockObject, Kind: Read})
		g.blocked, g.wake = true, w.now+in.value
	case opExit:
		outcome := Completed
		if in.value != 0 {
			outcome = Exited
		}
		w.end(outcome, "exit %d", in.value)
	case opGo:
		g.children++
		id := GoroutineID(mix(uint64(g.id)) + uint64(g.children))
		w.create(id, in.object)
		w.current.Starts = append(w.current.Starts, id)
	case opSkip:
		if g.regs[in.reg] == in.value {
			g.pc = min(g.pc+in.other, len(g.body))
		}
	case opAssert:
		if got := g.regs[in.reg]; got != in.value {
			w.end(AssertionFailed, "%s: r%d is %d, not %d", g.name, in.reg, got, in.value)
		}
	case opSend, opRecv, opSelect, opEither, opPoll, opOffer:
		w.channel(g, in, choice)
	default:
		w.memory(g, in)
	}
}

// memory executes operations on variables, mutexes and wait groups.
func (w *worker) memory(g *simGoroutine, in instruction) {
	o := &w.objects[in.object]
	switch in.op {
	case opLoad:
		w.access(in.object, Read)
		g.regs[in.reg] = o.value
	case opStore:
		w.access(in.object, Write)
		o.value = in.value
	case opClose:
		w.close(g, in.object)
	case opInc:
		w.access(in.object, Write)
		o.value = g.regs[in.value] + 1
	case opLock:
		w.access(in.object, Write)
		o.locked = true
	case opUnlock:
		w.access(in.object, Write)
		if !o.locked {
			w.end(Panicked, "%s: unlock of unlocked mutex", g.name)
		}
		o.locked = false
	case opRLock:
		w.access(in.object, Commute, 1)
		o.value++
	case opRUnlock:
		w.access(in.object, Commute, -1)
		o.value--
	case opAdd:
		w.access(in.object, Commute, in.value)
		o.value += in.value
	case opDone:
		w.access(in.object, Commute, -1)
		o.value--
	case opWait:
		w.access(in.object, Read)
	}
	if o.value < 0 {
		w.end(Panicked, "%s: negative counter", g.name)
	}
}

// finish logs the operations that are still pending.
func (w *worker) finish() {
	for _, g := range w.goroutines {
		if g.blocked || g.returned || w.returning(g) || g.pc == len(g.body) && !g.continuing {
			continue
		}
		w.log.Pending = append(w.log.Pending, w.pendingOf(g))
	}
}

func (w *worker) pendingOf(g *simGoroutine) Pending {
	p := Pending{Goroutine: g.id, Needs: w.needs(g), Enabled: w.holds(g)}
	if in, ok := w.pending(g); ok && in.op != opChoose && in.op != opSleep && in.op != opExit {
		p.Accesses = w.firstAccesses(g, in)
	}
	return p
}

func (w *worker) firstAccesses(g *simGoroutine, in instruction) []Access {
	if arms, _ := in.arms(); len(arms) > 0 {
		return w.intended(g, in)
	}
	a := Access{Object: w.objectID(in.object), Kind: Write, Ready: w.ready(in.object)}
	switch in.op {
	case opLoad, opWait:
		a.Kind = Read
	case opRLock, opAdd:
		a.Kind, a.Delta = Commute, 1
	case opRUnlock, opDone:
		a.Kind, a.Delta = Commute, -1
	}
	return []Access{a}
}

// outcome describes how the execution ended.
func (w *worker) outcome() string { return strings.TrimSpace(w.log.Outcome.String() + " " + w.message) }

// state describes the final state: the objects and what each goroutine knows.
func (w *worker) state() string {
	var b strings.Builder
	b.WriteString(w.outcome())
	for i, o := range w.objects {
		fmt.Fprintf(&b, " %s=%d%v", w.program.objects[i], o.value, o.buffer)
		if o.locked {
			b.WriteString("locked")
		}
		if o.closed {
			b.WriteString("closed")
		}
	}
	goroutines := slices.Clone(w.goroutines)
	slices.SortFunc(goroutines, func(x, y *simGoroutine) int { return int(int64(x.id>>1) - int64(y.id>>1)) })
	for _, g := range goroutines {
		fmt.Fprintf(&b, " %s@%d%v", g.name, g.pc, g.regs)
	}
	return b.String()
}
