package datagram

import (
	"net/netip"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// There are three carriers: that of an execution at random, in which all nodes run at the same time
// and it is known who has which sockets; that of its replay, which knows what became of each
// datagram; and that of an exploration (explored.go), in which a node runs alone.

// Carrier decides what becomes of datagrams.
type Carrier interface {
	// Carry decides about a datagram that a node is about to send, and notes it in the event: who
	// gets it, or why nobody does. It says whether there is a copy of it.
	Carry(e *skeleton.Event) (copied bool, err error)
}

// notExplored is something that explorations cannot have.
type notExplored struct{ what string }

// Error implements error.
func (n notExplored) Error() string {
	return n.what + ", which is only explored at random"
}

// Recorded has the same become of datagrams as in an execution that was recorded.
type Recorded struct {
	Net    *network.Nodes
	Script []skeleton.Event
	Made   func() int // events of the node so far, which are all in one order
}

// Carry implements Carrier. Of a datagram that is another one than it was, nobody knows what would
// become of it. That makes no difference: the node has parted.
func (r Recorded) Carry(e *skeleton.Event) (copied bool, err error) {
	at := r.Made()
	if at >= len(r.Script) || network.Did(&r.Script[at]).Kind != model.Send {
		return false, nil
	}
	was := &r.Script[at]
	decide(r.Net, e, was.To, func(d *network.Event) { d.Fate = network.Did(was).Fate })
	return at+1 < len(r.Script) && network.Did(&r.Script[at+1]).Fate == Copied, nil
}

// Air carries the datagrams of all nodes in an execution at random.
type Air struct {
	Net     *network.Nodes
	Sockets []*Sockets // by node
	// IsUp says whether a node runs, and IsParted whether nothing gets from one to another now.
	IsUp     func(node int) bool
	IsParted func(from, to int) bool
	Weather  *Weather
}

// From carries those that a node sends.
func (a *Air) From(node int) Carrier { return from{a, node} }

type from struct {
	*Air
	node int
}

// Carry implements Carrier: there is a socket now, or there is none. A message takes no time, so
// who has no socket yet would have one too late. While the network is parted, nobody is told that
// there is none.
func (a from) Carry(e *skeleton.Event) (copied bool, err error) {
	address, _ := netip.ParseAddrPort(network.Did(e).Address)
	owner, has := a.Net.Places.Has(address.Addr())
	fate, to := Refused, a.receiver(address)
	switch {
	case has && a.IsParted(a.node, owner) || to >= 0 && a.IsParted(a.node, to):
		fate = Parted
	case to >= 0:
		fate = a.Weather.Next()
	}
	if copied = fate == Copied; copied {
		fate = ""
	}
	if fate != "" && fate != Late {
		to = skeleton.Nobody
	}
	decide(a.Net, e, to, func(d *network.Event) { d.Fate = fate })
	return copied, nil
}

// receiver is the node that has a socket where a datagram goes; -1: none has. Nodes share loopback,
// so whoever is there gets it.
func (a from) receiver(to netip.AddrPort) int {
	owner, has := a.Net.Places.Has(to.Addr())
	isShared := to.Addr().IsLoopback()
	if !isShared && !has {
		a.Net.Nobody[network.Stray{Node: a.Net.Names[a.node], Address: "udp " + to.String()}] = true
	}
	for node, s := range a.Sockets {
		isThere := isShared || has && owner == node
		if _, found := s.At(to); found && isThere && node != a.node && a.IsUp(node) {
			return node
		}
	}
	return -1
}
