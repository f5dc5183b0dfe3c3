// Package states remembers the states that a program has named (tandem.State), so that an execution
// can end where it comes to one that is known.
package states

import (
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/internal/model"
)

// Why ending executions is sound, and together with a reduction; see also docs/design/states.md.
//
// The program promises that what follows a state depends on the state only. All that can follow a
// state is explored where a search comes to it first: from there it goes on. An execution that
// comes to the state again ends. To the search it is one in which the program exits there.
//
// A reduction explores other orders of what it has seen, and what it would have seen behind the end
// it does not see. With DPOR that is nothing:
//
//  1. With states, all transitions read StateObject, and those that name a state write it. So all
//     that precedes a state happens before it, and it before all that follows. No race crosses it.
//     Only the races with the naming itself are left. Of these, those with what comes before are
//     found when it is executed. Those with what comes next are found because an operation that is
//     pending at the end of an execution counts as one that could come before the end.
//  2. Whatever sleeps before a state wakes there, since it depends on it. For the same reason a
//     reversal has a naming at its end, or has none. So nothing sleeps after a state, nothing is
//     planned there, and the search from there on is one that begins anew. It explores all that
//     can follow, up to equivalence, and to the next states.
//  3. So no goroutine is passed over for ever in a circle of states: it is pending where the circle
//     closes, and goes on before that in another execution.
//
// Without a reduction (DFS) nothing of this is needed. Within a bound on preemptions or delays the
// state would have to include what is left of the bound, and who ran last, and the reduction of
// bpor looks back beyond states: there no execution ends.
//
// What goes on for ever without an effect is a livelock, or waits for a timer. The worker finds out
// when it has gone on for long enough, which the end of the execution would keep it from. So an
// execution that comes to a state which it has itself been in, and has done nothing since that a
// livelock could not do, is one of these:
//
//   - Another goroutine can go on with something that has an effect. Then it is no livelock, and no
//     time passes. The execution ends.
//   - Time would pass if the loop went on for long enough. What follows depends on for how long it
//     has gone on, and not on the state only. So the execution does not end.
//   - Else it ends, and is run further, once for each state: the worker finds the livelock if it is
//     one. That suffices. In all states of a livelock all goroutines that can go on do so without
//     an effect, and without alternatives. So whatever follows one of its states is one of them,
//     and leads nowhere else. The first of them that the search comes to is known by no other
//     execution. So the one that goes on from there comes to a state that it has itself been in,
//     and whoever goes on from that state, for long enough, goes round in the livelock.
//
// Loops on timers are like the last.

// Table is what is known of states. Between Begin and Report the execution is under way, and Named
// may be called. Meanwhile nothing else may be but Save and Counts.
type Table struct {
	most  int // states that are remembered, and as many edges
	known map[core.StateKey]place
	edges map[uint64]struct{} // hashes of pairs that followed each other: see edge
	full  bool                // there was no room for a state or an edge
	path  course              // of the last execution that was reported, and of Begin what is left
	ends  int                 // executions that ended at a known state

	fresh course // of the execution under way
	ended bool   // it is to end at the last of these
	round bool   // which may be one of a loop that never ends

	trials
}

// course is a list of states that an execution has named.
type course struct {
	list   []core.NamedState
	before []int // the place in the list, plus 1, of the same state before; 0: there is none
	last   map[core.StateKey]int
}

func (c *course) add(s core.NamedState) {
	if c.last == nil {
		c.last = make(map[core.StateKey]int)
	}
	c.list, c.before = append(c.list, s), append(c.before, c.last[s.Key])
	c.last[s.Key] = len(c.list)
}

// latest is the last state that has a key; nil if none has.
func (c *course) latest(key core.StateKey) *core.NamedState {
	if n := c.last[key]; n > 0 {
		return &c.list[n-1]
	}
	return nil
}

// goBack leaves the first n states.
func (c *course) goBack(n int) {
	for i := len(c.list) - 1; i >= n; i-- {
		if key := c.list[i].Key; c.before[i] > 0 {
			c.last[key] = c.before[i]
		} else {
			delete(c.last, key)
		}
	}
	c.list, c.before = c.list[:n], c.before[:n]
}

// place is where a state was found first.
type place struct {
	execution uint32 // counted from 1
	step      uint32
	round     bool // an execution was run further from there, to see whether it is in a livelock
}

// Most is how many states a table remembers, if nothing else is said: some 230 MB.
const Most = 2 << 20

// New returns an empty table for so many states.
func New(most int) *Table {
	return &Table{most: most, known: make(map[core.StateKey]place), edges: make(map[uint64]struct{})}
}

// Begin begins an execution, of which the transitions from one on are new. The table is told of the
// states that are named there.
func (t *Table) Begin(from int) {
	t.forget()
	n := len(t.path.list)
	for n > 0 && t.path.list[n-1].Step > from {
		n--
	}
	t.path.goBack(n)
}

// forget ends what is known of the execution under way.
func (t *Table) forget() {
	t.fresh.goBack(0)
	t.ended, t.round = false, false
}

// Named implements model.States.
func (t *Table) Named(s core.NamedState) bool {
	if t.ended {
		return true
	}
	before := t.fresh.latest(s.Key)
	if before == nil {
		before = t.path.latest(s.Key)
	}
	_, known := t.known[s.Key]
	t.ended = known || before != nil
	if before != nil {
		spins := before.Step > s.Effect && !s.Stirs
		ticks := before.Step > s.Turn && s.Tick > before.Step
		t.ended, t.round = !(spins && s.Waits), spins || ticks
	}
	t.fresh.add(s)
	return t.ended
}

// Report takes the execution under way: one of so many, which has ended with an outcome after so
// many transitions. The error says that what was told of its states cannot be true.
func (t *Table) Report(execution int, e *core.Execution) error {
	last := 0
	for _, s := range t.fresh.list {
		if s.Step <= last || s.Step > len(e.Transitions) {
			return core.WrongLog(s.Step, "a state is named there, after transition %d of %d", last,
				len(e.Transitions))
		}
		last = s.Step
		if _, known := t.known[s.Key]; !known && t.room(len(t.known)) {
			t.known[s.Key] = place{execution: uint32(execution), step: uint32(s.Step)}
		}
	}
	from := len(t.path.list)
	for _, s := range t.fresh.list {
		t.path.add(s)
	}
	path := t.path.list
	for i := max(from, 1); i < len(path); i++ {
		t.addEdge(edge(path[i-1].Key, path[i].Key))
	}
	switch n := len(path); {
	case t.ended:
		t.ends++
		t.sample(execution, e)
	case n > 0 && ends(e.Outcome):
		t.addEdge(edge(path[n-1].Key, endOf(e.Outcome)))
	}
	t.forget()
	return nil
}

// room reports whether there is room for one more than there are.
func (t *Table) room(n int) bool {
	t.full = t.full || n >= t.most
	return n < t.most
}

func (t *Table) addEdge(e uint64) {
	if _, known := t.edges[e]; !known && t.room(len(t.edges)) {
		t.edges[e] = struct{}{}
	}
}

// edge is a hash of two states that follow each other, or of a state and an end of executions.
func edge(from, to core.StateKey) uint64 {
	return core.Mix(from[0] ^ core.Mix(from[1]^core.Mix(to[0]^core.Mix(to[1]))))
}

// endOf stands for the end of executions in edges.
func endOf(o core.Outcome) core.StateKey { return core.StateKey{uint64(o), 1} }

// ends reports whether an execution has ended by itself.
func ends(o core.Outcome) bool { return o != core.Redundant && o != core.StepLimit }

// Counts are what there is to tell.
func (t *Table) Counts() core.StateCounts {
	return core.StateCounts{Known: len(t.known), Ended: t.ends, Tested: t.tested, Full: t.full,
		Broken: t.broken}
}

var _ model.States = (*Table)(nil)
