package nodes

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// breaksNext has a reset come if the script says that it does now, and says whether it has.
func (n *environment) breaksNext(r *model.Reaction) bool {
	if len(n.made) >= len(n.script) || !n.ordered {
		return false
	}
	next := &n.script[len(n.made)]
	if network.Did(next).Kind != model.Broken {
		return false
	}
	i := slices.IndexFunc(n.arrivals, func(a skeleton.Arrival) bool { return a.Send.Name == next.From })
	at := n.connOf(network.Did(next).Conn)
	if i < 0 || at < 0 || !n.canBreak(i, at) || n.conns[at].ended != network.Did(next).End ||
		n.pace != nil && !n.pace.Breaks(next.Name, n.moment()) {
		return false
	}
	n.breakOff(i, at, r)
	return true
}

// breakAll has all resets come that can. It is called when the node can do nothing else: messages
// take no time.
func (n *environment) breakAll(r *model.Reaction) {
	for i := range n.arrivals {
		a := &n.arrivals[i]
		at := n.connOf(network.Did(&a.Send).Conn)
		if at >= 0 && network.ResetWaits(n.net, n.made, a, n.conns[at].ended) && (!n.hold.Resets[i] ||
			!n.conns[at].ended && !network.NeverEnds(n.net, n.made, a)) {
			continue
		}
		if n.ordered && n.deviation < 0 && network.Did(&a.Send).Kind == model.Close && at >= 0 &&
			n.canBreak(i, at) &&
			(network.NeverEnds(n.net, n.made, a) || network.Unread(n.net, n.made, a)) {
			n.breakOff(i, at, r)
		}
	}
	*r = r.Normal()
}

// canBreak says whether the reset that a close causes can come to a connection now.
func (n *environment) canBreak(i, at int) bool {
	c := n.conns[at]
	return n.happened(n.arrivals[i].After) && !c.closed && !c.broken && c.accepted &&
		network.ResetComes(n.net, n.made, &n.arrivals[i], c.ended)
}

// breakOff has a reset come to a connection, after all that was sent on it.
func (n *environment) breakOff(i, at int, r *model.Reaction) {
	closed := &n.arrivals[i].Send
	for j := range n.arrivals {
		a := &n.arrivals[j]
		if s := network.Did(&a.Send); !n.done[j] && s.Kind == model.Send &&
			s.Conn == network.Did(closed).Conn && a.Send.Component == closed.Component {
			if n.conns[at].ended || !n.hasHealed() || !network.IsLost(n.net, n.made, n.arrivals, a, true) {
				n.enter(a, at, r)
			}
			n.done[j] = true
		}
	}
	c := n.conns[at]
	n.done[i], c.broken = true, true
	r.Deliveries = append(r.Deliveries, model.Delivery{Conn: at, End: model.Reset})
	n.make(skeleton.Event{Label: network.Event{Kind: model.Broken, Conn: c.id, End: c.ended},
		To: skeleton.Nobody, From: closed.Name, Got: closed.Label})
}

// lastDoor is what the connect that a node is about to make takes something from; nil: nothing. It
// is what the script says, if that can be. Beyond the script it is the last that can have
// happened: with what the other node has done since, it fits.
func lastDoor(n *environment, to int, address string) *skeleton.Arrival {
	name := skeleton.Event{Label: network.Event{Kind: model.Connect}}
	name.Component = n.node
	if n.ordered {
		name.N = len(n.made) + 1
	} else {
		name.Stream, name.N = network.Doors, n.count[network.Doors]+1
	}
	at, known := n.places[name.Name]
	known = known && network.Did(&n.script[at]).Kind == model.Connect
	var last *skeleton.Arrival
	isSaid := known && n.script[at].From.N == 0
	for _, a := range network.DoorsAt(n.arrivals, to, address) {
		if !n.happened(a.After) {
			break // nor has what comes later
		}
		isNext := !network.IsKnown(a, n.arrivals, n.made) // else all before it is over
		if isSaid && isNext {
			break
		}
		last, isSaid = a, known && a.Send.Name == n.script[at].From
	}
	return last
}

// waitingAt lists the connections that have come to a listener, and that nobody has accepted, in
// the order of the connects. Those are among them that have not been there yet.
func waitingAt(n *environment, listener int) (list []int) {
	for i := range n.arrivals {
		a := &n.arrivals[i]
		if !n.done[i] && (n.deviation < 0 || !n.ordered) && n.happened(a.After) &&
			n.conns[listener].comesTo(&a.Send) {
			n.done[i] = true
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

// isLate says whether somebody connects who can do so only after the listener was closed. There is
// no such execution: the connect is another one.
func isLate(n *environment) bool {
	for i := range n.arrivals {
		a := &n.arrivals[i]
		if !n.done[i] && n.happened(a.After) && slices.ContainsFunc(n.conns, func(c *conn) bool {
			return c.closed && c.comesTo(&a.Send)
		}) {
			return true
		}
	}
	return false
}

// hasHealed says whether the network was parted, and is not any more.
func (n *environment) hasHealed() bool {
	return n.net.Parted != nil && n.ticks >= n.net.Parted.Until
}

// comes says whether an arrival can come now.
func (n *environment) comes(i int) bool {
	if n.pace != nil {
		return n.pace.Comes(i, n.arrivals[i].Send.Name, n.moment())
	}
	return n.ticks >= n.sent[i] && (network.IsDatagram(&n.arrivals[i].Send) || n.isLetThrough(i))
}

// isLetThrough says whether the network lets an arrival come now: it is not held, and not lost.
func (n *environment) isLetThrough(i int) bool {
	a := &n.arrivals[i]
	may, must := n.net.IsHeld(n.node, a.Send.Component, n.sent[i])
	switch {
	case !may || n.ticks < n.net.Parted.From:
		return true
	case n.hasHealed():
		return !network.IsLost(n.net, n.made, n.arrivals, a, n.resetNext(network.Did(&a.Send).Conn))
	}
	return !must && n.ticks == n.net.Parted.From && n.hold.Early[i]
}

// aborts says whether something that was not read has come on a connection before the network was
// parted, in the epoch in which that was.
func (n *environment) aborts(c *conn) bool {
	return n.net.Parts(n.node, c.other) && slices.ContainsFunc(c.inFlight, func(k chunk) bool {
		return !k.last && k.at == n.net.Parted.From && k.at < n.ticks
	})
}

// resetNext says whether a connection is reset in place of the end of its stream: the script has
// it, or it is known.
func (n *environment) resetNext(id string) bool {
	return n.pace != nil && n.pace.IsReset(id) || slices.ContainsFunc(n.script, func(e skeleton.Event) bool {
		d := network.Did(&e)
		return d.Kind == model.Broken && d.Conn == id && !d.End
	})
}

// connectWaits says whether a connect to a node has to wait until the network has healed.
func (n *environment) connectWaits(to int) bool {
	p := n.net.Parted
	if !n.net.Parts(n.node, to) || n.ticks < p.From || n.hasHealed() {
		return false
	}
	if n.ticks > p.From {
		return true
	}
	n.tried++
	return n.tried > n.hold.Connects
}

// connectsNow has the connects be made that have waited for the network to heal, and says whether
// there are any. No time passes: each is made before anything else arrives then.
func (n *environment) connectsNow(r *model.Reaction) (progress bool) {
	if !n.hasHealed() {
		return false
	}
	for at := range n.conns {
		c := n.conns[at]
		if !c.isWaiting() {
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
func (n *environment) isOpen(connect skeleton.Name) bool {
	for i := range n.arrivals {
		if n.arrivals[i].Send.Name == connect {
			return n.done[i]
		}
	}
	return false
}

// canOpen says whether all that is before a connection has happened.
func (n *environment) canOpen(connect skeleton.Name) bool {
	for i := range n.arrivals {
		if a := &n.arrivals[i]; a.Send.Name == connect && n.happened(a.After) && n.comes(i) {
			return true
		}
	}
	return false
}
