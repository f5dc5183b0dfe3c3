package environment

import (
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Walked is the environment of a node in a walk: there is no script, and what others do becomes
// known while the node runs. The walk takes the place of Exchange. It has an input begin, and
// answers it, and has things come at any time after that (Deliver, BreakOff).
type Walked struct{ *Environment }

// NewWalked is that of a walk which has not begun.
func NewWalked(net *network.Nodes, node int) Walked {
	n := New(net, node, nil, nil)
	n.GoesOn = true
	return Walked{n}
}

// Begin begins an input, with its connection numbered over all lives of the node. The answer is to
// be given with the numbers of the program (Number). Its next connection has the number First.
func (n Walked) Begin(in model.Input) (_ model.Input, a model.Answer) {
	in.Conn += n.base
	a.Conn, a.First = in.Conn, len(n.conns)
	return in, a
}

// Waits counts an input with which the node does nothing but wait.
func (n Walked) Waits() { n.Input++ }

// Rests ends the execution of a node that does nothing but wait, for a timer that is due after some
// time or, with 0, for ever.
func (n Walked) Rests(most time.Duration, a *model.Answer) {
	n.rests = true
	n.stop(most, a)
}

// TakeOver has the node know of what was sent to it. What has come is over, unless it says
// something of what may come later. So lists stay short, however long the walk is: each input goes
// through them.
//
// What is sent after an advance of the clock comes after that. All nodes wait then, so the advance
// is the next event of each: ticks says that it is still to come. Early: what was sent in the epoch
// in which the network is parted is not held.
func (n Walked) TakeOver(inbox []skeleton.Arrival, ticks, early bool) {
	var after []skeleton.Name
	epoch := n.Ticks
	if ticks {
		epoch++
		after = []skeleton.Name{{Component: n.Node, N: len(n.Made) + 1}}
	} else if epoch > 0 {
		i := len(n.Made) - 1
		for ; n.Made[i].Tick != epoch; i-- {
		}
		after = []skeleton.Name{n.Made[i].Name}
	}
	type coming struct {
		skeleton.Arrival
		done, early bool
		sent        int
	}
	var list []coming
	for i, a := range n.Arrivals {
		if kind := network.Did(&a.Send).Kind; !n.Done[i] || kind == model.Close || kind == model.Listen {
			list = append(list, coming{a, n.Done[i], n.Hold.Early[i], n.sent[i]})
		}
	}
	for _, a := range inbox {
		a.After = after
		list = append(list, coming{a, network.IsFoundOut(&a.Send), early, epoch})
	}
	// In a replay, what comes at the same input does so in this order, too.
	slices.SortStableFunc(list, func(a, b coming) int {
		return network.CompareSends(&a.Send, &b.Send)
	})
	n.Arrivals, n.Done, n.sent = nil, nil, nil
	n.Hold.Early, n.Hold.Resets = nil, nil
	for _, c := range list {
		n.Arrivals, n.Done = append(n.Arrivals, c.Arrival), append(n.Done, c.done)
		n.sent = append(n.sent, c.sent)
		n.Hold.Early, n.Hold.Resets = append(n.Hold.Early, c.early), append(n.Hold.Resets, false)
	}
}

// CanBreak says whether the reset that a close causes can come to a connection now, which has that
// number, and whether the end of the stream has come there.
func (n Walked) CanBreak(i int) (at int, ended, can bool) {
	closed := network.Did(&n.Arrivals[i].Send)
	if at = n.connOf(closed.Conn); closed.Kind != model.Close || at < 0 || !n.canBreak(i, at) {
		return at, false, false
	}
	return at, n.conns[at].ended, true
}

// HasUnread says whether something has come on a connection that the node has not read.
func (n Walked) HasUnread(conn string) bool {
	at := n.connOf(conn)
	return at >= 0 && n.conns[at].arrived > n.conns[at].taken
}

// Open lists the directions of all connections that are open at the node which sends. What is sent
// to peers arrives at once, so there it is what they send.
func (n Walked) Open() (list []slow.Direction) {
	for _, c := range n.conns {
		if c.id == "" || c.closed || c.waits {
			continue
		}
		d := slow.Direction{From: n.Node, Conn: c.id}
		if n.net.IsBeside(c.other) {
			d.From = c.other
		}
		list = append(list, d)
	}
	return list
}
