package environment

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Deliver has arrive what can. One arrival may make another one possible: data come after their
// connection.
func (n *Environment) Deliver(r *model.Reaction) {
	for progress := true; progress && (n.deviation < 0 || !n.Ordered); {
		progress = n.connectsNow(r)
		progress = n.breaksNext(r) || progress
		for i := range n.Arrivals {
			if !n.Done[i] && n.comes(i) && n.arrives(i, r) {
				n.Done[i], progress = true, true
			}
		}
	}
	*r = r.Normal()
}

// arrives has one arrival reach the node, if it can now: what is before it has happened, its
// connection is there, and the script does not want it later.
func (n *Environment) arrives(i int, r *model.Reaction) bool {
	a := &n.Arrivals[i]
	if !n.happened(a.After) {
		return false
	}
	sent := network.Did(&a.Send)
	switch {
	case sent.Kind == model.Connect:
		return n.opened(a, r)
	case network.IsDatagram(&a.Send):
		return n.Datagrams.Arrive(i, &a.Send, r)
	}
	at := n.connOf(sent.Conn)
	if at < 0 || !takesNext(n, a) || !n.first(a) || network.NeverEnds(n.net, n.Made, a) {
		return false
	}
	n.enter(a, at, r)
	return true
}

// connOf is the number of a connection; -1: it is not there yet.
func (n *Environment) connOf(id string) int {
	return slices.IndexFunc(n.conns, func(c *conn) bool { return c.id == id })
}

// enter has what was sent on a connection be there.
func (n *Environment) enter(a *skeleton.Arrival, at int, r *model.Reaction) {
	sent, c, d := network.Did(&a.Send), n.conns[at], model.Delivery{Conn: at}
	k := chunk{send: a.Send, at: n.Ticks}
	if sent.Kind == model.Send {
		d.Data = n.net.Data[sent]
		c.arrived += len(d.Data)
		k.end = c.arrived
	} else if d.End, k.last = model.EOF, true; c.ended {
		return // shut down before, and now closed
	} else {
		c.ended = true
	}
	c.inFlight = append(c.inFlight, k)
	if !c.closed {
		r.Deliveries = append(r.Deliveries, d)
	}
}

// first says whether the arrival is the next one of its stream: all that the same node has sent on
// the connection before has arrived.
func (n *Environment) first(a *skeleton.Arrival) bool {
	for i := range n.Arrivals {
		b := &n.Arrivals[i]
		if network.Did(&b.Send).Conn == network.Did(&a.Send).Conn && !n.Done[i] &&
			b.Send.Component == a.Send.Component && b.Send.Stream == a.Send.Stream && b.Send.N < a.Send.N {
			return false
		}
	}
	return true
}

// opened has a connection of another node wait to be accepted, if the node listens.
func (n *Environment) opened(a *skeleton.Arrival, r *model.Reaction) bool {
	sent := network.Did(&a.Send)
	at := slices.IndexFunc(n.conns, func(c *conn) bool {
		return c.comesTo(&a.Send) && !c.closed
	})
	if _, astray := n.astray[network.Doors]; astray || at < 0 ||
		n.Pace == nil && n.waits(a.Send, model.Accept) {
		return false
	}
	others := n.net.Places.Ends(a.Send.Component, sent.Conn, sent.Address, sent.From)
	n.open(&conn{id: sent.Conn, other: a.Send.Component, listener: at,
		inFlight: []chunk{{send: a.Send}}, ends: model.Ends{Local: others.Remote, Remote: others.Local}})
	r.Opened = append(r.Opened, at)
	return true
}

// waits says whether the script wants something else to arrive first. The next event of the script
// that takes something from the same stream says how much that is. Beyond the script nothing is
// held back, unless later says so.
func (n *Environment) waits(send skeleton.Event, kind model.Kind) bool {
	id := network.Did(&send).Conn
	for i := range n.Script {
		e := &n.Script[i]
		if !n.isLeft(e) {
			continue
		}
		if network.Did(e).Kind == model.Crashed {
			break // what comes later comes to another life
		}
		if takes := network.Did(e); takes.Kind == kind && (kind == model.Accept || takes.Conn == id) {
			// Connections are accepted in the order in which they arrive.
			if kind == model.Accept {
				if e.From == send.Name {
					return false
				}
				if !n.isOpen(e.From) && (!n.forced || n.canOpen(e.From)) {
					return true
				}
				continue
			}
			return send.N > e.From.N && !n.forced
		} else if takes.Kind == model.Broken && takes.Conn == id && kind == model.Receive {
			// All that was sent comes before a reset, and the end of the stream may.
			return network.Did(&send).Kind == model.Close && !takes.End
		}
	}
	// A node that ends closes what it has not accepted. So the script may have such a connection.
	closes := func(e skeleton.Event) bool {
		d := network.Did(&e)
		return d.Kind == model.Close && d.Conn == id
	}
	if kind == model.Accept && slices.ContainsFunc(n.Script, closes) {
		return false
	}
	return n.Later && len(n.Made) < len(n.Script) && !n.forced
}

// takesNext says whether the script lets what was sent on a connection come now.
func takesNext(n *Environment, a *skeleton.Arrival) bool {
	_, astray := n.astray[network.Did(&a.Send).Conn+" in"]
	return !astray && (n.Pace != nil || !n.waits(a.Send, model.Receive))
}

// comes says whether an arrival can come now.
func (n *Environment) comes(i int) bool {
	if n.Pace != nil {
		return n.Pace.Comes(i, n.Arrivals[i].Send.Name, n.Moment())
	}
	return n.Ticks >= n.sent[i] && (network.IsDatagram(&n.Arrivals[i].Send) || n.IsLetThrough(i))
}

// IsLetThrough says whether the network lets an arrival come now: it is not held, and not lost.
func (n *Environment) IsLetThrough(i int) bool {
	a := &n.Arrivals[i]
	p := n.net.Parting(n.Node, a.Send.Component, n.sent[i])
	if p == nil || n.Ticks < p.From || n.Ticks >= p.Until {
		return !network.IsLost(n.net, n.Made, n.Arrivals, a, n.resetNext(network.Did(&a.Send).Conn))
	}
	return n.sent[i] == p.From && n.Ticks == p.From && n.Hold.Early[i]
}

// canConnect says whether a connect that waits can be made now.
func (n *Environment) canConnect(c *conn) bool {
	return c.isWaiting() && n.net.Parting(n.Node, c.other, n.Ticks) == nil
}

// aborts says whether something that was not read has come on a connection before the network was
// parted, in the epoch in which that was.
func (n *Environment) aborts(c *conn) bool {
	return slices.ContainsFunc(c.inFlight, func(k chunk) bool {
		p := n.net.Parting(n.Node, c.other, k.at)
		return !k.last && p != nil && k.at == p.From && k.at < n.Ticks
	})
}

// resetNext says whether a connection is reset in place of the end of its stream: the script has
// it, or it is known.
func (n *Environment) resetNext(id string) bool {
	return n.Pace != nil && n.Pace.IsReset(id) || slices.ContainsFunc(n.Script, func(e skeleton.Event) bool {
		d := network.Did(&e)
		return d.Kind == model.Broken && d.Conn == id && !d.End
	})
}

// connectWaits says whether a connect to a node has to wait until the network has healed.
func (n *Environment) connectWaits(to int) bool {
	p := n.net.Parting(n.Node, to, n.Ticks)
	if p == nil || n.Ticks > p.From {
		return p != nil
	}
	n.Tried[p.From]++
	most, some := n.Hold.Connects[p.From]
	return some && n.Tried[p.From] > most
}

// connectsNow has the connects be made that have waited for the network to heal, and says whether
// there are any. No time passes: each is made before anything else arrives then.
func (n *Environment) connectsNow(r *model.Reaction) (progress bool) {
	for at := range n.conns {
		c := n.conns[at]
		if !n.canConnect(c) {
			continue
		}
		c.closed, progress = true, true
		if _, made := n.connect(c.address, c.other, c.from); made {
			r.Opened = append(r.Opened, at)
		} else {
			r.Deliveries = append(r.Deliveries, model.Delivery{Conn: at, End: model.Reset})
		}
	}
	return progress
}

// isOpen says whether a connection has arrived.
func (n *Environment) isOpen(connect skeleton.Name) bool {
	for i := range n.Arrivals {
		if n.Arrivals[i].Send.Name == connect {
			return n.Done[i]
		}
	}
	return false
}

// canOpen says whether all that is before a connection has happened.
func (n *Environment) canOpen(connect skeleton.Name) bool {
	for i := range n.Arrivals {
		if a := &n.Arrivals[i]; a.Send.Name == connect && n.happened(a.After) && n.comes(i) {
			return true
		}
	}
	return false
}

// breaksNext has a reset come if the script says that it does now, and says whether it has.
func (n *Environment) breaksNext(r *model.Reaction) bool {
	if len(n.Made) >= len(n.Script) || !n.Ordered {
		return false
	}
	next := &n.Script[len(n.Made)]
	if network.Did(next).Kind != model.Broken {
		return false
	}
	i := slices.IndexFunc(n.Arrivals, func(a skeleton.Arrival) bool { return a.Send.Name == next.From })
	at := n.connOf(network.Did(next).Conn)
	if i < 0 || at < 0 || !n.canBreak(i, at) || n.conns[at].ended != network.Did(next).End ||
		n.Pace != nil && !n.Pace.Breaks(next.Name, n.Moment()) ||
		n.Pace == nil && !n.Hold.Resets[i] &&
			network.ResetWaits(n.net, n.Made, &n.Arrivals[i], n.conns[at].ended) {
		return false
	}
	n.BreakOff(i, at, r)
	return true
}

// breakAll has all resets come that can. It is called when the node can do nothing else: messages
// take no time.
func (n *Environment) breakAll(r *model.Reaction) {
	for i := range n.Arrivals {
		a := &n.Arrivals[i]
		at := n.connOf(network.Did(&a.Send).Conn)
		if at >= 0 && network.ResetWaits(n.net, n.Made, a, n.conns[at].ended) && (!n.Hold.Resets[i] ||
			!n.conns[at].ended && !network.NeverEnds(n.net, n.Made, a)) {
			continue
		}
		if n.Ordered && n.deviation < 0 && network.Did(&a.Send).Kind == model.Close && at >= 0 &&
			n.canBreak(i, at) &&
			(network.NeverEnds(n.net, n.Made, a) || network.Unread(n.net, n.Made, a)) {
			n.BreakOff(i, at, r)
		}
	}
	*r = r.Normal()
}

// canBreak says whether the reset that a close causes can come to a connection now.
func (n *Environment) canBreak(i, at int) bool {
	c := n.conns[at]
	return n.happened(n.Arrivals[i].After) && !c.closed && !c.broken && c.accepted &&
		network.ResetComes(n.net, n.Made, &n.Arrivals[i], c.ended)
}

// BreakOff has a reset come to a connection, after all that was sent on it.
func (n *Environment) BreakOff(i, at int, r *model.Reaction) {
	closed := &n.Arrivals[i].Send
	for j := range n.Arrivals {
		a := &n.Arrivals[j]
		if s := network.Did(&a.Send); !n.Done[j] && s.Kind == model.Send &&
			s.Conn == network.Did(closed).Conn && a.Send.Component == closed.Component {
			if n.conns[at].ended || !network.IsLost(n.net, n.Made, n.Arrivals, a, true) {
				n.enter(a, at, r)
			}
			n.Done[j] = true
		}
	}
	c := n.conns[at]
	n.Done[i], c.broken = true, true
	r.Deliveries = append(r.Deliveries, model.Delivery{Conn: at, End: model.Reset})
	n.make(skeleton.Event{Label: network.Event{Kind: model.Broken, Conn: c.id, End: c.ended},
		To: skeleton.Nobody, From: closed.Name, Got: closed.Label})
}

// lastDoor is what the connect that a node is about to make takes something from; nil: nothing. It
// is what the script says, if that can be. Beyond the script it is the last that can have
// happened: with what the other node has done since, it fits.
func lastDoor(n *Environment, to int, address string) *skeleton.Arrival {
	name := skeleton.Event{Label: network.Event{Kind: model.Connect}}
	name.Component = n.Node
	if n.Ordered {
		name.N = len(n.Made) + 1
	} else {
		name.Stream, name.N = network.Doors, n.count[network.Doors]+1
	}
	at, known := n.places[name.Name]
	known = known && network.Did(&n.Script[at]).Kind == model.Connect
	var last *skeleton.Arrival
	isSaid := known && n.Script[at].From.N == 0
	for _, a := range network.DoorsAt(n.Arrivals, to, address) {
		if !n.happened(a.After) {
			break // nor has what comes later
		}
		isNext := !network.IsKnown(a, n.Arrivals, n.Made) // else all before it is over
		if isSaid && isNext {
			break
		}
		last, isSaid = a, known && a.Send.Name == n.Script[at].From
	}
	return last
}

// waitingAt lists the connections that have come to a listener, and that nobody has accepted, in
// the order of the connects. Those are among them that have not been there yet.
func waitingAt(n *Environment, listener int) (list []int) {
	for i := range n.Arrivals {
		a := &n.Arrivals[i]
		if !n.Done[i] && (n.deviation < 0 || !n.Ordered) && n.happened(a.After) &&
			n.conns[listener].comesTo(&a.Send) {
			n.Done[i] = true
			n.open(&conn{id: network.Did(&a.Send).Conn, other: a.Send.Component, listener: listener,
				inFlight: []chunk{{send: a.Send}}})
		}
	}
	for i, c := range n.conns {
		if c.id != "" && !c.accepted && !c.closed && !c.waits && c.listener == listener {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b int) int {
		return network.CompareConnects(&n.conns[a].inFlight[0].send, &n.conns[b].inFlight[0].send)
	})
	return list
}
