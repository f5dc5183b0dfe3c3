// Package agreed judges what nodes publish: all values of a name on which they are to agree are the
// same, whoever publishes them and whenever. So what has been decided stays decided, also after a
// crash. Two values need not be there at the same time, so any execution that has both will do.
package agreed

import (
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/nodes/cuts"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Said is what nodes have published so far in an execution. One goroutine uses it at a time.
type Said struct {
	names published.Names
	first map[string]skeleton.Event // by name
}

// New is that of an execution which has not begun.
func New(names published.Names) *Said { return &Said{names, map[string]skeleton.Event{}} }

// Judge notes what a node publishes. Event has its name and its label. If somebody has published
// another value before, the label says so, and the event takes that one: so it comes after it.
func (s *Said) Judge(net *network.Nodes, event *skeleton.Event) {
	d := network.Did(event)
	if !s.names.Has(d.Address) {
		return
	}
	if first, known := s.first[d.Address]; !known {
		s.first[d.Address] = *event
	} else if network.Did(&first).Sent != d.Sent {
		published.Object(net, event, &first, differs(net, &first, event))
	}
}

// differs says what is wrong with an event that publishes another value than an earlier one.
func differs(net *network.Nodes, first, event *skeleton.Event) string {
	name, who := network.Did(event).Address, net.Names[event.Component]
	was, is := published.Shown(net.Data[network.Did(first)]), published.Shown(net.Data[network.Did(event)])
	if event.Component == first.Component {
		return fmt.Sprintf("node %s disagrees with itself on %s: it says %s, and then %s", who, name, was, is)
	}
	return fmt.Sprintf("nodes disagree on %s: %s says %s, %s says %s", name, net.Names[first.Component],
		was, who, is)
}

// In an execution at random, each event is judged when it happens (Said). In a skeleton there is no
// order of all events, and nothing was judged when the nodes were run. So it is judged as a whole.

// Find looks for two values of one name in what all nodes have done; nil: there are none. What is
// before one of the two events, or both, is a part of an execution. There the node that publishes
// the second one is wrong, and ends, and others find that out.
func Find(net *network.Nodes, s *cuts.Skeleton, g skeleton.Global, names published.Names) *published.Wrong {
	known := map[string]*skeleton.Event{}
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			d := network.Did(e)
			if d.Kind != model.Publish || d.End || !names.Has(d.Address) {
				continue
			}
			first := known[d.Address]
			switch {
			case first == nil:
				known[d.Address] = e
			case network.Did(first).Sent != d.Sent:
				first, second := s.InOrder(first, e)
				what := differs(net, first, second)
				part := s.Part(first, second, func(e *skeleton.Event) {
					published.Object(net, e, first, what)
				})
				return &published.Wrong{Part: part, Node: second.Component, What: what, Key: what}
			}
		}
	}
	return nil
}
