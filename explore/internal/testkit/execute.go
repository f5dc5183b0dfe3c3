package testkit

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// memory executes operations on variables, mutexes and wait groups.
func (w *Worker) memory(g *simGoroutine, in instruction) {
	o := &w.objects[in.object]
	switch in.op {
	case opLoad:
		w.access(in.object, core.Read)
		g.regs[in.reg] = o.value
	case opStore:
		w.access(in.object, core.Write)
		o.value = in.value
	case opClose:
		w.close(g, in.object)
	case opInc:
		w.access(in.object, core.Write)
		o.value = g.regs[in.value] + 1
	case opLock:
		w.access(in.object, core.Write)
		o.locked = true
	case opUnlock:
		w.access(in.object, core.Write)
		if !o.locked {
			w.end(core.Panicked, "%s: unlock of unlocked mutex", g.name)
		}
		o.locked = false
	case opRLock:
		w.access(in.object, core.Commute, 1)
		o.value++
	case opRUnlock:
		w.access(in.object, core.Commute, -1)
		o.value--
	case opAdd:
		w.access(in.object, core.Commute, in.value)
		o.value += in.value
	case opDone:
		w.access(in.object, core.Commute, -1)
		o.value--
	case opWait:
		w.access(in.object, core.Read)
	}
	if o.value < 0 {
		w.end(core.Panicked, "%s: negative counter", g.name)
	}
}

// finish logs the operations that are still pending.
func (w *Worker) finish() {
	for _, g := range w.goroutines {
		if g.blocked || g.returned || w.returning(g) || g.pc == len(g.body) && !g.continuing {
			continue
		}
		w.Log.Pending = append(w.Log.Pending, w.pendingOf(g))
	}
	if w.early > 0 {
		a := w.clockAccess()
		w.Log.Pending = append(w.Log.Pending, core.Pending{Goroutine: EarlyClock, Needs: clockNeeds,
			Accesses: []core.Access{a}, Enabled: a.Ready != 0})
	}
}

func (w *Worker) pendingOf(g *simGoroutine) core.Pending {
	p := core.Pending{Goroutine: g.id, Needs: w.needs(g), Enabled: w.holds(g)}
	if in, ok := w.pending(g); ok && in.op == opSleep && w.schedule.EarlyTimers > 0 {
		p.Accesses = []core.Access{w.clockAccess()}
	} else if ok && in.op != opChoose && in.op != opSleep && in.op != opExit && in.op != opState {
		p.Accesses = w.firstAccesses(g, in)
	}
	if w.schedule.States != nil {
		p.Accesses = append([]core.Access{w.stateAccess(g)}, p.Accesses...)
	}
	return p
}

func (w *Worker) firstAccesses(g *simGoroutine, in instruction) []core.Access {
	if arms, _ := in.arms(); len(arms) > 0 {
		return w.intended(g, in)
	}
	a := core.Access{Object: w.objectID(in.object), Kind: core.Write, Ready: w.ready(in.object)}
	switch in.op {
	case opLoad, opWait:
		a.Kind = core.Read
	case opRLock, opAdd:
		a.Kind, a.Delta = core.Commute, 1
	case opRUnlock, opDone:
		a.Kind, a.Delta = core.Commute, -1
	}
	return []core.Access{a}
}

// Outcome describes how the execution ended.
func (w *Worker) Outcome() string { return strings.TrimSpace(w.Log.Outcome.String() + " " + w.message) }

// State describes the final state: the objects and what each goroutine knows.
func (w *Worker) State() string {
	var b strings.Builder
	b.WriteString(w.Outcome())
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

func (w *Worker) end(o core.Outcome, format string, args ...any) {
	w.Ended, w.Log.Outcome, w.message = true, o, fmt.Sprintf(format, args...)
}

func (w *Worker) access(object int, kind core.AccessKind, delta ...int) {
	if w.current == nil {
		return // main begins
	}
	a := w.accessTo(object, kind)
	if len(delta) > 0 {
		a.Delta = int32(delta[0])
	}
	if len(delta) > 0 && a.Ready&core.CountsWaiting == 0 {
		a.Count = int32(w.objects[object].value)
		if a.Count+a.Delta < 0 {
			a.Kind = core.Write
		}
	}
	if a.Kind != core.Read {
		w.noteEffect()
	}
	w.current.Accesses = append(w.current.Accesses, a)
}

func (w *Worker) accessTo(object int, kind core.AccessKind) core.Access {
	return core.Access{Object: w.objectID(object), Kind: kind, Ready: w.ready(object), Count: w.count(object)}
}

// SimCost is what picks have cost: see Limits.
type SimCost struct{ Preemptions, Delays int }

// Plus is the sum of two costs.
func (c SimCost) Plus(other SimCost) SimCost {
	return SimCost{c.Preemptions + other.Preemptions, c.Delays + other.Delays}
}

// cost is that of picking one of the enabled goroutines.
func (w *Worker) cost(a core.Alternative, enabled []core.Alternative) (c SimCost) {
	if a.Goroutine == 0 || len(enabled) == 1 {
		return c
	}
	var order []core.GoroutineID // of creation, beginning with the one that ran last
	for _, g := range append(slices.Clone(w.goroutines), w.goroutines...) {
		if len(order) > 0 || w.last == nil || w.last.returned || g == w.last {
			order = append(order, g.id)
		}
	}
	order = slices.DeleteFunc(order, func(id core.GoroutineID) bool {
		return w.alternative(id,
			enabled) == nil
	})
	c.Delays = slices.Index(order, a.Goroutine)
	if w.last != nil && a.Goroutine != w.last.id && !w.last.continuing &&
		w.alternative(w.last.id, enabled) != nil {
		c.Preemptions = 1
	}
	return c
}

func (w *Worker) alternative(id core.GoroutineID, enabled []core.Alternative) *core.Alternative {
	for i := range enabled {
		if enabled[i].Goroutine == id {
			return &enabled[i]
		}
	}
	return nil
}

func (w *Worker) affordable(a core.Alternative, enabled []core.Alternative) bool {
	c, l := w.spent.Plus(w.cost(a, enabled)), w.schedule.Limits
	return (l.Preemptions == nil || c.Preemptions <= *l.Preemptions) &&
		(l.Delays == nil || c.Delays <= *l.Delays)
}

// Path lists what was executed; "|" is where the given prefix ends.
func (w *Worker) Path(prefix int) string {
	var b strings.Builder
	for i, t := range w.Log.Transitions {
		if i == prefix && prefix > 0 {
			b.WriteString(" |")
		}
		b.WriteString(" " + w.NameOf(t.Action))
		if t.Choices > 1 {
			fmt.Fprintf(&b, "/%d", t.Choice)
		}
	}
	return b.String()
}

// NameOf is the name in the program of the goroutine that an action picks.
func (w *Worker) NameOf(a core.Action) string {
	for _, g := range w.goroutines {
		if g.id == a.Goroutine {
			return g.name
		}
	}
	return "clock"
}

// stateAccess is that of a transition, or of a pending operation, where states are asked for.
func (w *Worker) stateAccess(g *simGoroutine) core.Access {
	if in, ok := w.pending(g); ok && in.op == opState {
		return core.Access{Object: core.StateObject, Kind: core.Write}
	}
	return core.Access{Object: core.StateObject, Kind: core.Read}
}

// touchState has a transition depend on the states that are named.
func (w *Worker) touchState(g *simGoroutine) {
	if w.schedule.States != nil {
		w.current.Accesses = append(w.current.Accesses, w.stateAccess(g))
	}
	if w.current.Choices > 1 {
		w.turn = len(w.Log.Transitions) + 1
	}
}

// noteEffect notes that the present transition has an effect.
func (w *Worker) noteEffect() {
	n := len(w.Log.Transitions) + 1
	w.effect = n
	if w.several {
		w.turn = n
	}
}

// Whole is a text of all that the rest of the execution depends on. Parts of it are left out: bit 0
// the variables and channels, bit 1 the registers.
func (w *Worker) Whole(leftOut int) string {
	var b strings.Builder
	for _, o := range w.objects {
		if leftOut&1 == 0 {
			fmt.Fprint(&b, o)
		}
	}
	for _, g := range w.goroutines {
		wake := 0
		if g.wake > 0 {
			wake = g.wake - w.now
		}
		fmt.Fprint(&b, "|", g.id, g.pc, g.blocked, g.continuing, g.returned, g.arrived, g.sealed, wake,
			g.children)
		if leftOut&2 == 0 {
			fmt.Fprint(&b, g.regs)
		}
	}
	fmt.Fprint(&b, w.early)
	return b.String()
}

// name names the state, and ends the execution if it is to end there.
func (w *Worker) name(g *simGoroutine, in instruction) {
	if w.schedule.States == nil || len(w.Log.Transitions) < w.schedule.New {
		return
	}
	h := fnv.New128a()
	h.Write([]byte(w.Whole(in.value)))
	s := core.NamedState{PC: w.program.place(g), Step: len(w.Log.Transitions) + 1, Effect: w.effect,
		Turn: w.turn, Tick: w.ticked}
	for i, b := range h.Sum(nil) {
		s.Key[i/8] = s.Key[i/8]<<8 | uint64(b)
	}
	for _, other := range w.goroutines {
		if in, ok := w.pending(other); other != g && ok && w.holds(other) && in.op != opLoad &&
			in.op != opState {
			s.Stirs = true
		}
	}
	if w.schedule.States.Named(s) {
		w.end(core.Completed, "known")
	}
}
