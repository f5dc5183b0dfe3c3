package nodes

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// A connection is reset where one node closes it and the other one has sent more than was read, or
// sends more later (RFC 9293, section 3.10.7; RFC 1122, section 4.2.2.13). So is one that was never
// accepted. What had been sent by whoever has closed it can still be read after that, as on Linux.
// Then reads fail, and so do writes.
//
// A reset is an event of the node to which it comes, since writes notice it, and have no event if
// they fail. It takes something from the close. If what was not read comes there after the close,
// the node has first got the end of the stream: Event.End.

// unread says whether a node sends more in these events, on the connection of a close, than was
// read before the close.
func unread(net *network, events []skeleton.Event, a *skeleton.Arrival) bool {
	closed, sum := did(&a.Send), 0
	for i := range events {
		if e := did(&events[i]); e.Kind == model.Send && e.Conn == closed.Conn {
			sum += len(net.data[e])
		}
	}
	return sum > closed.Taken
}

// arrivedUnread is unread of what must have arrived before the close, since the clock has advanced
// in between.
func arrivedUnread(net *network, events []skeleton.Event, a *skeleton.Arrival) bool {
	last := epoch(events, a)
	later := slices.IndexFunc(events, func(e skeleton.Event) bool { return e.Tick >= last })
	return last > 0 && unread(net, events[:later], a)
}

// neverEnds says whether a close comes as a reset in any case, after these events: the node does
// not get the end of the stream.
func neverEnds(net *network, events []skeleton.Event, a *skeleton.Arrival) bool {
	sent := did(&a.Send)
	return sent.Kind == model.Close && (sent.Unaccepted || arrivedUnread(net, events, a))
}

// breaksNext has a reset come if the script says that it does now, and says whether it has.
func (n *environment) breaksNext(r *model.Reaction) bool {
	if len(n.made) >= len(n.script) || !n.ordered {
		return false
	}
	next := &n.script[len(n.made)]
	if did(next).Kind != model.Broken {
		return false
	}
	i := slices.IndexFunc(n.arrivals, func(a skeleton.Arrival) bool { return a.Send.Name == next.From })
	at := n.connOf(did(next).Conn)
	if i < 0 || at < 0 || !n.canBreak(i, at) || n.conns[at].ended != did(next).End {
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
		at := n.connOf(did(&a.Send).Conn)
		if n.ordered && n.deviation < 0 && did(&a.Send).Kind == model.Close && at >= 0 && n.canBreak(i, at) &&
			(neverEnds(n.net, n.made, a) || unread(n.net, n.made, a)) {
			n.breakOff(i, at, r)
		}
	}
	*r = r.Normal()
}

// canBreak says whether the reset that a close causes can come to a connection now.
func (n *environment) canBreak(i, at int) bool {
	c := n.conns[at]
	return n.happened(n.arrivals[i].After) && !c.closed && !c.broken && c.accepted
}

// breakOff has a reset come to a connection, after all that was sent on it.
func (n *environment) breakOff(i, at int, r *model.Reaction) {
	closed := &n.arrivals[i].Send
	for j := range n.arrivals {
		a := &n.arrivals[j]
		if s := did(&a.Send); !n.done[j] && s.Kind == model.Send && s.Conn == did(closed).Conn &&
			a.Send.Component == closed.Component {
			n.enter(a, at, r)
			n.done[j] = true
		}
	}
	c := n.conns[at]
	n.done[i], c.broken = true, true
	r.Deliveries = append(r.Deliveries, model.Delivery{Conn: at, End: model.Reset})
	n.make(skeleton.Event{Label: Event{Kind: model.Broken, Conn: c.id, End: c.ended},
		To: skeleton.Nobody, From: closed.Name, Got: closed.Label})
}

// resets lists the branches in which a reset comes to a node earlier than it does in the script.
//
// It changes only what a write comes to, or what is found in place of the end of the stream. So it
// need not come anywhere else than just before one of these: until then the node does the same.
// Only where nobody ever finds the end of the stream, it may come at any place.
func resets(net *network, item skeleton.Item) (list []skeleton.Branch) {
	script := item.Local.Events
	for i := range item.Arrivals {
		a := &item.Arrivals[i]
		if closed := did(&a.Send); closed.Kind != model.Close || closed.Conn == "" {
			continue
		}
		for k := range script {
			for _, end := range []bool{false, true} {
				if affects(net, &script[k], a, end, script[:k]) &&
					mayBreak(net, script[:k], item.Arrivals, a, end) {
					e := broken(item.Component, k, a, end)
					list = append(list,
						skeleton.Branch{Component: item.Component, Before: script[:k], Event: &e})
				}
			}
		}
	}
	return list
}

// affects says whether an event, which comes after some others, is another one after a reset.
func affects(net *network, e *skeleton.Event, a *skeleton.Arrival, end bool,
	before []skeleton.Event) bool {
	d, closed := did(e), did(&a.Send)
	switch {
	case neverEnds(net, before, a):
		return true
	case d.Conn != closed.Conn:
		return false
	}
	return d.Kind == model.Send || !end && d.Kind == model.Receive && d.End
}

// broken is the event of a reset after k others of a node.
func broken(node, k int, a *skeleton.Arrival, end bool) skeleton.Event {
	e := skeleton.Event{Label: Event{Kind: model.Broken, Conn: did(&a.Send).Conn, End: end},
		To: skeleton.Nobody, From: a.Send.Name, Got: a.Send.Label}
	if e.Component, e.N = node, k+1; k > 0 {
		e.Past = []skeleton.Name{{Component: node, N: k}}
	}
	return e
}

// mayBreak says whether a reset can come after some events of a node: with end, after the end of
// the stream.
//
// Without, what was not read must have come before the close. It cannot if the node had noticed the
// close by then. With it, the end must be there before something else happens, since both cannot
// come at once.
func mayBreak(net *network, before []skeleton.Event, arrivals []skeleton.Arrival, a *skeleton.Arrival,
	end bool) bool {
	closed := did(&a.Send)
	opened, ended := false, false
	for i := range before {
		e := did(&before[i])
		if e.Conn != closed.Conn {
			continue
		}
		switch e.Kind {
		case model.Connect, model.Accept:
			opened = true
		case model.Broken, model.Close:
			return false
		case model.Receive:
			ended = ended || e.End
		}
	}
	k := len(before)
	switch {
	case !opened || !happened(a.After, before):
		return false
	case closed.Unaccepted:
		return !end
	case end:
		return (ended || k > 0 && happened(a.After, before[:k-1])) && unread(net, before, a) &&
			!arrivedUnread(net, before, a)
	}
	noticed := slices.IndexFunc(before, func(e skeleton.Event) bool {
		return comesAfter(arrivals, e.From, &a.Send) || e.Tick > epoch(before, a)
	})
	if noticed < 0 {
		noticed = k
	}
	return !ended && unread(net, before[:noticed], a)
}

// comesAfter says whether what was received is a send, or comes after that at the other node.
func comesAfter(arrivals []skeleton.Arrival, received skeleton.Name, send *skeleton.Event) bool {
	i := slices.IndexFunc(arrivals, func(a skeleton.Arrival) bool { return a.Send.Name == received })
	return i >= 0 && received.Component == send.Component &&
		(received == send.Name || skeleton.Precedes(send, &arrivals[i].Send))
}

// lastDoor is what the connect that a node is about to make takes something from; nil: nothing. It
// is what the script says, if that can be. Beyond the script it is the last that can have
// happened: with what the other node has done since, it fits.
func lastDoor(n *environment, to int, address string) *skeleton.Arrival {
	name := skeleton.Event{Label: Event{Kind: model.Connect}}
	name.Component = n.node
	if n.ordered {
		name.N = len(n.made) + 1
	} else {
		name.Stream, name.N = doors, n.count[doors]+1
	}
	at, known := n.places[name.Name]
	known = known && did(&n.script[at]).Kind == model.Connect
	var last *skeleton.Arrival
	isSaid := known && n.script[at].From.N == 0
	for _, a := range doorsAt(n.arrivals, to, address) {
		if !n.happened(a.After) {
			break // nor has what comes later
		}
		isNext := !isKnown(a, n.arrivals, n.made) // else all before it is over
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
			comesTo(n.conns[listener], &a.Send) {
			n.done[i] = true
			n.open(&conn{id: did(&a.Send).Conn, other: a.Send.Component, listener: listener,
				inFlight: []chunk{{send: a.Send}}})
		}
	}
	for i, c := range n.conns {
		if c.id != "" && !c.accepted && !c.closed && c.listener == listener {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b int) int {
		return compareConnects(&n.conns[a].inFlight[0].send, &n.conns[b].inFlight[0].send)
	})
	return list
}

// isLate says whether somebody connects who can do so only after the listener was closed. There is
// no such execution: the connect is another one.
func isLate(n *environment) bool {
	for i := range n.arrivals {
		a := &n.arrivals[i]
		if !n.done[i] && n.happened(a.After) && slices.ContainsFunc(n.conns, func(c *conn) bool {
			return c.closed && comesTo(c, &a.Send)
		}) {
			return true
		}
	}
	return false
}
