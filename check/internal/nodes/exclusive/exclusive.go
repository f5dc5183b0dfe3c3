// Package exclusive judges what nodes publish: a name that one node holds at a time is held by no
// other one meanwhile, such as a lock, or the lead.
//
// A node holds a name from when it publishes a value of it (IsHeld) until it publishes one that
// says otherwise, crashes, or ends. These are intervals of events. Two nodes hold a name at the
// same time if some moment is in an interval of each. A moment of an execution is a consistent cut
// of its skeleton. For [e, f) of one node, and [g, h) of another one, there is one if and only if f
// is not before g, and not g, and h is not before e, and not e (Garg and Waldecker: Detection of
// Weak Unstable Predicates in Distributed Programs, 1994). So no cuts have to be gone through.
package exclusive

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/cuts"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
)

// IsHeld says whether who publishes a value holds the name. Who has nothing publishes what Go has
// without anything: false, no text, no number, no time, nil, or a list or map of nothing.
func IsHeld(value []byte) bool {
	switch string(value) {
	case "false", "", "0", "0s", "<nil>", "[]", "map[]":
		return false
	}
	return true
}

// takes says whether a node holds the name of an event from then on. What violates a property ends
// the node.
func takes(net *network.Nodes, e *skeleton.Event) bool {
	d := network.Did(e)
	return d.Violates == "" && IsHeld(net.Data[d])
}

// LetGo are events of a node which ends after some others: one for each name that it holds then.
func LetGo(net *network.Nodes, made []skeleton.Event) (list []skeleton.Event) {
	if net.Exclusive == nil {
		return nil
	}
	held := map[string]bool{}
	for i := range made {
		switch d := network.Did(&made[i]); {
		case d.Kind == model.Crashed:
			clear(held)
		case d.Kind == model.Publish && net.Exclusive(d.Address):
			if held[d.Address] = true; !takes(net, &made[i]) {
				delete(held, d.Address)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		list = append(list, published.AtEnd(net, name))
	}
	return list
}

// Held is what nodes hold at a moment of an execution. One goroutine uses it at a time.
type Held struct {
	names published.Names
	by    map[string]map[int]since // by name, and node
}

// since is the event with which a node has taken something, and the time then.
type since struct {
	event skeleton.Event
	time  time.Duration
}

// New is that of an execution which has not begun.
func New(names published.Names) *Held { return &Held{names, map[string]map[int]since{}} }

// Judge notes what a node publishes at some time. Event has its name and its label. If another node
// holds what it takes, the label says so, and the event takes that of the other one.
func (h *Held) Judge(net *network.Nodes, event *skeleton.Event, now time.Duration) {
	d := network.Did(event)
	if !h.names.Has(d.Address) {
		return
	}
	by := h.by[d.Address]
	if by == nil {
		by = map[int]since{}
		h.by[d.Address] = by
	}
	if !takes(net, event) {
		delete(by, event.Component)
		return
	}
	if _, has := by[event.Component]; has {
		return
	}
	for _, node := range slices.Sorted(maps.Keys(by)) {
		was := by[node]
		what := twice(net, &was.event, event, was.time, now)
		published.Object(net, event, &was.event, what)
		return
	}
	by[event.Component] = since{*event, now}
}

// Gone notes that a node has crashed, or ended.
func (h *Held) Gone(node int) {
	for _, by := range h.by {
		delete(by, node)
	}
}

// twice says what is wrong with an event by which a node takes what another one holds.
func twice(net *network.Nodes, held, taken *skeleton.Event, since, now time.Duration) string {
	return fmt.Sprintf("two nodes hold %s: node %s since %s (%s), and node %s takes it at %s (%s)",
		network.Did(taken).Address, net.Names[held.Component], textutil.Seconds(since),
		published.Shown(net.Data[network.Did(held)]), net.Names[taken.Component], textutil.Seconds(now),
		published.Shown(net.Data[network.Did(taken)]))
}

// interval is a time in which a node holds a name: from an event until another one; nil: for ever.
type interval struct{ from, until *skeleton.Event }

// intervals are those of all nodes, by name and node. Those of a node are one after the other.
func intervals(net *network.Nodes, g skeleton.Global, names published.Names) map[string][][]interval {
	all := map[string][][]interval{}
	for c := range g {
		for _, e := range said(g[c].Events) {
			d := network.Did(e)
			if d.Kind == model.Crashed {
				for _, of := range all {
					end(of[c], e)
				}
				continue
			}
			if !names.Has(d.Address) {
				continue
			}
			if all[d.Address] == nil {
				all[d.Address] = make([][]interval, len(g))
			}
			of := all[d.Address]
			if !takes(net, e) {
				end(of[c], e)
			} else if n := len(of[c]); n == 0 || of[c][n-1].until != nil {
				of[c] = append(of[c], interval{from: e})
			}
		}
	}
	return all
}

// said are the events of a node that publish something, and its crashes, in their order.
func said(events []skeleton.Event) (list []*skeleton.Event) {
	for i := range events {
		if kind := network.Did(&events[i]).Kind; kind == model.Publish || kind == model.Crashed {
			list = append(list, &events[i])
		}
	}
	// They are one stream, or the node is ordered.
	slices.SortFunc(list, func(a, b *skeleton.Event) int { return a.N - b.N })
	return list
}

// end ends the last interval of a node, if it has not ended.
func end(list []interval, e *skeleton.Event) {
	if n := len(list); n > 0 && list[n-1].until == nil {
		list[n-1].until = e
	}
}

// Find looks for names that two nodes hold at the same time. It returns the part of the execution
// that leads there, for each name and two nodes once.
func Find(net *network.Nodes, s *cuts.Skeleton, g skeleton.Global, names published.Names) (
	list []*published.Wrong) {
	all := intervals(net, g, names)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for a, one := range all[name] {
			for _, other := range all[name][a+1:] {
				if first, second := meet(s, one, other); first != nil {
					list = append(list, wrong(net, s, first, second))
				}
			}
		}
	}
	return list
}

// meet finds events with which two nodes take a name so that both hold it at the same time; nil:
// there are none. Who has let go before the other one takes the name can be forgotten: all that the
// other one does later is after that, too.
func meet(s *cuts.Skeleton, one, other []interval) (first, second *skeleton.Event) {
	before := func(a, b *skeleton.Event) bool { return a != nil && s.To(b.Name)[a.Name] }
	for len(one) > 0 && len(other) > 0 {
		switch {
		case before(one[0].until, other[0].from):
			one = one[1:]
		case before(other[0].until, one[0].from):
			other = other[1:]
		default:
			return s.InOrder(one[0].from, other[0].from)
		}
	}
	return nil, nil
}

// wrong is the part of an execution that leads to two events with which nodes take a name.
func wrong(net *network.Nodes, s *cuts.Skeleton, first, second *skeleton.Event) *published.Wrong {
	w := &published.Wrong{Node: second.Component}
	w.What = twice(net, first, second, s.Time(first), s.Time(second))
	w.Key = fmt.Sprintf("%s and %s hold %s", net.Names[first.Component], net.Names[second.Component],
		network.Did(second).Address)
	w.Part = s.Part(first, second, func(e *skeleton.Event) { published.Object(net, e, first, w.What) })
	return w
}

// Later has the events with which nodes let go of what another one takes in spite of that, and
// after which event each of them comes: the one that is wrong. A skeleton does not say so, but
// reports and replays are to show both nodes hold it.
func Later(net *network.Nodes, g skeleton.Global) map[skeleton.Name]skeleton.Name {
	var list map[skeleton.Name]skeleton.Name
	var s *cuts.Skeleton
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			d := network.Did(e)
			if d.Violates == "" || e.From.N == 0 {
				continue
			}
			for _, f := range said(g[e.From.Component].Events) {
				of := network.Did(f)
				if f.N <= e.From.N || of.Kind == model.Publish && (of.Address != d.Address || takes(net, f)) {
					continue
				}
				if list == nil {
					list, s = map[skeleton.Name]skeleton.Name{}, cuts.Of(g)
				}
				if !s.To(e.Name)[f.Name] {
					list[f.Name] = e.Name
				}
				break
			}
		}
	}
	return list
}
