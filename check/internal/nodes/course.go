package nodes

import (
	"cmp"
	"slices"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// To run all nodes together, their events have to be in one order. Each node has an execution that
// makes its events in an order that is possible for it alone. What is independent there is put into
// an order that suits all of them: the transitions of the node are then run in another order, which
// the search takes for the same execution.

// course is an execution of a node that is to be run together with others.
type course struct {
	made    []skeleton.Event
	actions []*model.Action // of the transitions; nil: it is none of a schedule
	before  [][]int         // transitions that each one comes after
	events  [][]int         // of each transition
}

// courseOf is the course of an execution that a node has run, of which these are the log and how
// much could arrive.
func courseOf(n *track, log []sut.Event, arrivals int) *course {
	c := n.analyse(log, arrivals)
	if n.ordered {
		k := &course{made: n.made}
		for _, a := range choicesOf(log) {
			k.actions = append(k.actions, &a)
		}
		return k
	}
	k := &course{made: n.made}
	by := map[int][]int{}
	for i, input := range n.inputs {
		by[input] = append(by[input], i)
	}
	// Time passes, and the program ends, where nothing else can happen. So all that comes before
	// that stays before it, and all that comes after it stays after it.
	barrier := -1
	for i := range c.transitions {
		t := &c.transitions[i]
		before := slices.Clone(c.before[i])
		if barrier >= 0 {
			before = append(before, barrier)
		}
		var action *model.Action
		if t.stepped {
			action = &model.Action{Goroutine: model.GoroutineID(t.goroutine), Choice: t.choice}
		}
		if t.asks || t.barrier {
			before, barrier = upTo(i), i
		}
		var events []int
		for _, input := range t.exchanges {
			events = append(events, by[input]...)
		}
		k.add(action, before, events)
	}
	// What the end of the node does is no transition of the program. It comes after all of them.
	if len(by[atEnd]) > 0 {
		k.add(nil, upTo(len(k.actions)), by[atEnd])
	}
	return k
}

// A course that was run in another order is the same execution for the search, so it has the same
// outcome, and makes the same events. That the log says so is found out where all nodes are run: a
// node that then does something else has parted, and the violation is not recorded.

// shortCourse is one of events alone, of which it is only known what is before each.
func shortCourse(l skeleton.Local) *course {
	before := func(e *skeleton.Event) (n int) {
		for _, p := range e.Past {
			n += p.N
		}
		return n
	}
	// What has more before it comes later. Nothing has more before it than what comes after it.
	k := &course{made: slices.SortedStableFunc(slices.Values(l.Events), func(a, b skeleton.Event) int {
		return cmp.Compare(before(&a), before(&b))
	})}
	for i := range k.made {
		var earlier []int
		for j := range i {
			if precedes(&k.made[j], &k.made[i]) {
				earlier = append(earlier, j)
			}
		}
		k.add(nil, earlier, []int{i})
	}
	return k
}

// upTo lists the numbers below another one.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func (k *course) add(action *model.Action, before, events []int) {
	k.actions, k.before, k.events = append(k.actions, action), append(k.before, before),
		append(k.events, events)
}

// choices is the schedule.
func (k *course) choices() (list []model.Action) {
	for _, a := range k.actions {
		if a != nil {
			list = append(list, *a)
		}
	}
	return list
}

// together puts the transitions of courses into an order in which all of them can be run together:
// what a node receives has been sent before. Each node does as it has done as far as that is
// possible. It says whether there is such an order. Nodes whose events are in one order keep that.
func together(courses []*course) bool {
	// Each goes on as it was run, as far as all that it receives has been sent. Where nobody can,
	// one transition is run that does not depend on those which wait. If there is none, the nodes
	// wait for each other in a circle, and an order is not possible.
	runs := make([]*running, len(courses))
	sent := map[skeleton.Name]bool{}
	// A node that is ordered makes its events one after the other, whatever its transitions are. So
	// its course has none of these here.
	for c, k := range courses {
		if k.before == nil { // it has that of its events
			k = &course{made: k.made}
			for i := range k.made {
				k.add(nil, upTo(i), []int{i})
			}
		}
		runs[c] = &running{course: k, sent: sent, done: make([]bool, len(k.actions))}
	}
	for progress := true; progress; {
		progress = false
		for _, r := range runs {
			for r.head < len(r.done) && (r.done[r.head] || r.run(r.head)) {
				r.head++
				progress = true
			}
		}
		for i := 0; i < len(runs) && !progress; i++ {
			for k := runs[i].head; k < len(runs[i].done) && !progress; k++ {
				progress = runs[i].run(k)
			}
		}
	}
	for c, r := range runs {
		if len(r.order) < len(r.done) {
			return false
		}
		if courses[c].before != nil {
			*courses[c] = *r.course.in(r.order)
		}
	}
	return true
}

// running is a course on the way through it.
type running struct {
	*course
	sent  map[skeleton.Name]bool // by all
	done  []bool
	head  int // all before it are done
	order []int
}

// run has a transition be run, if it can be now, and says whether it was.
func (r *running) run(i int) bool {
	if r.done[i] || slices.ContainsFunc(r.before[i], func(k int) bool { return !r.done[k] }) {
		return false
	}
	for _, e := range r.events[i] {
		if from := r.made[e].From; from.N > 0 && !r.sent[from] {
			return false
		}
	}
	for _, e := range r.events[i] {
		r.sent[r.made[e].Name] = true
	}
	r.done[i], r.order = true, append(r.order, i)
	return true
}

// in is the course with its transitions in another order.
func (k *course) in(order []int) *course {
	next := &course{before: [][]int{}}
	for _, i := range order {
		next.actions = append(next.actions, k.actions[i])
		for _, e := range k.events[i] {
			next.made = append(next.made, k.made[e])
		}
	}
	return next
}

// chained is a skeleton in which the events of each node are in one order: that in which its course
// makes them.
func chained(g skeleton.Global, courses []*course) skeleton.Global {
	names := map[skeleton.Name]skeleton.Name{}
	next := make(skeleton.Global, len(g))
	for c := range g {
		next[c] = skeleton.Local{Ended: g[c].Ended, Waits: g[c].Waits}
		there := map[skeleton.Name]bool{}
		for i := range g[c].Events {
			there[g[c].Events[i].Name] = true
		}
		for _, e := range courses[c].made {
			if !there[e.Name] {
				continue // it does more than is needed
			}
			name := skeleton.Name{Component: c, N: len(next[c].Events) + 1}
			names[e.Name] = name
			if e.Name, e.Past = name, nil; name.N > 1 {
				e.Past = []skeleton.Name{{Component: c, N: name.N - 1}}
			}
			next[c].Events = append(next[c].Events, e)
		}
	}
	for c := range next {
		for i := range next[c].Events {
			if e := &next[c].Events[i]; e.From.N > 0 {
				e.From = names[e.From]
			}
		}
	}
	return next
}

// inOneOrder is a skeleton with the events of each node in an order that is possible.
func inOneOrder(g skeleton.Global) skeleton.Global {
	courses := make([]*course, len(g))
	for c := range g {
		courses[c] = shortCourse(g[c])
	}
	together(courses)
	return chained(g, courses)
}

// choicesOf is the schedule that an execution followed. The clock advances by itself.
func choicesOf(events []sut.Event) (list []model.Action) {
	for i := range events {
		if e := &events[i]; e.Kind == sut.Stepped {
			list = append(list, e.Action())
		}
	}
	return list
}
