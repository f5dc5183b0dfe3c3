// Package idle finds out what the others have done of which a node takes no notice: the end of a
// stream that it never looks for, and the close of a listener after its last connect there. Most
// programs have read all they want before the other end closes a connection. When that happens then
// makes no difference to them, and an exploration need not be done again where only that differs
// (skeleton.Idle).
//
// A node looks for the end of a stream where it may come to it: whenever it reads from the
// connection, or is to read when an execution ends, and gets no data. It does not matter whether
// the end is there by then.
package idle

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Notice is what a node is known to take notice of in an exploration. The zero value is before its
// first execution.
type Notice struct {
	looked   map[string]bool // for the ends of these connections
	connects []skeleton.Event
	all      bool
}

// Execution is one of a node whose events are not in one order.
type Execution struct {
	Log *sut.Log
	// Made are the events of the node, and Inputs the number of the input that each of them is of.
	Made   []skeleton.Event
	Inputs []int
	// Connections are the names of its connections, by number; "": it is a listener.
	Connections []string
	// Arrivals is how many there are.
	Arrivals int
}

// All has nothing be idle: an execution is not known, or shows something that has to be found again
// wherever it comes.
func (n *Notice) All() { n.all = true }

// Idle lists the arrivals of which no execution has taken notice.
func (n *Notice) Idle(arrivals []skeleton.Arrival) (list []skeleton.Idle) {
	for i := range arrivals {
		a := &arrivals[i]
		switch d := network.Did(&a.Send); {
		case n.all:
		case network.IsDoor(&a.Send):
			if last, after := n.lastConnect(a); after {
				list = append(list, skeleton.Idle{Arrival: a.Send.Name, After: last})
			}
		case isEnd(&d) && !n.looked[d.Conn]:
			list = append(list, skeleton.Idle{Arrival: a.Send.Name})
		}
	}
	return list
}

// lastConnect is the last connect to a listener of which something becomes known, and whether that
// comes after it.
func (n *Notice) lastConnect(a *skeleton.Arrival) (last []skeleton.Name, after bool) {
	for i := range n.connects {
		c := &n.connects[i]
		if !network.Reaches(network.Did(&a.Send).Address, network.Did(c).Address) {
			continue
		}
		if !skeleton.Includes(a.After, c.Name) {
			return nil, false
		}
		if len(last) == 0 || last[0].N < c.N {
			last = []skeleton.Name{c.Name}
		}
	}
	return last, true
}

// isEnd says whether an event is that nothing more comes on a connection.
func isEnd(d *network.Event) bool {
	return d.Conn != "" && (d.Kind == model.Close || d.Kind == model.Shutdown)
}

// Note takes note of an execution.
func (n *Notice) Note(x Execution) {
	for i := range x.Made {
		if e := &x.Made[i]; network.Did(e).Kind == model.Connect {
			n.connect(e)
		}
	}
	if n.looked == nil {
		n.looked = map[string]bool{}
	}
	for number := range readsInVain(x) {
		n.looked[x.Connections[number]] = true
	}
}

// connect keeps a connect, unless there was the same in another execution.
func (n *Notice) connect(e *skeleton.Event) {
	if !slices.ContainsFunc(n.connects, func(c skeleton.Event) bool {
		return c.Name == e.Name && network.Did(&c).Address == network.Did(e).Address
	}) {
		n.connects = append(n.connects, *e)
	}
}
