package explore

import "slices"

// DPOR returns the search with dynamic partial-order reduction: of the executions
// that differ only in the order of independent transitions it completes exactly
// one. It is Source-DPOR (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic
// Partial Order Reduction, POPL 2014, algorithm 1) on an explicit stack: source
// sets decide what to explore, sleep sets cut off what was explored elsewhere.
// The latter may end executions before they are complete (Redundant).
//
// Own time per transition is proportional to the number of goroutines; an
// execution costs its new transitions, and a comparison of its prefix.
func DPOR() Search {
	return &dpor{trace: newTrace()}
}

// dpor is the search. trace, path and nodes run in parallel: element i is the
// transition executed at node i, its action, and the state before it. Between
// Next and Report, path is longer than trace: it goes on with a sequence that was
// to do at the last node.
type dpor struct {
	tally
	trace *trace
	path  []Action
	nodes []node
	begun bool
	sizes subtrees

	chosen   sequence  // what path goes on with at the last node; nil at the very first execution
	settled  bool      // it has been decided what to execute next, or it is being executed
	restored *restored // what the next execution has to show after a resume; else nil

	// Slabs that the nodes point into, one after the other.
	sleep    []Sleeper
	awakened []awakened
}

// node is a state on the path. Its backtrack set (POPL 2014) is the action on
// the path, those explored before, and the first of each sequence to do.
type node struct {
	todo []sequence // to be explored from here, in this order
	// The sleep set: the part of the slab from sleepBegin to sleepEnd. What was
	// inherited comes first, then what was explored from here.
	sleepBegin, sleepEnd int
	inherited            int // how many of these
	// Those woken on the path that still count: a part of the slab awakened.
	awakenedBegin, awakenedEnd int
}

func (d *dpor) Next() (Schedule, bool) {
	d.ask()
	if !d.choose() {
		return d.end()
	}
	if len(d.nodes) == 0 {
		return Schedule{}, true
	}
	top := len(d.nodes) - 1
	return Schedule{Prefix: d.path, Sleep: d.sleepOf(&d.nodes[top]), SleepFrom: top}, true
}

// choose decides what to execute next, unless that is settled, and reports whether there
// is anything.
func (d *dpor) choose() bool {
	if d.settled || !d.begun {
		d.begun, d.settled = true, true
		return true
	}
	for top := len(d.nodes) - 1; top >= 0; top-- {
		n := &d.nodes[top]
		if len(n.todo) == 0 {
			continue
		}
		d.putToSleep(top)
		d.trace.truncate(top)
		d.nodes, d.path = d.nodes[:top+1], d.path[:top]
		d.sizes.turn(top, d.counts.Executions)
		d.chosen = n.todo[0]
		for _, s := range d.chosen {
			d.path = append(d.path, s.Action)
		}
		n.todo = slices.Delete(n.todo, 0, 1)
		d.settled = true
		return true
	}
	return false
}

// putToSleep adds the explored action at node i to the sleep set there.
func (d *dpor) putToSleep(i int) {
	n, e := &d.nodes[i], int32(i)
	d.sleep = append(d.sleep[:n.sleepEnd], Sleeper{
		Action:   d.path[i],
		Accesses: accumulate(slices.Clone(d.trace.accessesOf(e))),
	})
	n.sleepEnd++
}

func (d *dpor) sleepOf(n *node) []Sleeper {
	return d.sleep[n.sleepBegin:n.sleepEnd]
}

func (d *dpor) Report(e Execution) error {
	if err := d.take(e); err != nil {
		return err
	}
	if err := checkActions(d.path, e.Transitions); err != nil {
		return err
	}
	if err := d.checkReplay(e.Transitions); err != nil {
		return err
	}
	d.settled = false
	from := len(d.trace.events)
	for i := from; i < len(e.Transitions); i++ {
		if err := d.extend(i, &e.Transitions[i]); err != nil {
			return err
		}
	}
	if e.Outcome == Redundant && len(d.appendInherited(nil)) == 0 {
		return logError(len(e.Transitions), "the execution ended as redundant, but nothing is asleep")
	}
	for i := range e.Pending {
		if err := d.raceWithPending(&e.Pending[i], e.Outcome); err != nil {
			return err
		}
	}
	d.reverseDeficits(from)
	if e.Outcome != Redundant {
		d.goOnWithout(e.Pending)
	}
	return nil
}

// checkReplay compares an execution with the one that it has its beginning in common with.
func (d *dpor) checkReplay(transitions []Transition) error {
	if d.restored != nil {
		return d.rebuild(transitions)
	}
	for i := range d.trace.events {
		if err := d.trace.checkReplay(int32(i), &transitions[i]); err != nil {
			return err
		}
	}
	return nil
}

// extend takes transition i, executed for the first time on this path.
func (d *dpor) extend(i int, x *Transition) error {
	if i == len(d.nodes) {
		d.addNode(i)
	}
	if i == len(d.path) {
		d.path = append(d.path, x.Action)
	}
	n := &d.nodes[i]
	if d.asleep(n, x.Action) {
		return logError(i, "%s was executed although it is asleep", x.Action)
	}
	races, err := d.trace.push(x)
	if err != nil {
		return err
	}
	d.addAlternatives(n, x)
	if err := d.reverse(races, x.Goroutine); err != nil {
		return err
	}
	for p := range x.Partners {
		races, err := d.trace.pendingRaces(&x.Partners[p], true)
		if err != nil {
			return err
		}
		if err := d.reverse(races, x.Partners[p].Goroutine); err != nil {
			return err
		}
	}
	d.reverseAwakened(int32(i))
	return nil
}

// addNode puts the state after the last event, the new node i, on the stack.
func (d *dpor) addNode(i int) {
	d.nodes = extend(d.nodes)
	n := &d.nodes[i]
	*n = node{todo: n.todo[:0]}
	if i > 0 {
		n.sleepBegin = d.nodes[i-1].sleepEnd
		n.awakenedBegin = d.nodes[i-1].awakenedEnd
	}
	d.sleep = d.appendInherited(d.sleep[:n.sleepBegin])
	d.awakened = d.appendAwakened(d.awakened[:n.awakenedBegin])
	n.sleepEnd, n.awakenedEnd = len(d.sleep), len(d.awakened)
	n.inherited = n.sleepEnd - n.sleepBegin
}

// addAlternatives puts the other alternatives of the operation of x in front of
// what is to do: they exclude each other. So, once anything else is executed at the
// node, either all alternatives of a goroutine are asleep or none.
func (d *dpor) addAlternatives(n *node, x *Transition) {
	for choice := x.Choices - 1; choice >= 0; choice-- {
		a := Action{x.Goroutine, choice}
		if a != x.Action && !d.asleep(n, a) && !slices.ContainsFunc(n.todo, func(s sequence) bool { return s[0].Action == a }) {
			n.todo = slices.Insert(n.todo, 0, sequence{{Action: a}})
		}
	}
}

// appendInherited appends the sleep set after the last event: of the sleepers
// before it, those that do not depend on it.
func (d *dpor) appendInherited(sleep []Sleeper) []Sleeper {
	last := len(d.trace.events) - 1
	if last < 0 {
		return sleep
	}
	for _, s := range d.sleepOf(&d.nodes[last]) {
		if s.Goroutine != d.path[last].Goroutine && !s.Wakes(d.trace.accessesOf(int32(last))) {
			sleep = append(sleep, s)
		}
	}
	return sleep
}

func (d *dpor) asleep(n *node, a Action) bool {
	return slices.ContainsFunc(d.sleepOf(n), func(s Sleeper) bool { return s.Action == a })
}

// raceWithPending takes an operation that was pending at the end as the end of
// races: a blocked Lock would have succeeded before the Lock that holds the mutex.
// When everything enabled was asleep, that is explored elsewhere.
func (d *dpor) raceWithPending(p *Pending, outcome Outcome) error {
	if p.Enabled && outcome == Redundant {
		return nil
	}
	races, err := d.trace.pendingRaces(p, false)
	if err != nil {
		return err
	}
	return d.reverse(races, p.Goroutine)
}

// goOnWithout sees to it that what the last transition cut off by ending the
// execution (panic, exit, step limit) is explored without it: instead of it, one of the others
// that were enabled goes on. One suffices, as everywhere; if it ends the program
// too, the next one follows, and which ones else are needed, races will tell.
func (d *dpor) goOnWithout(pending []Pending) {
	last := len(d.trace.events) - 1
	if last < 0 {
		return
	}
	n := &d.nodes[last]
	if len(n.todo) > 0 {
		return
	}
	for i := range pending {
		p := &pending[i]
		if p.Enabled && d.trace.wasEnabled(p, int32(last)) && d.insert(d.instead(int32(last), p.Goroutine)) {
			return
		}
	}
}

func (d *dpor) Verdict() Verdict {
	v := d.verdict("")
	v.Estimate = d.sizes.estimate(len(d.nodes), d.counts.Executions, func(i int) int { return len(d.nodes[i].todo) })
	return v
}
