package environment

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/sut"
)

// Track is what a node has done of a script. Its events are in a partial order: each has its
// stream, and in its Past what the program itself orders before it (package pasts). That is
// followed as far as it is known while the node runs. Of a node that is ordered all events are in
// one stream.
//
// While the node runs, it is only known which event of which stream comes next, and what it does.
// What was before it shows in the log. So an execution may be given what arrives after an event
// that is the script's but for its order. That does no harm: what comes of such an event does not
// count (pasts.Causality).
type Track struct {
	Node   int
	Script []skeleton.Event
	// Ordered: all events of the node are in one order.
	Ordered bool
	// GoesOn: what comes after the script is none the worse.
	GoesOn bool
	places map[skeleton.Name]int // of the script's events
	// Made is what the node has done so far, and Inputs are those that these events come of, as
	// they are counted: Input is the present one.
	Made   []skeleton.Event
	Inputs []int
	Input  int
	count  map[string]int // of events, by stream
	// pasts knows what is before an event of a node that is not ordered; nil: it is found out when
	// the execution is over.
	pasts *pasts.Pasts
	// deviation is the index of the first event of Made that is not the script's as far as is known
	// while the node runs; -1: there is none. astray has the first one of each stream.
	deviation int
	astray    map[string]int
	// halts: whoever leaves the script goes no further. left says that the present input does.
	halts, left bool
}

func newTrack(node int, script []skeleton.Event, ordered bool) Track {
	t := Track{Node: node, Script: script, Ordered: ordered, Input: -1, deviation: -1,
		places: map[skeleton.Name]int{}, count: map[string]int{}, astray: map[string]int{}}
	for i := range script {
		t.places[script[i].Name] = i
	}
	return t
}

// HasLeft says whether the node has left the script, as far as is known while it runs.
func (n *Track) HasLeft() bool { return n.deviation >= 0 }

// happened says whether all these events of the script have happened, as far as is known yet.
func (n *Track) happened(after []skeleton.Name) bool {
	for _, name := range after {
		astray, isAstray := n.astray[name.Stream]
		if n.count[name.Stream] < name.N || isAstray && astray <= name.N {
			return false
		}
	}
	return true
}

// nextName is the name of an event that the node would make now.
func (n *Track) nextName(e *skeleton.Event) skeleton.Name {
	if n.Ordered {
		return skeleton.Name{Component: n.Node, N: len(n.Made) + 1}
	}
	stream := network.StreamOf(network.Did(e))
	return skeleton.Name{Component: n.Node, Stream: stream, N: n.count[stream] + 1}
}

// name gives an event of the node its name, and of an ordered one the event before it.
func (n *Track) name(e *skeleton.Event) {
	if e.Name = n.nextName(e); n.Ordered {
		*e = network.InOrder(*e, n.Node, e.N)
	}
	n.count[e.Stream] = e.N
	if n.pasts != nil {
		n.pasts.Place(e)
	}
}

// same says whether an event is that of the script, as far as is known while the node runs.
func (n *Track) same(e, script *skeleton.Event) bool {
	if n.Ordered || n.pasts != nil {
		return e.Equal(script)
	}
	// The Past of the event is not known yet. What it takes, and what that was, is.
	past := *script
	past.Past = e.Past
	return e.Equal(&past)
}

// isLeft says whether an event of the script is still to happen.
func (n *Track) isLeft(e *skeleton.Event) bool { return e.N > n.count[e.Stream] }

// nextTick is the next advance of the clock in the script, if all that it has before has happened,
// and nothing else; nil: it has none now.
func (n *Track) nextTick(ticks int) *skeleton.Event {
	if n.deviation >= 0 {
		return nil
	}
	var next *skeleton.Event
	before := 0
	for i := range n.Script {
		e := &n.Script[i]
		switch {
		case e.Tick == ticks+1:
			next = e
		case e.Tick > ticks:
		case n.Ordered && e.N <= len(n.Made), !n.Ordered && (e.Tick > 0 || network.TicksBefore(e) <= ticks):
			before++
		}
	}
	// All that the script has before the advance has happened, and nothing else.
	if next == nil || before != len(n.Made) || n.Ordered && next.N != before+1 {
		return nil
	}
	return next
}

// Analyse finds out which events the node has made that are not the script's, in an execution in
// which so much could arrive.
func (n *Track) Analyse(events []sut.Event, arrivals int) *pasts.Causality {
	if n.Ordered {
		c := &pasts.Causality{Follows: make([]bool, len(n.Made))}
		for i := range n.Made {
			c.Follows[i] = (n.deviation < 0 || i < n.deviation) && i < len(n.Script)
		}
		if n.deviation >= 0 {
			c.Departures = []int{n.deviation}
		}
		return c
	}
	// Where a node follows a file, events are compared without their Past, so it is not known yet.
	if n.pasts == nil {
		pasts.All(n.Made, n.Inputs, events, arrivals)
	}
	s := pasts.Script{Events: n.Script, Places: n.places, GoesOn: n.GoesOn}
	return s.Compare(n.Made, n.Inputs, events, arrivals)
}

// HasDone says whether the node has done all that the script says.
func (n *Track) HasDone(c *pasts.Causality) bool {
	done := 0
	for _, follows := range c.Follows {
		if follows {
			done++
		}
	}
	return done == len(n.Script)
}

// Followed lists what the node has done as the script says, and not after events of its own. All of
// that can be before any of those.
func (n *Track) Followed(c *pasts.Causality) (list []skeleton.Event) {
	for i := range n.Made {
		if c.Follows[i] {
			list = append(list, n.Made[i])
		}
	}
	return list
}
