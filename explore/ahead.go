package explore

import "slices"

// Ahead lists at most n schedules that a search has not asked for yet and will, for
// all it knows now, the next one first. Other workers may run them meanwhile. It looks at no more than the next so many
// branches: what is run too early is in no cache any more when it is asked for. It may be called after Next,
// before the execution that Next asks for is reported; it lists none twice, but what Beyond has listed too, and keeps no
// reference to them.
//
// The search does not depend on it: when it gets there, it asks for the
// schedule as if nobody had, and is told what came of it. Should it ask for another one,
// the work was in vain, and nothing else (Schedule.Equal).
func Ahead(s Search, n, within int) []Schedule {
	if f, ok := s.(foresighted); ok {
		return f.ahead(n, within)
	}
	return nil
}

// Beyond lists the schedules that a search will ask for because of an execution that was run
// ahead of it, in the order in which it will; nil if that depends on more than the execution. It may be called at any time, also while the
// search is used.
func Beyond(s Search, schedule *Schedule, e *Execution) []Schedule {
	if f, ok := s.(foresighted); ok {
		return f.beyond(schedule, e)
	}
	return nil
}

// foresighted is a search that knows what comes later, or a decorator of one.
type foresighted interface {
	ahead(n, within int) []Schedule
	beyond(*Schedule, *Execution) []Schedule
}

// ahead of a decorator may list more than the bound leaves.
func (b *bounded) ahead(n, within int) []Schedule { return Ahead(b.Search, n, within) }

func (b *bounded) beyond(s *Schedule, e *Execution) []Schedule { return Beyond(b.Search, s, e) }

// ahead lists the leaves of the wakeup trees on the path, in order. Whatever is inserted later comes after
// them. What will be asleep on the way to them follows from what is, and from what is
// left of it; only if that does something else by then has the search another sleep set.
func (d *dpor) ahead(n, within int) []Schedule {
	if d.restored != nil {
		return nil
	}
	f := &d.forecast
	f.list, f.room, f.within = nil, n, within
	for i := len(d.nodes) - 1; i >= 0 && !f.full(); i-- {
		todo := &d.nodes[i].todo
		if !slices.ContainsFunc(todo.branches, func(b *branch) bool { return !b.ahead }) {
			f.pass(todo.branches)
			continue
		}
		f.prefix = append(f.prefix[:0], d.path[:i]...)
		f.sleep = append(f.sleep[:0], d.sleepOf(&d.nodes[i])...)
		if i < len(d.trace.events) {
			f.sleep = append(f.sleep, d.sleeper(i))
		} else { // it is being executed
			f.sleep = append(f.sleep, d.chosen.sleeper())
		}
		f.node(todo, 0, true)
	}
	return f.list
}

// beyond: of the races in an execution it takes the trace to tell which are new.
func (d *dpor) beyond(*Schedule, *Execution) []Schedule { return nil }

// forecast is a walk through wakeup trees.
type forecast struct {
	prefix []Action   // to the node
	sleep  []Sleeper  // what is asleep there, after what is above it
	list   []Schedule // of leaves
	room   int        // in the list
	within int        // so many more leaves are looked at
}

// full reports whether nothing more is to be listed.
func (f *forecast) full() bool { return len(f.list) == f.room || f.within <= 0 }

// pass passes over branches of which all leaves are listed.
func (f *forecast) pass(branches []*branch) {
	for _, b := range branches {
		f.within -= max(1, b.leaves)
	}
}

// node lists the leaves of the tree of a node, where what is asleep begins at from, and reports
// whether all are listed now. The first of them is that of the node above it, if it is on the way there.
func (f *forecast) node(w *wakeups, from int, first bool) (all bool) {
	for i, b := range w.branches {
		if b.ahead {
			f.pass(w.branches[i : i+1])
		} else {
			before := f.within
			b.ahead = f.branch(b, from, first || i > 0)
			b.leaves = before - f.within
		}
		if f.full() {
			return b.ahead && i == len(w.branches)-1
		}
		f.sleep = append(f.sleep, b.sleeper())
	}
	return true
}

// branch lists the leaves of a branch.
func (f *forecast) branch(b *branch, from int, first bool) (all bool) {
	to := len(f.sleep)
	if slices.ContainsFunc(f.sleep[from:], func(s Sleeper) bool { return s.Action == b.Action }) {
		return true
	}
	if first && !b.begun && !f.leaf(b, from) {
		return false
	}
	if first {
		f.within--
	}
	if b.isChain() {
		return true
	}
	for i := from; i < to; i++ {
		if s := &f.sleep[i]; s.Goroutine != b.Goroutine && !s.Wakes(b.Accesses) {
			f.sleep = append(f.sleep, *s)
		}
	}
	f.prefix = append(f.prefix, b.Action)
	all = f.node(&b.below, to, false)
	f.prefix, f.sleep = f.prefix[:len(f.prefix)-1], f.sleep[:to]
	return all
}

// isChain reports whether there is nothing below a branch but the way to its first leaf.
func (b *branch) isChain() bool {
	for len(b.below.branches) == 1 {
		b = b.below.branches[0]
	}
	return len(b.below.branches) == 0
}

// leaf lists the first leaf of a branch; false if there is no room.
func (f *forecast) leaf(b *branch, from int) bool {
	if f.full() {
		return false
	}
	b.begun = true
	s := Schedule{Prefix: make([]Action, len(f.prefix), len(f.prefix)+b.length()), Sleep: slices.Clone(f.sleep[from:]), SleepFrom: len(f.prefix), Tentative: true}
	for copy(s.Prefix, f.prefix); ; b = b.below.branches[0] {
		if s.Prefix = append(s.Prefix, b.Action); len(b.below.branches) == 0 {
			break
		}
	}
	f.list = append(f.list, s)
	return true
}

// length is the number of steps to the first leaf.
func (b *branch) length() int {
	n := 1
	for ; len(b.below.branches) > 0; b = b.below.branches[0] {
		n++
	}
	return n
}

// sleeper is what the first step of a branch will be when it is asleep, for all that is known.
func (b *branch) sleeper() Sleeper {
	accesses := b.Accesses
	if len(accesses) > 1 {
		accesses = accumulate(slices.Clone(accesses))
	}
	return Sleeper{Action: b.Action, Accesses: accesses}
}

// Equal reports whether two schedules ask a worker for the same execution.
func (s *Schedule) Equal(t *Schedule) bool {
	return s.Seed == t.Seed && s.SleepFrom == t.SleepFrom && s.Tentative == t.Tentative && s.WantEnabled == t.WantEnabled &&
		slices.Equal(s.Prefix, t.Prefix) && slices.EqualFunc(s.Sleep, t.Sleep, Sleeper.alike) &&
		s.Priorities.equal(t.Priorities) && s.Limits.equal(t.Limits)
}

// alike reports whether a worker sees no difference: whether the same wakes them.
func (s Sleeper) alike(t Sleeper) bool {
	return s.Action == t.Action && slices.EqualFunc(s.Accesses, t.Accesses, func(a, b Access) bool {
		return a.Object == b.Object && a.Kind == b.Kind && a.Delta == b.Delta
	})
}

func (p *Priorities) equal(q *Priorities) bool {
	if p == nil || q == nil {
		return p == q
	}
	return slices.Equal(p.Changes, q.Changes)
}

func (l Limits) equal(m Limits) bool {
	same := func(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
	return same(l.Preemptions, m.Preemptions) && same(l.Delays, m.Delays)
}

// Turn is where a schedule that is run ahead leaves the path of its search: the further from
// the root, the sooner a depth-first search gets there.
func (s *Schedule) Turn() int {
	if s.Tentative {
		return s.SleepFrom
	}
	return len(s.Prefix)
}

// Hash is the same for schedules that are equal, and seldom for others.
func (s *Schedule) Hash() uint64 {
	h := mix(s.Seed ^ uint64(len(s.Prefix))<<32)
	for _, a := range s.Prefix {
		h = mix(h ^ uint64(a.Goroutine) + uint64(a.Choice))
	}
	return h
}
