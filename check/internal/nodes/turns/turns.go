// Package turns makes an execution of all nodes of which only the beginning is known: nodes go on
// in turns, and then the clock advances.
package turns

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// maxTicks is how often the clock advances in an execution. Beyond that the verdict is unknown.
const maxTicks = 100

// Extend runs a node until it has made some events, and then as far as it comes with what arrives.
// Found says that it can make these events.
type Extend func(node int, script []skeleton.Event, arrivals []skeleton.Arrival) (
	local skeleton.Local, found bool, err error)

// turns is an execution of all nodes that is being made.
type turns struct {
	net     *network.Nodes
	extend  Extend
	g       skeleton.Global
	held    []bool // nodes that make no more events
	offered []int  // 1 and what a node was offered when it ran last
	// waited has what each node has waited for when the clock advanced, by how often it had then.
	waited []map[int]skeleton.Label
	limit  string
}

// Complete runs nodes in turns, each as far as it comes with what has arrived, until nobody goes
// on. Then the clock advances to the first timer that is due, and so on. It returns nil if no
// execution begins with the prefix. Limit says which bound has ended it; empty: none has.
//
// A node that has ended in the prefix makes no more events until the clock advances. Should it have
// to take something that the others send now, its exploration has no execution with that skeleton,
// and finds the branch that takes it (package skeleton). With that, the clock cannot advance: what
// was done until then is the result.
func Complete(net *network.Nodes, prefix skeleton.Global, extend Extend) (g skeleton.Global, limit string,
	err error) {
	prefix = network.WithResets(net, prefix)
	t := turns{net: net, extend: extend, g: slices.Clone(prefix), held: make([]bool, len(prefix)),
		offered: make([]int, len(prefix))}
	for c := range prefix {
		t.held[c] = prefix[c].Ended
		t.waited = append(t.waited, map[int]skeleton.Label{})
		for i := range prefix[c].Events {
			t.waited[c][prefix[c].Events[i].Tick] = prefix[c].Events[i].Waited
		}
	}
	for more := true; more; {
		possible, err := t.take()
		if err != nil || !possible {
			return nil, t.limit, err
		}
		if more, err = t.advance(); err != nil {
			return nil, t.limit, err
		}
	}
	for c := range t.g {
		t.g[c].Ended = true
		t.g[c].Events = slices.Clone(t.g[c].Events) // others may look at those of the prefix
		for i := range t.g[c].Events {
			// They are as the node has made them.
			if e := &t.g[c].Events[i]; e.Tick > 0 {
				e.Waited = t.waited[c][e.Tick]
			}
		}
	}
	return t.g, t.limit, nil
}

// take has the nodes go on in turns until none of them does, and says whether that is possible.
func (t *turns) take() (bool, error) {
	of := t.g.EachArrivals()
	for progress := true; progress; {
		progress = false
		for c := range t.g {
			if t.held[c] {
				continue
			}
			arrivals := of(c)
			if t.offered[c] == network.Offers(arrivals) {
				continue
			}
			local, found, err := t.extend(c, t.g[c].Events, arrivals)
			if err != nil || !found {
				return false, err
			}
			t.offered[c], progress = network.Offers(arrivals), true
			t.g[c] = local
			of = t.g.EachArrivals()
		}
	}
	return true, nil
}

// advance has the clock advance, and says whether it has. A node may not be able to wait as the
// prefix says. Then it does not.
func (t *turns) advance() (bool, error) {
	next := network.Tick(t.g, t.net)
	if next == nil {
		return false, nil
	}
	for c := range t.g {
		if network.Ticks(t.g[c].Events) >= maxTicks {
			t.limit = fmt.Sprintf("the clock has advanced %d times in an execution, and nodes still "+
				"wait for timers", maxTicks)
			return false, nil
		}
	}
	// What a node does after that is known to it alone until all have taken part: if one of them
	// cannot, none has.
	after, offered, of := slices.Clone(next), slices.Clone(t.offered), next.EachArrivals()
	for c := range next {
		if t.g[c].Waits == nil {
			continue // it is gone
		}
		arrivals := of(c)
		local, found, err := t.extend(c, next[c].Events, arrivals)
		if err != nil || !found {
			return false, err
		}
		after[c], offered[c] = local, network.Offers(arrivals)
	}
	for c := range t.g {
		t.waited[c][1+network.Ticks(t.g[c].Events)] = t.g[c].Waits
		t.held[c] = t.g[c].Waits == nil
	}
	t.g, t.offered = after, offered
	return true, nil
}

// IsGiven says whether a script is what a prefix says of a node, and not what has become of that.
func IsGiven(net *network.Nodes, prefix skeleton.Global, node int, script []skeleton.Event) bool {
	was := network.WithResets(net, prefix)
	for c := range prefix {
		if len(was[c].Events) < len(prefix[c].Events) {
			return false
		}
	}
	return slices.EqualFunc(script, prefix[node].Events,
		func(a, b skeleton.Event) bool { return a.Equal(&b) })
}
