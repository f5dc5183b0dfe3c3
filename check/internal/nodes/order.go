package nodes

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/sut"
)

// The events of a node are in a partial order: each has its stream, and in its Past what the
// program itself orders before it (package pasts). An environment follows that as far as it is
// known while the node runs. Of a node that is ordered all events are in one stream.

// track is what a node has done of a script. While the node runs, it is only known which event of
// which stream comes next, and what it does. What was before it shows in the log. So an execution
// may be given what arrives after an event that is the script's but for its order. That does no
// harm: what comes of such an event does not count (pasts.Causality).
type track struct {
	node   int
	script []skeleton.Event
	// ordered: all events of the node are in one order.
	ordered bool
	// goesOn: what comes after the script is none the worse.
	goesOn bool
	places map[skeleton.Name]int // of the script's events
	// made is what the node has done so far, and inputs are those that these events come of, as
	// they are counted: input is the present one.
	made   []skeleton.Event
	inputs []int
	input  int
	count  map[string]int // of events, by stream
	// pasts knows what is before an event of a node that is not ordered; nil: it is found out when
	// the execution is over.
	pasts *pasts.Pasts
	// deviation is the index of the first event of made that is not the script's as far as is known
	// while the node runs; -1: there is none. astray has the first one of each stream.
	deviation int
	astray    map[string]int
	// halts: whoever leaves the script goes no further. left says that the present input does.
	halts, left bool
}

func newTrack(node int, script []skeleton.Event, ordered bool) track {
	t := track{node: node, script: script, ordered: ordered, input: -1, deviation: -1,
		places: map[skeleton.Name]int{}, count: map[string]int{}, astray: map[string]int{}}
	for i := range script {
		t.places[script[i].Name] = i
	}
	return t
}

// happened says whether all these events of the script have happened, as far as is known yet.
func (n *track) happened(after []skeleton.Name) bool {
	for _, name := range after {
		astray, isAstray := n.astray[name.Stream]
		if n.count[name.Stream] < name.N || isAstray && astray <= name.N {
			return false
		}
	}
	return true
}

// nextName is the name of an event that the node would make now.
func (n *track) nextName(e *skeleton.Event) skeleton.Name {
	if n.ordered {
		return skeleton.Name{Component: n.node, N: len(n.made) + 1}
	}
	stream := network.StreamOf(network.Did(e))
	return skeleton.Name{Component: n.node, Stream: stream, N: n.count[stream] + 1}
}

// name gives an event of the node its name, and of an ordered one the event before it.
func (n *track) name(e *skeleton.Event) {
	if e.Name = n.nextName(e); n.ordered {
		*e = network.InOrder(*e, n.node, e.N)
	}
	n.count[e.Stream] = e.N
	if n.pasts != nil {
		n.pasts.Place(e)
	}
}

// same says whether an event is that of the script, as far as is known while the node runs.
func (n *track) same(e, script *skeleton.Event) bool {
	if n.ordered || n.pasts != nil {
		return e.Equal(script)
	}
	// The Past of the event is not known yet. What it takes, and what that was, is.
	past := *script
	past.Past = e.Past
	return e.Equal(&past)
}

// isLeft says whether an event of the script is still to happen.
func (n *track) isLeft(e *skeleton.Event) bool { return e.N > n.count[e.Stream] }

// nextTick is the next advance of the clock in the script, if all that it has before has happened,
// and nothing else; nil: it has none now.
func (n *track) nextTick(ticks int) *skeleton.Event {
	if n.deviation >= 0 {
		return nil
	}
	var next *skeleton.Event
	before := 0
	for i := range n.script {
		e := &n.script[i]
		switch {
		case e.Tick == ticks+1:
			next = e
		case e.Tick > ticks:
		case n.ordered && e.N <= len(n.made), !n.ordered && (e.Tick > 0 || network.TicksBefore(e) <= ticks):
			before++
		}
	}
	// All that the script has before the advance has happened, and nothing else.
	if next == nil || before != len(n.made) || n.ordered && next.N != before+1 {
		return nil
	}
	return next
}

// errOrder says that the events of a node have to be in one order.
type errOrder struct{ node int }

func (e errOrder) Error() string { return fmt.Sprintf("node %d has to be in one order", e.node) }

// ordered says of so many nodes that all their events are in one order.
func ordered(nodes int) []bool { return slices.Repeat([]bool{true}, nodes) }

// analyse finds out which events the node has made that are not the script's, in an execution in
// which so much could arrive.
func (n *track) analyse(events []sut.Event, arrivals int) *pasts.Causality {
	if n.ordered {
		c := &pasts.Causality{Follows: make([]bool, len(n.made))}
		for i := range n.made {
			c.Follows[i] = (n.deviation < 0 || i < n.deviation) && i < len(n.script)
		}
		if n.deviation >= 0 {
			c.Departures = []int{n.deviation}
		}
		return c
	}
	// Where a node follows a file, events are compared without their Past, so it is not known yet.
	if n.pasts == nil {
		pasts.All(n.made, n.inputs, events, arrivals)
	}
	s := pasts.Script{Events: n.script, Places: n.places, GoesOn: n.goesOn}
	return s.Compare(n.made, n.inputs, events, arrivals)
}

// hasDone says whether the node has done all that the script says.
func (n *track) hasDone(c *pasts.Causality) bool {
	done := 0
	for _, follows := range c.Follows {
		if follows {
			done++
		}
	}
	return done == len(n.script)
}

// followed lists what the node has done as the script says, and not after events of its own. All of
// that can be before any of those.
func (n *track) followed(c *pasts.Causality) (list []skeleton.Event) {
	for i := range n.made {
		if c.Follows[i] {
			list = append(list, n.made[i])
		}
	}
	return list
}
