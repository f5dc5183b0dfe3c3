package pasts

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// What the program itself orders is in the log of an execution: a transition comes after those of
// its goroutine, after what has started or woken that, and after those that have accessed the same
// before, unless both only read it or add to it. That is what the search takes for dependent, but
// for what the environment adds to it (package touched): what arrives, and when, is no event.
// So what is before an event is the same in every execution that the search takes for the same,
// and against whatever else the node is explored.

// An execution stands for all that only differ in the order of what is independent. Where it leaves
// the script in several places, each is found, since nobody runs those others. Suppose that an
// execution of the system makes some events of the script, P, and then one event more. Then the
// node has an execution that makes P before anything else that can be noticed, and then that event.
// The search runs one that is the same for it. There, no event of P comes of one that is not the
// script's, so all of P is among Causality.Follows, and the event among the Departures. The branch
// has both.
//
// Two kinds of dependence are needed for that. What is in the Past of an event is by the program
// alone, or it would be another one against another script. What comes of a departure is by all
// that the search knows: what has arrived because of it must not be taken for something that was
// there.

// Causality is what is before what in an execution.
type Causality struct {
	Transitions []Transition
	Before      [][]int // of each transition, what it comes right after
	// Departures are events that are not the script's, and come of nothing that is not, by their
	// index. Follows are those that are, and come of nothing that is not.
	Departures []int
	Follows    []bool
	Print      uint64 // the same for executions that differ in the order of independent transitions
}

// AtEnd is, in place of an input, the end of the node.
const AtEnd = -1

// Script is what a node is to do.
type Script struct {
	Events []skeleton.Event
	Places map[skeleton.Name]int // of these
	// GoesOn: what comes after all of it is none the worse.
	GoesOn bool
}

// Compare finds out which events a node has made that are not the script's, in an execution in
// which so much could arrive. Each event comes of an input, by its number, and has its Past.
func (s *Script) Compare(made []skeleton.Event, inputs []int, log []sut.Event, arrivals int) *Causality {
	c := &Causality{Follows: make([]bool, len(made)), Transitions: Transitions(log, arrivals)}
	by := map[int][]int{} // by input
	for i, input := range inputs {
		by[input] = append(by[input], i)
	}
	// own is by the program alone, and all with what the environment has added.
	own, all := dependence.New(), dependence.New()
	prints := make([]uint64, len(c.Transitions))
	astray := make([]bool, len(c.Transitions))
	for i := range c.Transitions {
		t := &c.Transitions[i]
		// An advance of the common clock is after all that was before. What opens connections is in
		// one order, since these are numbered.
		advances, accesses := t.Barrier, t.Accesses
		for _, input := range t.Exchanges {
			for _, k := range by[input] {
				advances = advances || made[k].Tick > 0
				if made[k].Stream == network.Doors {
					accesses = append(accesses, model.Access{Object: dependence.Doors, Kind: model.Write})
				}
			}
		}
		for _, k := range all.Add(i, t.Step, t.Barrier || t.Asks, t.All) {
			astray[i] = astray[i] || astray[k]
		}
		if t.Asks && !advances {
			c.Before = append(c.Before, nil)
			continue // the environment alone does something
		}
		// The hash of a transition is of what it is, and of the hashes of those that it comes right
		// after. So the sum of all is the same in every order that has the same dependences.
		before := own.Add(i, t.Step, advances, accesses)
		c.Before = append(c.Before, before)
		print := dependence.Mix(t.Goroutine ^ dependence.Mix(uint64(t.Choice)))
		for _, k := range before {
			print += dependence.Mix(prints[k])
		}
		prints[i] = dependence.Mix(print)
		c.Print += dependence.Mix(prints[i])
		for _, input := range t.Exchanges {
			for _, k := range by[input] {
				s.judge(c, made, k, &astray[i])
			}
		}
	}
	// The end of the node comes after all else. A node whose process is gone cannot do more.
	lost := len(c.Departures) > 0
	for _, k := range by[AtEnd] {
		s.judge(c, made, k, &lost)
	}
	return c
}

// judge notes whether an event is that of the script. astray says whether its transition comes of
// an event that is not, and is set if it does from here on.
func (s *Script) judge(c *Causality, made []skeleton.Event, k int, astray *bool) {
	e := &made[k]
	at, known := s.Places[e.Name]
	// Equal includes the Past: the same event in another order is a departure, too.
	switch {
	case known && e.Equal(&s.Events[at]):
		c.Follows[k] = !*astray
	case !known && s.GoesOn:
	case !*astray:
		c.Departures = append(c.Departures, k)
		*astray = true
	}
}
