// Package directed has the search that goes on where a state seems nearest to a violation.
package directed

import (
	"fmt"
	"iter"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Search runs executions best first. Each execution goes through states, and in each state with
// alternatives a branch stays open. The next execution follows the branch of the state that is
// nearest to a violation by its rating (greedy best-first search, as in Edelkamp, Jabbar, Sulewski:
// Distributed Verification of Multi-threaded C++ Programs, PDMC 2007). A branch is rated by the
// state that it leaves, since the state that it leads to is not known before it is run.
//
// An alternative is contested if what its goroutine does from there on conflicts with something
// that came before it, and after the state. Others may lead to something new, but seldom: most of
// their executions are cut off as redundant. So they come last.
//
// Sleep sets (Godefroid: Partial-Order Methods for the Verification of Concurrent Systems, LNCS
// 1032, 1996) leave out what differs only in the order of independent transitions. They ask for an
// order of the alternatives of each state, and not for an order in which states are explored. So
// they are as exact here as depth first: one execution of each partial order runs to its end. Some
// executions more are cut off as redundant. Within bounds there are no sleep sets, as in DFS.
//
// Of the alternatives of a state one at a time is open: what it accesses is known when the next one
// needs its sleep set. So an open branch takes little memory, however many goroutines can go on.
type Search struct {
	core.Tally
	open    []*branch // a heap, the best one first
	current *branch   // which is being executed; nil: the first execution is
	begun   bool
	born    uint64 // how many branches there have been
	taken   int    // units of memory, what is garbage since the last trim included
	givenUp int    // branches
	// Room is how many units of memory open branches take before some are given up. A unit is an
	// action, an access, or a word of a list: at most 32 bytes.
	Room    int
	ratings []rating // of the last execution, by state
	contest contest  // in the last execution
}

// room is some 100 MB.
const room = 1 << 22

// New returns a search within bounds, if there are any.
func New(b core.Bounds) *Search { return &Search{Tally: core.Tally{Bounds: b}, Room: room} }

// way is what an execution did from where it left the way of an earlier one.
type way struct {
	from    *way // nil: it begins with the execution
	begins  int  // how many actions come before its own
	actions []core.Action
}

// path lists the first n actions that lead along the way, with room for one more.
func (w *way) path(n int) []core.Action {
	list := make([]core.Action, n, n+1)
	for end := n; end > 0; w = w.from {
		if w.begins < end {
			copy(list[w.begins:end], w.actions)
			end = w.begins
		}
	}
	return list
}

// branch is an alternative that is still to be run, of a state.
type branch struct {
	way  *way
	at   int         // the state is the one before this action of the way
	next core.Action // the alternative
	// What is asleep in the state: what was before, and the alternatives that were run.
	inherited, done []*core.Sleeper
	ran             []core.Action // the alternatives that were run, but for the first
	rating
	idle   bool   // the alternative is not contested
	number uint64 // in the order in which states were seen
	listed bool   // by Prefetch
}

// first is the alternative that was run first.
func (b *branch) first() core.Action { return b.way.actions[b.at-b.way.begins] }

// asleep lists what is asleep in the state. Nobody changes it.
func (b *branch) asleep() []*core.Sleeper { return slices.Concat(b.inherited, b.done) }

// path leads along the branch.
func (b *branch) path() []core.Action { return append(b.way.path(b.at), b.next) }

// reduces reports whether there are sleep sets. Of two equivalent executions one may be within a
// bound and the other beyond it, so that one cannot stand for the other.
func (d *Search) reduces() bool { return len(d.Bounds.Within) == 0 }

// Next implements core.Search.
func (d *Search) Next() (core.Schedule, bool) {
	d.Expect()
	if !d.begun {
		d.begun = true
		return core.Schedule{WantEnabled: true, Limits: d.Bounds.Limits}, true
	}
	if len(d.open) == 0 {
		return d.End()
	}
	d.open, d.current = pop(d.open, before)
	return d.schedule(d.current), true
}

// schedule leads along a branch. It shares nothing that changes.
func (d *Search) schedule(b *branch) core.Schedule {
	s := core.Schedule{Prefix: b.path(), WantEnabled: true, Limits: d.Bounds.Limits}
	if asleep := b.asleep(); len(asleep) > 0 {
		s.Sleep, s.SleepFrom = asleep, b.at
	}
	return s
}

// Report implements core.Search.
func (d *Search) Report(e core.Execution) error {
	if err := d.Count(e); err != nil {
		return err
	}
	b := d.current
	d.current = nil
	here, sleep := &way{}, []*core.Sleeper(nil)
	d.ratings = rate(d.ratings[:0], &e)
	d.contest.take(&e)
	if b != nil {
		if err := core.CheckActions(b.path(), e.Transitions); err != nil {
			return err
		}
		x := &e.Transitions[b.at]
		here.from, here.begins = b.way, b.at
		sleep = stay(b.asleep(), x)
		here.actions = append(here.actions, x.Action)
		if err := d.goOn(b, &e); err != nil {
			return err
		}
	}
	for i := here.begins + len(here.actions); i < len(e.Transitions); i++ {
		x := &e.Transitions[i]
		here.actions = append(here.actions, x.Action)
		if err := d.branchOff(here, i, &e, sleep); err != nil {
			return err
		}
		sleep = stay(sleep, x)
	}
	// An execution that was cut off although nothing was asleep has covered nothing.
	if e.Outcome == core.Redundant && len(sleep) == 0 {
		return core.WrongLog(len(e.Transitions), "the execution ended as redundant, but nothing is asleep")
	}
	here.actions = slices.Clip(here.actions)
	d.taken += wayWeight + len(here.actions)
	d.trim()
	return nil
}

// goOn goes on to the next alternative of the state of a branch that has been run.
func (d *Search) goOn(b *branch, e *core.Execution) error {
	x := &e.Transitions[b.at]
	if !enables(x, b.first()) {
		return &core.DivergenceError{Step: b.at, Want: fmt.Sprintf("%s to be enabled", b.first()),
			Got: fmt.Sprint(x.Enabled)}
	}
	if !enables(x, b.next) {
		return notEnabled(b.at, x)
	}
	d.fallAsleep(b, e)
	b.ran = append(slices.Clip(b.ran), b.next)
	d.taken++
	if d.choose(b, x) {
		d.open = push(d.open, b, before)
	}
	return nil
}

// choose has a branch lead to an alternative that is still to be run; false if there is none. One
// that is contested comes first.
func (d *Search) choose(b *branch, x *core.Transition) bool {
	found := false
	for a := range actions(x) {
		if a == b.first() || slices.Contains(b.ran, a) || isAsleep(b.inherited, a) {
			continue
		}
		if d.contest.contested(b.at, a) {
			b.next, b.idle, b.listed = a, false, false
			return true
		}
		if !found {
			b.next, b.idle, b.listed, found = a, true, false, true
		}
	}
	return found
}

// branchOff opens a branch in the state before transition i, unless all alternatives are asleep.
func (d *Search) branchOff(here *way, i int, e *core.Execution, sleep []*core.Sleeper) error {
	x := &e.Transitions[i]
	if isAsleep(sleep, x.Action) {
		return core.WrongLog(i, "%s was executed although it is asleep", x.Action)
	}
	if !enables(x, x.Action) {
		return notEnabled(i, x)
	}
	if len(x.Enabled) == 1 && x.Enabled[0].Choices == 1 {
		return nil
	}
	b := &branch{way: here, at: i, inherited: sleep, rating: d.ratings[i], number: d.born + 1}
	if d.choose(b, x) {
		d.born++
		d.taken += b.weight()
		d.fallAsleep(b, e)
		d.open = push(d.open, b, before)
	}
	return nil
}

// fallAsleep puts what was run in the state of a branch to sleep. A transition that may have ended
// the program stays awake: nothing comes after it, so it stands for no order in which it comes
// later.
func (d *Search) fallAsleep(b *branch, e *core.Execution) {
	x := &e.Transitions[b.at]
	cutOff := e.Outcome == core.Redundant || e.Outcome == core.StepLimit
	if !d.reduces() || b.at == len(e.Transitions)-1 && !cutOff {
		return
	}
	s := &core.Sleeper{Action: x.Action, Choices: x.Choices,
		Accesses: core.Accumulate(slices.Clone(x.Accesses))}
	b.done = append(slices.Clip(b.done), s)
	d.taken += weightOf(s) + 1
}

// actions lists the alternatives of the state before a transition, in their order.
func actions(x *core.Transition) iter.Seq[core.Action] {
	return func(yield func(core.Action) bool) {
		for _, a := range x.Enabled {
			for choice := range a.Choices {
				if !yield(core.Action{Goroutine: a.Goroutine, Choice: choice}) {
					return
				}
			}
		}
	}
}

// enables reports whether an action is an alternative in the state before a transition.
func enables(x *core.Transition, a core.Action) bool {
	return slices.ContainsFunc(x.Enabled, func(e core.Alternative) bool {
		return e.Goroutine == a.Goroutine && a.Choice < e.Choices
	})
}

// notEnabled is the error of a log that contradicts itself.
func notEnabled(step int, x *core.Transition) error {
	return core.WrongLog(step, "%s was executed but is not among the enabled ones, %v", x.Action,
		x.Enabled)
}

// stay is what is still asleep after a transition. It is the same slice if nothing wakes.
func stay(sleep []*core.Sleeper, x *core.Transition) []*core.Sleeper {
	wakes := func(s *core.Sleeper) bool { return s.Goroutine == x.Goroutine || s.Wakes(x.Accesses) }
	if !slices.ContainsFunc(sleep, wakes) {
		return sleep
	}
	return slices.DeleteFunc(slices.Clone(sleep), wakes)
}

// isAsleep reports whether an action need not be run now. Lists of sleepers are short, so they are
// searched from their beginning.
func isAsleep(sleep []*core.Sleeper, a core.Action) bool {
	return slices.ContainsFunc(sleep, func(s *core.Sleeper) bool { return s.Action == a })
}

// Verdict implements core.Search.
func (d *Search) Verdict() core.Verdict { return d.Counted() }

// Counted implements core.Search.
func (d *Search) Counted() core.Verdict {
	gap := ""
	if d.givenUp > 0 {
		gap = fmt.Sprintf("%d open branches were given up: there is room for some %d actions and accesses "+
			"of such branches", d.givenUp, d.Room)
	}
	return d.Conclude(gap)
}
