package slow

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// In an exploration, a connection is slow from something on that is sent there: that arrives after
// some advances of the clock, and all that is sent later in its direction does not arrive before.
// Each event says so itself (network.Event.Late). Nothing is sent between two events, so a
// connection need not become slow anywhere else.
//
// Who sends something does not notice that it is late. So these are branches of the network, for
// which no node has to be run. All events of a node are in one order.

// Limits are how often a connection is slow in an execution, at most, and after how many advances
// of the clock something arrives at the latest.
type Limits struct{ Most, Longest int }

// Branches lists those of a node in which something that it sends arrives one advance of the clock
// later than it does. What an execution does until something arrives does not depend on when that
// is. So if the clock never advances so far, there is no need to try a later time.
func Branches(net *network.Nodes, item skeleton.Item, limits Limits) (list []skeleton.Branch) {
	script := item.Local.Events
	for k := range script {
		e, before := script[k], script[:k]
		d := network.Did(&e)
		if !network.Streams(&e) || net.IsBeside(e.To) || d.Late >= limits.Longest {
			continue
		}
		// A node that is gone does not know how often the clock advances.
		epoch := network.Ticks(before)
		next, arrives := net.NextDue(item.Component, e.To, epoch+d.Late)
		hasArrived := item.Local.Waits == nil || network.Ticks(script) >= arrives
		if !hasArrived && (d.Late > 0 || arrives > epoch) || next-epoch > limits.Longest {
			continue
		}
		data := net.Data[d]
		d.Late = next - epoch
		if e.Label = d; count(before, &e) > limits.Most {
			continue
		}
		net.Data[d] = data
		list = append(list, skeleton.Branch{Component: item.Component, Before: before, Event: &e})
	}
	return list
}

// Label is that of what a node is about to send: it arrives after as many advances of the clock as
// a script says that has the same there, or else as what the node has sent before on the
// connection.
func Label(e *skeleton.Event, said *skeleton.Event, before int) network.Event {
	d := network.Did(e)
	if network.Streams(e) {
		d.Late = max(before, 0)
	}
	if said == nil {
		return d
	}
	was := network.Did(said)
	late := was.Late
	if was.Late = d.Late; was == d {
		d.Late = late
	}
	return d
}

// count says how often connections are slow by what a node sends in some events, with another one
// after these.
func count(events []skeleton.Event, last *skeleton.Event) (n int) {
	epoch, due := 0, map[string]int{}
	add := func(e *skeleton.Event) {
		d := network.Did(e)
		if epoch = max(epoch, e.Tick); d.Late > 0 && epoch+d.Late > due[d.Conn] {
			due[d.Conn] = epoch + d.Late
			n++
		}
	}
	for i := range events {
		add(&events[i])
	}
	if last != nil {
		add(last)
	}
	return n
}

// IsPossible says whether connections are not slow more often in a prefix than they may be, and
// nothing is received before it arrives. Without that, nodes would be run in vain.
func IsPossible(g skeleton.Global, limits Limits) bool {
	n := 0
	for c := range g {
		n += count(g[c].Events, nil)
		epoch := 0
		for i := range g[c].Events {
			e := &g[c].Events[i]
			epoch = max(epoch, e.Tick)
			if got, _ := e.Got.(network.Event); got.Late > 0 &&
				epoch < network.Ticks(g[e.From.Component].Events[:e.From.N])+got.Late {
				return false
			}
		}
	}
	return n <= limits.Most
}
