// Package course puts the events of several nodes, each of which has made its own in some order,
// into an order that is possible for all of them together.
package course

import (
	"cmp"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/exclusive"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// To run all nodes together, their events have to be in one order. Each node has an execution that
// makes its events in an order that is possible for it alone. What is independent there is put into
// an order that suits all of them: the transitions of the node are then run in another order, which
// the search takes for the same execution.

// Course is an execution of a node that is to be run together with others.
type Course struct {
	Made    []skeleton.Event
	Actions []*model.Action // of the transitions; nil: it is none of a schedule
	Before  [][]int         // transitions that each one comes after
	Events  [][]int         // of each transition
}

// A course that was run in another order is the same execution for the search, so it has the same
// outcome, and makes the same events. That the log says so is found out where all nodes are run: a
// node that then does something else has parted, and the violation is not recorded.

// Short is one of events alone, of which it is only known what is before each.
func Short(l skeleton.Local) *Course {
	before := func(e *skeleton.Event) (n int) {
		for _, p := range e.Past {
			n += p.N
		}
		return n
	}
	// What has more before it comes later. Nothing has more before it than what comes after it.
	k := &Course{Made: slices.SortedStableFunc(slices.Values(l.Events), func(a, b skeleton.Event) int {
		return cmp.Compare(before(&a), before(&b))
	})}
	for i := range k.Made {
		var earlier []int
		for j := range i {
			if skeleton.Precedes(&k.Made[j], &k.Made[i]) {
				earlier = append(earlier, j)
			}
		}
		k.Add(nil, earlier, []int{i})
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

// Add adds a transition at the end: the action that takes it, which ones it comes after, and its
// events in Made.
func (k *Course) Add(action *model.Action, before, events []int) {
	k.Actions, k.Before, k.Events = append(k.Actions, action), append(k.Before, before),
		append(k.Events, events)
}

// Choices is the schedule.
func (k *Course) Choices() (list []model.Action) {
	for _, a := range k.Actions {
		if a != nil {
			list = append(list, *a)
		}
	}
	return list
}

// Together puts the transitions of courses into an order in which all of them can be run together:
// what a node receives has been sent before. Each node does as it has done as far as that is
// possible. It says whether there is such an order. Nodes whose events are in one order keep that.
//
// If it can be, what others find is closed after they have found it. A transition may do more than
// its events say, so that is not known.
func Together(net *network.Nodes, g skeleton.Global, courses []*Course) bool {
	return together(courses, earlier(net, g)) || together(courses, datagram.Earlier(net, g)) ||
		together(courses, nil)
}

// earlier has what comes before some events, although no skeleton says so.
func earlier(net *network.Nodes, g skeleton.Global) map[skeleton.Name][]skeleton.Name {
	all := datagram.Earlier(net, g)
	for later, name := range exclusive.Later(net, g) {
		all[later] = append(all[later], name)
	}
	return all
}

// together is Together, with what comes before some events besides.
func together(courses []*Course, earlier map[skeleton.Name][]skeleton.Name) bool {
	// Each goes on as it was run, as far as all that it receives has been sent. Where nobody can,
	// one transition is run that does not depend on those which wait. If there is none, the nodes
	// wait for each other in a circle, and an order is not possible.
	runs := make([]*running, len(courses))
	sent := map[skeleton.Name]bool{}
	// A node that is ordered makes its events one after the other, whatever its transitions are. So
	// its course has none of these here.
	for c, k := range courses {
		if k.Before == nil { // it has that of its events
			k = &Course{Made: k.Made}
			for i := range k.Made {
				k.Add(nil, upTo(i), []int{i})
			}
		}
		runs[c] = &running{Course: k, sent: sent, earlier: earlier, done: make([]bool, len(k.Actions))}
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
	if slices.ContainsFunc(runs, func(r *running) bool { return len(r.order) < len(r.done) }) {
		return false
	}
	for c, r := range runs {
		if courses[c].Before != nil {
			*courses[c] = *r.Course.in(r.order)
		}
	}
	return true
}

// running is a course on the way through it. Its transitions are run as soon as they can be, so the
// order is that in which the node was run, but for those that have to wait for what others send.
type running struct {
	*Course
	sent    map[skeleton.Name]bool // by all
	earlier map[skeleton.Name][]skeleton.Name
	done    []bool
	head    int // all before it are done
	order   []int
}

// run has a transition be run, if it can be now, and says whether it was.
func (r *running) run(i int) bool {
	if r.done[i] || slices.ContainsFunc(r.Before[i], func(k int) bool { return !r.done[k] }) {
		return false
	}
	for _, e := range r.Events[i] {
		from := r.Made[e].From
		if from.N > 0 && !r.sent[from] || slices.ContainsFunc(r.earlier[r.Made[e].Name],
			func(n skeleton.Name) bool { return !r.sent[n] }) {
			return false
		}
	}
	for _, e := range r.Events[i] {
		r.sent[r.Made[e].Name] = true
	}
	r.done[i], r.order = true, append(r.order, i)
	return true
}

// in is the course with its transitions in another order. That order is final: what comes after
// what in the course is not asked for again, so it is left out.
func (k *Course) in(order []int) *Course {
	next := &Course{Before: [][]int{}}
	for _, i := range order {
		next.Actions = append(next.Actions, k.Actions[i])
		for _, e := range k.Events[i] {
			next.Made = append(next.Made, k.Made[e])
		}
	}
	return next
}

// Chained is a skeleton in which the events of each node are in one order: that in which its course
// makes them.
func Chained(g skeleton.Global, courses []*Course) skeleton.Global {
	names := map[skeleton.Name]skeleton.Name{}
	next := make(skeleton.Global, len(g))
	for c := range g {
		next[c] = skeleton.Local{Ended: g[c].Ended, Waits: g[c].Waits}
		there := map[skeleton.Name]bool{}
		for i := range g[c].Events {
			there[g[c].Events[i].Name] = true
		}
		for _, e := range courses[c].Made {
			if !there[e.Name] {
				continue // it does more than is needed
			}
			as := network.InOrder(e, c, len(next[c].Events)+1)
			names[e.Name] = as.Name
			next[c].Events = append(next[c].Events, as)
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

// InOneOrder is a skeleton with the events of each node in an order that is possible.
func InOneOrder(net *network.Nodes, g skeleton.Global) skeleton.Global {
	courses := make([]*Course, len(g))
	for c := range g {
		courses[c] = Short(g[c])
	}
	Together(net, g, courses)
	return Chained(g, courses)
}

// Place is an event of a global skeleton: the node, and the place in its list. A file has events in
// the order of these, so the lanes of a report and the turns of a replay are the same.
type Place struct{ Node, At int }

// Order puts the events of all nodes into an order that is possible: a node goes on until it takes
// what was not sent yet, or closes a socket or listener that others find there before. So there are
// few switches from lane to lane. Advances of the clock, of all nodes that are still there, are one
// after the other.
func Order(net *network.Nodes, g skeleton.Global) (list []Place) {
	at := make([]int, len(g))
	earlier := earlier(net, g)
	for progress := true; progress; {
		progress = false
		ticks, isEarly := false, false
		for c := range g {
			for ; at[c] < len(g[c].Events); at[c]++ {
				e := &g[c].Events[at[c]]
				if e.From.N > at[e.From.Component] && e.From.N > 0 {
					break
				}
				if slices.ContainsFunc(earlier[e.Name], func(n skeleton.Name) bool {
					return n.N > at[n.Component]
				}) {
					isEarly = true
					break
				}
				if e.Tick > 0 {
					ticks = true
					break
				}
				list = append(list, Place{c, at[c]})
				progress = true
			}
		}
		if !progress && isEarly { // nodes in a partial order may have been put into another one
			earlier, progress = nil, true
		}
		if progress || !ticks {
			continue
		}
		progress = true
		for c := range g {
			if at[c] < len(g[c].Events) && g[c].Events[at[c]].Tick > 0 {
				list = append(list, Place{c, at[c]})
				at[c]++
			}
		}
	}
	return list
}

// ChoicesOf is the schedule that an execution followed. The clock advances by itself.
func ChoicesOf(events []sut.Event) (list []model.Action) {
	for i := range events {
		if e := &events[i]; e.Kind == sut.Stepped {
			list = append(list, e.Action())
		}
	}
	return list
}

// Of is the course of an execution of a node that is not ordered, whose events come of inputs.
func Of(made []skeleton.Event, inputs []int, c *pasts.Causality) *Course {
	k := &Course{Made: made}
	by := map[int][]int{}
	for i, input := range inputs {
		by[input] = append(by[input], i)
	}
	// Time passes, and the program ends, where nothing else can happen. So all that comes before
	// that stays before it, and all that comes after it stays after it.
	barrier := -1
	for i := range c.Transitions {
		t := &c.Transitions[i]
		before := slices.Clone(c.Before[i])
		if barrier >= 0 {
			before = append(before, barrier)
		}
		var action *model.Action
		if t.Stepped {
			action = &model.Action{Goroutine: model.GoroutineID(t.Goroutine), Choice: t.Choice}
		}
		if t.Asks || t.Barrier {
			before, barrier = upTo(i), i
		}
		var events []int
		for _, input := range t.Exchanges {
			events = append(events, by[input]...)
		}
		k.Add(action, before, events)
	}
	// What the end of the node does is no transition of the program. It comes after all of them.
	if len(by[pasts.AtEnd]) > 0 {
		k.Add(nil, upTo(len(k.Actions)), by[pasts.AtEnd])
	}
	return k
}

// Who waits for others to connect, or to send datagrams, has done all that it can do by itself.

// IsServer says whether a node is a server that waits for others. That counts as an end, but its
// process is still there, and so are its connections. If main has returned, the process is gone,
// whoever waits.
func IsServer(log *sut.Log) bool {
	accepts, exits := false, false
	for i := range log.Events {
		e := &log.Events[i]
		accepts = accepts || e.Kind == sut.Pending && (e.Operation == sut.Accept ||
			e.Operation == sut.SocketRead) // it waits for datagrams
		exits = exits || e.Kind == sut.Stepped && e.Operation == sut.Exit
	}
	return log.Outcome == sut.Completed && accepts && !exits
}
