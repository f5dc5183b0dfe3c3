package nodes

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// courseOf is the course of an execution that a node has run, of which these are the log and how
// much could arrive.
func courseOf(n *track, log []sut.Event, arrivals int) *course.Course {
	c := n.analyse(log, arrivals)
	if n.ordered {
		k := &course.Course{Made: n.made}
		for _, a := range course.ChoicesOf(log) {
			k.Actions = append(k.Actions, &a)
		}
		return k
	}
	k := &course.Course{Made: n.made}
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
		if t.Stepped {
			action = &model.Action{Goroutine: model.GoroutineID(t.Goroutine), Choice: t.Choice}
		}
		if t.Asks || t.Barrier {
			before, barrier = course.UpTo(i), i
		}
		var events []int
		for _, input := range t.Exchanges {
			events = append(events, by[input]...)
		}
		k.Add(action, before, events)
	}
	// What the end of the node does is no transition of the program. It comes after all of them.
	if len(by[atEnd]) > 0 {
		k.Add(nil, course.UpTo(len(k.Actions)), by[atEnd])
	}
	return k
}
