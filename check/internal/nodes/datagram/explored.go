package datagram

import (
	"net/netip"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Explored carries the datagrams of a node that is explored against what others do. What a datagram
// comes to that the script has is what the script says. Another one comes to what is so as far as
// the node can know. That it could come to something else, or suffer, are branches (branches.go):
// the node need not be run for them.
//
// What others send comes to a socket in the order in which the script has it read, as soon as it
// can. What the script does not read comes after that, since it would keep the rest from being
// read.
type Explored struct {
	Net      *network.Nodes
	Node     int
	Script   []skeleton.Event
	Arrivals []skeleton.Arrival
	Now      func() Now
	// Other is what comes at another time than the script says; nil: nothing.
	Other *Other
}

// Now is how far a node is.
type Now struct {
	Made  []skeleton.Event // all in one order
	Done  []bool           // of arrivals: it has come
	Ticks int
	// Follows: it has done only what the script says. GoesOn: it may do more after that. Later:
	// what the script does not have comes after all of it.
	Follows, GoesOn, Later bool
	// Forced: it can do nothing else, so all comes that was sent.
	Forced bool
}

// Longest is for how many advances of the clock a datagram is late at most.
const Longest = 3

// room is what waits at a socket at most, in bytes, where each datagram costs some more. That is
// what Linux has by default. What finds no room is lost, which is not explored.
const room, cost = 212_992, 512

// Carry implements Carrier. Beyond the script it is the last event of the sockets there that can
// have happened: with what the other node has done since, it fits. Nothing suffers beyond the
// script, so an execution that is completed has no more faults than what it begins with.
func (x *Explored) Carry(e *skeleton.Event) (copied bool, err error) {
	now := x.Now()
	at := len(now.Made)
	if d := network.Did(e); now.Follows && at < len(x.Script) {
		said := &x.Script[at]
		label, is := said.Label.(network.Event)
		fate := label.Fate
		if label.Fate = ""; is && label == d {
			e.From, e.Got = said.From, said.Got
			decide(x.Net, e, said.To, func(d *network.Event) { d.Fate = fate })
			return at+1 < len(x.Script) && network.Did(&x.Script[at+1]).Fate == Copied, nil
		}
	}
	to := addressOf(e)
	doors, owner, err := doorsAt(x.Net, x.Node, x.Arrivals, to)
	if err != nil {
		return false, err
	}
	x.note(to)
	if owned, has := x.Net.Places.Has(to.Addr()); has {
		owner = owned
	}
	if isCut(x.Net, x.Node, owner, now.Ticks, now.Made, e) {
		decide(x.Net, e, skeleton.Nobody, func(d *network.Event) { d.Fate = Parted })
		return false, nil
	}
	var last *door
	for i := range doors {
		if !happened(doors[i].after, now.Made) {
			break // nor has what comes later
		}
		last = &doors[i]
	}
	receiver, fate := last.behind(e)
	decide(x.Net, e, receiver, func(d *network.Event) { d.Fate = fate })
	return false, nil
}

// note notes that something is sent to where no node is.
func (x *Explored) note(to netip.AddrPort) {
	if _, has := x.Net.Places.Has(to.Addr()); !has && !to.Addr().IsLoopback() && x.Net.Nobody != nil {
		x.Net.Nobody[network.Stray{Node: x.Net.Names[x.Node], Address: "udp " + to.String()}] = true
	}
}

// addressOf is where a datagram goes, as socket.sends has written it.
func addressOf(e *skeleton.Event) netip.AddrPort {
	to, _ := netip.ParseAddrPort(network.Did(e).Address)
	return to
}

// happened says whether all these events of a node in one order have happened.
func happened(after []skeleton.Name, made []skeleton.Event) bool {
	return !slices.ContainsFunc(after, func(n skeleton.Name) bool { return n.N > len(made) })
}

// comes says whether an arrival, which is a datagram, comes to a socket now.
//
// There is no harm in that it comes early, where the script has the node do something else before
// it reads: whoever reads it sooner leaves the script, and that is a branch. But where the script
// has the clock advance first, something that is late does not come before that. The node may be
// about to read, and must find nothing.
func (x *Explored) comes(i int, socket *socket) bool {
	now, a := x.Now(), &x.Arrivals[i]
	if !happened(a.After, now.Made) || x.isOver(a, socket, &now) || x.isHeld(a, socket, now.Ticks) ||
		x.isElsewhere(a, socket) {
		return false
	}
	reads := x.reads(socket, &now)
	if at := slices.Index(reads.list, i); at >= 0 {
		return !slices.ContainsFunc(reads.list[:at], func(k int) bool { return !now.Done[k] }) &&
			x.isFirst(a, socket, &now) && !x.isLater(at, reads, &now)
	}
	switch {
	case x.isOther(a): // from now on
	case isLate(&a.Send):
		// It comes in any case before it would be too late, and before all is over.
		isEnd := !now.GoesOn && len(now.Made) == len(x.Script)
		if !now.Forced || socket.opened != a.Send.From || !isEnd && now.Ticks < x.epoch(a)+Longest {
			return false
		}
	case socket.opened != a.Send.From && !x.isKept(i, socket, reads, &now):
		return false // it has come before the socket was there
	}
	if now.Later && len(now.Made) < len(x.Script) && !now.Forced {
		return false
	}
	// What is read comes before it. Where the node can do nothing else, that is only what has been
	// sent by now: the clock advances before the rest is sent.
	for at, k := range reads.list {
		if !now.Done[k] && (!now.Forced ||
			happened(x.Arrivals[k].After, now.Made) && !x.isLater(at, reads, &now)) {
			return false
		}
	}
	return x.isFirst(a, socket, &now)
}

// isLater says whether a datagram that the script reads is late, and does not come before the clock
// advances: it need not, and the node may not be about to read it now.
func (x *Explored) isLater(at int, reads reading, now *Now) bool {
	a := &x.Arrivals[reads.list[at]]
	if !isLate(&a.Send) || at < reads.soon || now.Forced && now.Ticks >= x.epoch(a)+Longest {
		return false
	}
	return !now.Forced || !slices.ContainsFunc(reads.list[at:], func(k int) bool {
		b := &x.Arrivals[k]
		return !isLate(&b.Send) && !now.Done[k] && happened(b.After, now.Made)
	})
}

// epoch is how often the clock had advanced before a datagram was sent.
func (x *Explored) epoch(a *skeleton.Arrival) int { return network.Epoch(x.Script, a) }

// isLate says whether a datagram arrives after later ones.
func isLate(e *skeleton.Event) bool { return network.Did(e).Fate == Late }

// isOver says whether a datagram cannot come to a socket any more: it has come before the clock
// advanced, before a later one of its stream, or before the socket was there.
func (x *Explored) isOver(a *skeleton.Arrival, socket *socket, now *Now) bool {
	if isLate(&a.Send) {
		return now.Ticks > x.epoch(a)+Longest
	}
	return socket.opened != a.Send.From && (now.Ticks > x.epoch(a) || x.isPassed(a, now))
}

// isPassed says whether a later one of the stream of a datagram has come.
func (x *Explored) isPassed(a *skeleton.Arrival, now *Now) bool {
	for i := range x.Arrivals {
		if now.Done[i] && isBefore(a, &x.Arrivals[i]) {
			return true
		}
	}
	return false
}

// isHeld says whether something else than what the script says has a datagram come later, to
// another socket, or never.
func (x *Explored) isHeld(a *skeleton.Arrival, socket *socket, ticks int) bool {
	return x.isOther(a) && (x.Other.Never || ticks < x.Other.From || x.Other.Conn != socket.id)
}

// isElsewhere says whether the script has a datagram read from a later socket: it is on its way
// until that is there.
func (x *Explored) isElsewhere(a *skeleton.Arrival, socket *socket) bool {
	return !x.isOther(a) && slices.ContainsFunc(x.Script, func(e skeleton.Event) bool {
		return e.From == a.Send.Name && network.Did(&e).Conn != socket.id
	})
}

// isOther says whether a datagram comes at another time than the script says.
func (x *Explored) isOther(a *skeleton.Arrival) bool {
	return x.Other != nil && x.Other.Name == a.Send.Name
}

// Sockets have one queue each. So of what is read from one of them, the order is known, and what is
// not read is behind all of that, or was never in it.

// reading is what the script reads from a socket until that is closed, by the numbers of arrivals:
// the first of these before the clock advances.
type reading struct {
	list []int
	soon int
}

// reads is what is left of that. What comes at another time is not among it.
func (x *Explored) reads(socket *socket, now *Now) (r reading) {
	if !now.Follows || len(now.Made) > len(x.Script) {
		return r
	}
	ticks := false
	for k := len(now.Made); k < len(x.Script); k++ {
		e := &x.Script[k]
		d := network.Did(e)
		switch ticks = ticks || e.Tick > 0; {
		case d.Conn != socket.id:
			continue
		case d.Kind == model.Close:
			return r
		case d.Kind != model.Receive:
			continue
		}
		i := slices.IndexFunc(x.Arrivals, func(a skeleton.Arrival) bool { return a.Send.Name == e.From })
		if i >= 0 && !x.isOther(&x.Arrivals[i]) {
			r.list = append(r.list, i)
			if !ticks {
				r.soon++
			}
		}
	}
	return r
}

// isFirst says whether nothing of the same stream is still to come before a datagram: what one
// socket sends to one address comes in its order, unless the network has it come late. What was
// sent to an earlier socket may have come when there was none.
func (x *Explored) isFirst(a *skeleton.Arrival, socket *socket, now *Now) bool {
	for i := range x.Arrivals {
		b := &x.Arrivals[i]
		if !now.Done[i] && isBefore(b, a) && b.Send.From == socket.opened {
			return false
		}
	}
	return true
}

// isBefore says whether a datagram is of the same stream as another one, and comes before it.
func isBefore(b, a *skeleton.Arrival) bool {
	d, e := network.Did(&b.Send), network.Did(&a.Send)
	return d.Kind == e.Kind && d.Conn == e.Conn && d.Address == e.Address && b.Send.N < a.Send.N &&
		!isLate(&b.Send) && !isLate(&a.Send)
}

// isKept says whether a datagram was on its way while there was no socket: one that comes before it
// was, which the script reads, or which comes at another time than the script says. Else it has
// come before the socket was there, and is lost: that is what the script says, if it reads none.
func (x *Explored) isKept(i int, socket *socket, reads reading, now *Now) bool {
	for k := range x.Arrivals {
		b := &x.Arrivals[k]
		if !isBefore(b, &x.Arrivals[i]) {
			continue
		}
		read := func(e skeleton.Event) bool {
			return e.From == b.Send.Name && network.Did(&e).Conn == socket.id
		}
		if slices.Contains(reads.list, k) || slices.ContainsFunc(now.Made, read) ||
			x.isOther(b) && !x.isHeld(b, socket, now.Ticks) {
			return true
		}
	}
	return false
}

// isCut says whether the network is parted where a node sends a datagram to another one. Of the
// epoch in which it is parted, those of a stream are sent before that, or after.
func isCut(net *network.Nodes, from, to, ticks int, made []skeleton.Event, e *skeleton.Event) bool {
	if to < 0 {
		return false
	}
	may, must := net.IsHeld(from, to, ticks)
	if !may {
		return false
	}
	d := network.Did(e)
	return must || slices.ContainsFunc(made, func(f skeleton.Event) bool {
		was := network.Did(&f)
		return was.Fate == Parted && was.Conn == d.Conn && was.Address == d.Address &&
			network.Ticks(made[:f.N]) == ticks
	})
}
