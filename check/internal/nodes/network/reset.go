package network

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

// Unread says whether a node sends more in these events, on the connection of a close, than was
// read before the close.
func Unread(net *Nodes, events []skeleton.Event, a *skeleton.Arrival) bool {
	_, _, found := unreadAt(net, events, a)
	return found
}

// MayBeReset says whether a reset may come to a node: the other end of a connection is closed, and
// not all that the node sends on it is read. Where resets come, events have to be in one order.
func MayBeReset(net *Nodes, events []skeleton.Event, arrivals []skeleton.Arrival) bool {
	return slices.ContainsFunc(arrivals, func(a skeleton.Arrival) bool {
		closed := Did(&a.Send)
		return closed.Kind == model.Close && closed.Conn != "" &&
			(closed.Unaccepted || Unread(net, events, &a))
	})
}

// unreadAt is the epoch in which the first byte that a node sends on the connection of a close, and
// that was not read before the close, arrives there. It is not known in a walk if the connection is
// slow: then it is the first one in which that may be.
func unreadAt(net *Nodes, events []skeleton.Event, a *skeleton.Arrival) (epoch int, known, found bool) {
	closed, sum := Did(&a.Send), 0
	for i := range events {
		if epoch = max(epoch, events[i].Tick); events[i].Tick > 0 {
			continue
		}
		if e := Did(&events[i]); e.Kind == model.Send && e.Conn == closed.Conn {
			if sum += len(net.Data[e]); sum > closed.Taken {
				return epoch + e.lateness(), e.Late != Sometime, true
			}
		}
	}
	return 0, false, false
}

// ResetComes says whether the network lets a reset come to a node after some events, with end after
// the end of the stream. Where the node itself has sent what was not read, on a connection that was
// closed before that arrives, the reset is sent then.
func ResetComes(net *Nodes, events []skeleton.Event, a *skeleton.Arrival, end bool) bool {
	node, other := a.Send.To, a.Send.Component
	now := Ticks(events)
	if _, must := net.IsHeld(node, other, now); must {
		return false // one that had come before is an event there
	}
	return now >= net.earliest(node, other, resetSent(net, events, a, end))
}

// resetSent is the first epoch in which a reset can be sent to a node.
func resetSent(net *Nodes, events []skeleton.Event, a *skeleton.Arrival, end bool) int {
	sent := Due(events, a)
	if epoch, _, found := unreadAt(net, events, a); end && found {
		sent = max(sent, net.earliest(a.Send.To, a.Send.Component, epoch))
	}
	return sent
}

// ResetWaits says whether a reset that can come to a node may as well come only when the network
// has healed.
func ResetWaits(net *Nodes, events []skeleton.Event, a *skeleton.Arrival, end bool) bool {
	p := net.Parting(a.Send.To, a.Send.Component, Ticks(events))
	return p != nil && Ticks(events) == p.From && resetSent(net, events, a, end) >= p.From
}

// IsLost says whether data are lost that were under way behind a partition: whoever has sent them
// has reset the connection since, before the network had healed. What was not sent again by then is
// dropped. It is known that it was a reset if something that had not been read had arrived by then,
// or with reset.
func IsLost(net *Nodes, events []skeleton.Event, arrivals []skeleton.Arrival, a *skeleton.Arrival,
	reset bool) bool {
	sent := Did(&a.Send)
	for _, p := range net.Parted.All() {
		if sent.Kind != model.Send || Ticks(events) < p.Until || !p.isUnderWay(events, a) {
			continue
		}
		if slices.ContainsFunc(arrivals, func(b skeleton.Arrival) bool {
			closed := Did(&b.Send)
			return closed.Kind == model.Close && closed.Conn == sent.Conn &&
				b.Send.Component == a.Send.Component && Epoch(events, &b) < p.Until &&
				(reset || NeverEnds(net, events, &b))
		}) {
			return true
		}
	}
	return false
}

// arrivedUnread is Unread of what must have arrived before the close, since the clock has advanced
// in between.
func arrivedUnread(net *Nodes, events []skeleton.Event, a *skeleton.Arrival) bool {
	epoch, known, found := unreadAt(net, events, a)
	return found && (Did(&a.Send).Aborts ||
		known && net.latest(a.Send.To, a.Send.Component, epoch) < Epoch(events, a))
}

// NeverEnds says whether a close comes as a reset in any case, after these events: the node does
// not get the end of the stream.
func NeverEnds(net *Nodes, events []skeleton.Event, a *skeleton.Arrival) bool {
	sent := Did(&a.Send)
	return sent.Kind == model.Close &&
		(sent.Unaccepted || arrivedUnread(net, events, a) || losesEnd(net, events, a))
}

// losesEnd says whether the end of a stream is lost: what was not read has come after the close,
// and before the network was parted. So there was a reset by then. But the end is slow, and was
// still under way. It is not sent again.
func losesEnd(net *Nodes, events []skeleton.Event, a *skeleton.Arrival) bool {
	epoch, known, found := unreadAt(net, events, a)
	comes := net.latest(a.Send.To, a.Send.Component, epoch)
	return found && known && slices.ContainsFunc(net.Parted.All(), func(p *Partition) bool {
		return p.isUnderWay(events, a) && comes <= p.From &&
			(Due(events, a) > p.From || Ticks(events) >= p.Until)
	})
}

// mayLoseEnd says whether the end of a stream may be lost in that way, as far as is known after
// some events.
func mayLoseEnd(net *Nodes, events []skeleton.Event, a *skeleton.Arrival) bool {
	epoch, _, found := unreadAt(net, events, a)
	comes := net.earliest(a.Send.To, a.Send.Component, epoch)
	return found && slices.ContainsFunc(net.Parted.All(), func(p *Partition) bool {
		return p.isUnderWay(events, a) && Ticks(events) >= p.Until && comes <= p.From
	})
}

// Resets lists the branches in which a reset comes to a node earlier than it does in the script.
//
// It changes only what a write comes to, or what is found in place of the end of the stream. So it
// need not come anywhere else than just before one of these: until then the node does the same.
// Only where nobody ever finds the end of the stream, it may come at any place.
func Resets(net *Nodes, item skeleton.Item) (list []skeleton.Branch) {
	script := item.Local.Events
	for i := range item.Arrivals {
		a := &item.Arrivals[i]
		if closed := Did(&a.Send); closed.Kind != model.Close || closed.Conn == "" {
			continue
		}
		for k := range script {
			for _, end := range []bool{false, true} {
				if affects(net, &script[k], a, end, script[:k], item.Arrivals) &&
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
func affects(net *Nodes, e *skeleton.Event, a *skeleton.Arrival, end bool,
	before []skeleton.Event, arrivals []skeleton.Arrival) bool {
	d, closed := Did(e), Did(&a.Send)
	switch {
	case NeverEnds(net, before, a):
		return true
	case d.Conn != closed.Conn:
		return false
	}
	// Where the end and the reset come, the reset alone may come: what was held is lost then.
	if d.Kind == model.Broken {
		return d.End && !end && net.Parted != nil
	}
	return d.Kind == model.Send || !end && d.Kind == model.Receive && (d.End ||
		slices.ContainsFunc(arrivals, func(b skeleton.Arrival) bool {
			return b.Send.Name == e.From && IsLost(net, before, arrivals, &b, true)
		}))
}

// broken is the event of a reset after k others of a node.
func broken(node, k int, a *skeleton.Arrival, end bool) skeleton.Event {
	return InOrder(skeleton.Event{Label: Event{Kind: model.Broken, Conn: Did(&a.Send).Conn, End: end},
		To: skeleton.Nobody, From: a.Send.Name, Got: a.Send.Label}, node, k+1)
}

// mayBreak says whether a reset can come after some events of a node: with end, after the end of
// the stream.
//
// Without, what was not read must have come before the close. It cannot if the node had noticed the
// close by then. With it, the end must be there before something else happens, since both cannot
// come at once.
func mayBreak(net *Nodes, before []skeleton.Event, arrivals []skeleton.Arrival, a *skeleton.Arrival,
	end bool) bool {
	closed := Did(&a.Send)
	opened, ended := false, false
	for i := range before {
		e := Did(&before[i])
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
	case !opened || !Happened(a.After, before) || !ResetComes(net, before, a, end):
		return false
	case closed.Unaccepted:
		return !end
	case end:
		return (ended || k > 0 && Happened(a.After, before[:k-1])) && Unread(net, before, a) &&
			!arrivedUnread(net, before, a) && (ended || !losesEnd(net, before, a))
	case !ended && mayLoseEnd(net, before, a):
		return true
	}
	noticed := slices.IndexFunc(before, func(e skeleton.Event) bool {
		return comesAfter(arrivals, e.From, &a.Send) || e.Tick > Epoch(before, a)
	})
	if noticed < 0 {
		noticed = k
	}
	epoch, _, found := unreadAt(net, before[:noticed], a)
	return !ended && found && net.mayArrive(epoch, a, Epoch(before, a))
}

// comesAfter says whether what was received is a send, or comes after that at the other node.
func comesAfter(arrivals []skeleton.Arrival, received skeleton.Name, send *skeleton.Event) bool {
	i := slices.IndexFunc(arrivals, func(a skeleton.Arrival) bool { return a.Send.Name == received })
	return i >= 0 && received.Component == send.Component &&
		(received == send.Name || skeleton.Precedes(send, &arrivals[i].Send))
}
