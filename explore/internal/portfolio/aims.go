package portfolio

import (
	"cmp"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Bounds on schedules that are aimed in a search, and on those of them that come first of all.
const (
	mostAims   = 100
	mostUrgent = 4
)

// aims are the schedules that are aimed at what executions hint at. One is made for each class of
// hints: where in the code the operations are that it holds back.
type aims struct {
	limits core.Limits
	early  int             // of the schedules in which time may pass early: how often
	known  map[uint64]bool // classes, and places that executions have come to
	queue  []aim           // in order
	begun  int             // of the queue
	urgent int             // of the queue, which come before anything else
	listed int             // of the queue, by prefetch or before
	base   []core.Action   // the first execution, up to the last turn off it
}

// aim is a schedule that leads to where a hint comes true. It holds goroutines back, or goes as the
// first execution did up to an operation with alternatives, of which it takes another one.
type aim struct {
	holds []core.Hold
	after int // actions of the first execution
	turn  core.Action
	early bool // time may pass early
}

func newAims(l core.Limits, early int) aims {
	return aims{limits: l, early: early, known: map[uint64]bool{}}
}

// next is the next aimed schedule, of those that are left.
func (a *aims) next() core.Schedule {
	a.begun++
	a.listed = max(a.listed, a.begun)
	return a.schedule(a.begun - 1)
}

func (a *aims) left() int { return len(a.queue) - a.begun }

// onlyEarly drops what is left but for schedules in which time may pass early: the tree has covered
// what others would show.
func (a *aims) onlyEarly() {
	inTime := func(x aim) bool { return !x.early }
	listed := slices.DeleteFunc(slices.Clone(a.queue[a.begun:a.listed]), inTime)
	others := slices.DeleteFunc(slices.Clone(a.queue[a.listed:]), inTime)
	a.queue = slices.Concat(a.queue[:a.begun], listed, others)
	a.listed = a.begun + len(listed)
}

func (a *aims) schedule(i int) core.Schedule {
	x := &a.queue[i]
	s := core.Schedule{Holds: x.holds, Limits: a.limits}
	if x.early {
		s.EarlyTimers = a.early
	}
	if x.turn.Goroutine != 0 {
		s.Prefix = append(slices.Clone(a.base[:x.after]), x.turn)
	}
	return s
}

// prefetch lists the next schedules.
func (a *aims) prefetch(n int) (list []core.Schedule) {
	for ; len(list) < n && a.listed < len(a.queue); a.listed++ {
		list = append(list, a.schedule(a.listed))
	}
	return list
}

// learn adds the aims that an execution gives rise to, the most promising first.
func (a *aims) learn(e *core.Execution) {
	first := len(a.known) == 0
	if len(a.queue) == mostAims || !a.anyNew(e) {
		return
	}
	if first {
		for i := range e.Transitions {
			a.base = append(a.base, e.Transitions[i].Action)
		}
	}
	hints := find(e, a.early > 0)
	slices.SortStableFunc(hints, func(x, y hint) int {
		return cmp.Or(cmp.Compare(x.round, y.round), cmp.Compare(y.promise, x.promise))
	})
	for i := range hints {
		h := &hints[i]
		if a.known[h.class] || h.turn.Goroutine != 0 && !first {
			continue
		}
		if len(a.queue) == mostAims {
			break
		}
		a.known[h.class] = true
		h.holds = h.holds[:min(len(h.holds), core.MaxHolds)]
		// The clock is read in transitions of their own only where it may advance early.
		h.early = h.early || a.early > 0 && slices.ContainsFunc(h.holds,
			func(x core.Hold) bool { return x.Reading > 0 })
		a.queue = append(a.queue, h.aim)
		if first && h.promise == promiseCycle && a.urgent < mostUrgent {
			a.urgent++
		}
	}
}

// anyNew reports whether an execution has come to a place that none before has.
func (a *aims) anyNew(e *core.Execution) (some bool) {
	note := func(place uint64) {
		if !a.known[place] {
			a.known[place] = true
			some = true
		}
	}
	note(0)
	for i := range e.Transitions {
		note(core.Mix(e.Transitions[i].Place + 1))
	}
	return some
}
