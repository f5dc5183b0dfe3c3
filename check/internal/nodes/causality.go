package nodes

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// What the program itself orders is in the log of an execution: a transition comes after those of
// its goroutine, after what has started or woken that, and after those that have accessed the same
// before, unless both only read it or add to it. That is what the search takes for dependent, but
// for what the environment adds to it (touches): what arrives, and when, is no event.
// So what is before an event is the same in every execution that the search takes for the same,
// and against whatever else the node is explored.

// An execution stands for all that only differ in the order of what is independent. Where it leaves
// the script in several places, each is found, since nobody runs those others. Suppose that an
// execution of the system makes some events of the script, P, and then one event more. Then the
// node has an execution that makes P before anything else that can be noticed, and then that event.
// The search runs one that is the same for it. There, no event of P comes of one that is not the
// script's, so all of P is among causality.follows, and the event among the departures. The branch
// has both.
//
// Two kinds of dependence are needed for that. What is in the Past of an event is by the program
// alone, or it would be another one against another script. What comes of a departure is by all
// that the search knows: what has arrived because of it must not be taken for something that was
// there.

// causality is what is before what in an execution.
type causality struct {
	transitions []pasts.Transition
	before      [][]int // of each transition, what it comes right after
	// departures are events that are not the script's, and come of nothing that is not, by their
	// index. follows are those that are, and come of nothing that is not.
	departures []int
	follows    []bool
	print      uint64 // the same for executions that differ in the order of independent transitions
}

// analyse finds out which events the node has made that are not the script's, in an execution in
// which so much could arrive.
func (n *track) analyse(events []sut.Event, arrivals int) *causality {
	c := &causality{follows: make([]bool, len(n.made))}
	if n.ordered {
		for i := range n.made {
			c.follows[i] = (n.deviation < 0 || i < n.deviation) && i < len(n.script)
		}
		if n.deviation >= 0 {
			c.departures = []int{n.deviation}
		}
		return c
	}
	// Where a node follows a file, events are compared without their Past, so it is not known yet.
	if n.pasts == nil {
		pasts.All(n.made, n.inputs, events, arrivals)
	}
	c.transitions = pasts.Transitions(events, arrivals)
	made := map[int][]int{} // by input
	for i, input := range n.inputs {
		made[input] = append(made[input], i)
	}
	// own is by the program alone, and all with what the environment has added.
	own, all := dependence.New(), dependence.New()
	prints := make([]uint64, len(c.transitions))
	astray := make([]bool, len(c.transitions))
	for i := range c.transitions {
		t := &c.transitions[i]
		// An advance of the common clock is after all that was before. What opens connections is in
		// one order, since these are numbered.
		advances, accesses := t.Barrier, t.Accesses
		for _, input := range t.Exchanges {
			for _, k := range made[input] {
				advances = advances || n.made[k].Tick > 0
				if n.made[k].Stream == network.Doors {
					accesses = append(accesses, model.Access{Object: dependence.Doors, Kind: model.Write})
				}
			}
		}
		for _, k := range all.Add(i, t.Step, t.Barrier || t.Asks, t.All) {
			astray[i] = astray[i] || astray[k]
		}
		if t.Asks && !advances {
			c.before = append(c.before, nil)
			continue // the environment alone does something
		}
		// The hash of a transition is of what it is, and of the hashes of those that it comes right
		// after. So the sum of all is the same in every order that has the same dependences.
		before := own.Add(i, t.Step, advances, accesses)
		c.before = append(c.before, before)
		print := dependence.Mix(t.Goroutine ^ dependence.Mix(uint64(t.Choice)))
		for _, k := range before {
			print += dependence.Mix(prints[k])
		}
		prints[i] = dependence.Mix(print)
		c.print += dependence.Mix(prints[i])
		for _, input := range t.Exchanges {
			for _, k := range made[input] {
				n.judge(c, k, &astray[i])
			}
		}
	}
	// The end of the node comes after all else. A node whose process is gone cannot do more.
	lost := len(c.departures) > 0
	for _, k := range made[atEnd] {
		n.judge(c, k, &lost)
	}
	return c
}

// judge notes whether an event is that of the script. astray says whether its transition comes of
// an event that is not, and is set if it does from here on.
func (n *track) judge(c *causality, k int, astray *bool) {
	e := &n.made[k]
	at, known := n.places[e.Name]
	// Equal includes the Past: the same event in another order is a departure, too.
	switch {
	case known && e.Equal(&n.script[at]):
		c.follows[k] = !*astray
	case !known && n.goesOn:
	case !*astray:
		c.departures = append(c.departures, k)
		*astray = true
	}
}

// hasDone says whether the node has done all that the script says.
func (n *track) hasDone(c *causality) bool {
	done := 0
	for _, follows := range c.follows {
		if follows {
			done++
		}
	}
	return done == len(n.script)
}

// followed lists what the node has done as the script says, and not after events of its own. All of
// that can be before any of those.
func (n *track) followed(c *causality) (list []skeleton.Event) {
	for i := range n.made {
		if c.follows[i] {
			list = append(list, n.made[i])
		}
	}
	return list
}
