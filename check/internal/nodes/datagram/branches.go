package datagram

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// What a branch has before it is what the script has: the node is in one order. After it the node
// may do something else, and then it is run again.

// Limits are the faults of datagrams that are explored: their names among those of the network, and
// how many datagrams of an execution suffer at most.
type Limits struct {
	Kinds []string
	Most  int
}

// suffers says whether the network does something to a datagram that counts as a fault.
func suffers(e *skeleton.Event) bool {
	fate := network.Did(e).Fate
	return fate == Lost || fate == Late || fate == Copied
}

// faultsIn counts the datagrams of a node that suffer.
func faultsIn(events []skeleton.Event) (n int) {
	for i := range events {
		if suffers(&events[i]) {
			n++
		}
	}
	return n
}

// Branches lists those of a node that are the network's: a datagram is sent at another time than
// others open and close their sockets, it suffers, or another one is read. The node takes what
// comes, and does not notice what becomes of what it sends, so nobody has to be run to know that it
// can. Its events are in one order.
func Branches(net *network.Nodes, item skeleton.Item, limits Limits) (list []skeleton.Branch) {
	script := item.Local.Events
	for k := range script {
		b := branching{net: net, item: &item, at: k, e: &script[k], before: script[:k]}
		switch got, _ := b.e.Got.(network.Event); {
		case network.IsDatagram(b.e):
			if d := network.Did(b.e); d.Fate != Copied && d.Fate != Parted {
				b.others()
				b.cut()
				if d.Fate == "" && b.e.To >= 0 && faultsIn(script) < limits.Most {
					b.suffer(limits.Kinds)
				}
			}
		case network.Did(b.e).Kind == model.Receive && got.Kind == model.Send && got.Address != "":
			b.reads()
		}
		list = append(list, b.list...)
	}
	return list
}

// branching are the branches in the place of one event of a node.
type branching struct {
	net    *network.Nodes
	item   *skeleton.Item
	at     int
	e      *skeleton.Event
	before []skeleton.Event
	list   []skeleton.Branch
}

// add adds the branch in which an event comes after some others.
func (b *branching) add(before []skeleton.Event, e skeleton.Event) {
	b.list = append(b.list, skeleton.Branch{Component: b.item.Component, Before: before, Event: &e})
}

// becomes is the datagram with another fate, and somebody else who gets it.
func (b *branching) becomes(to int, fate string) skeleton.Event {
	e := *b.e
	d, data := network.Did(b.e), b.net.Data[network.Did(b.e)]
	d.Fate = fate
	b.net.Data[d], e.Label, e.To = data, d, to
	return e
}

// others has the datagram be sent before or after other events of the sockets there. What is before
// such an event must have happened by then. It cannot undo what it knows: it has received
// something from whoever knew it, or the clock has advanced since.
func (b *branching) others() {
	doors, _, err := doorsAt(b.net, b.item.Component, b.item.Arrivals, addressOf(b.e))
	if err != nil {
		return // that ends the exploration
	}
	for i := range len(doors) + 1 { // so many are before it
		var last *door
		if i > 0 {
			last = &doors[i-1]
		}
		if last != nil && !happened(last.after, b.before) || b.knows(doors[i:]) {
			continue
		}
		e := b.becomes(skeleton.Nobody, Refused)
		to, fate := last.behind(&e)
		if e.From == b.e.From {
			continue
		}
		from, got := e.From, e.Got
		e = b.becomes(to, fate)
		e.From, e.Got = from, got
		b.add(b.before, e)
	}
}

// knows says whether the node knows of some events by then.
func (b *branching) knows(doors []door) bool {
	return slices.ContainsFunc(doors, func(d door) bool {
		i := slices.IndexFunc(b.item.Arrivals, func(a skeleton.Arrival) bool {
			return a.Send.Name == d.event.Name
		})
		return network.IsKnown(&b.item.Arrivals[i], b.item.Arrivals, b.before)
	})
}

// cut has the network be parted before the datagram is sent, or while it is on its way. That is in
// the epoch in which the network is parted. In later ones nothing gets through anyway, and the node
// alone knows that (isCut).
func (b *branching) cut() {
	to := addressOf(b.e)
	owner, has := b.net.Places.Has(to.Addr())
	if !has {
		owner = b.e.To
	}
	if owner < 0 {
		return
	}
	if may, must := b.net.IsHeld(b.item.Component, owner, network.Ticks(b.before)); !may || must {
		return
	}
	e := b.becomes(skeleton.Nobody, Parted)
	e.From, e.Got = skeleton.Name{}, nil
	b.add(b.before, e)
}

// suffer has the datagram be lost, late, or come twice. The branch without that is another one's:
// this event is there in a skeleton in which nothing suffers at this place.
func (b *branching) suffer(kinds []string) {
	for _, kind := range kinds {
		switch fate := Kinds[kind]; fate {
		case Lost:
			b.add(b.before, b.becomes(skeleton.Nobody, fate))
		case Late:
			b.add(b.before, b.becomes(b.e.To, fate))
		case Copied: // the network makes it right after the datagram, at the same node
			script := b.item.Local.Events[:b.at+1]
			if len(b.item.Local.Events) > b.at+1 &&
				network.Did(&b.item.Local.Events[b.at+1]).Fate == Copied {
				continue
			}
			d, data := network.Did(b.e), b.net.Data[network.Did(b.e)]
			s := socket{sent: d.Sent}
			d.Fate = Copied
			e := skeleton.Event{Label: s.label(b.net, d, data), To: b.e.To, From: b.e.From, Got: b.e.Got}
			b.add(script, network.InOrder(e, b.item.Component, b.e.N+1))
		}
	}
}

// reads has another datagram be read: any that has been sent to the socket by then. Some of these
// the node may not get, since the queue of the socket is in another order, or it is connected to
// somebody else. That shows when it is run.
func (b *branching) reads() {
	id := network.Did(b.e).Conn
	opens := slices.IndexFunc(b.before, func(e skeleton.Event) bool {
		d := network.Did(&e)
		return d.Kind == model.Listen && d.Conn == id
	})
	if opens < 0 {
		return
	}
	opened := &b.before[opens]
	comes := func(a *skeleton.Arrival) bool {
		if !network.IsDatagram(&a.Send) || network.Takes(b.before, a.Send.Name) {
			return false
		}
		gets, _ := reaches(network.Did(opened).Address, addressOf(&a.Send))
		return gets && happened(a.After, b.before) && (isLate(&a.Send) || a.Send.From == opened.Name ||
			network.Epoch(b.item.Local.Events, a) == network.Ticks(b.before[:opens]))
	}
	for i := range b.item.Arrivals {
		a := &b.item.Arrivals[i]
		if a.Send.Name == b.e.From || !comes(a) {
			continue
		}
		// Those of its stream come first that nobody can have missed.
		isNext := !slices.ContainsFunc(b.item.Arrivals, func(c skeleton.Arrival) bool {
			return isBefore(&c, a) && c.Send.From == opened.Name && comes(&c)
		})
		if isNext {
			e := *b.e
			e.From, e.Got = a.Send.Name, a.Send.Label
			b.add(b.before, e)
		}
	}
}

// Other is that one datagram comes at another time than the script says, or at all: from an advance
// of the clock on, and to one socket; or never.
type Other struct {
	skeleton.Name
	Conn  string
	From  int
	Never bool
}

// Others lists what can come to a node at other times than its skeleton says, though it may not
// read it where it reads something there: what is late, and what was on its way while there was no
// socket. Executions with these only show branches.
func Others(item *skeleton.Item) (list []*Other) {
	script := item.Local.Events
	for i := range item.Arrivals {
		a := &item.Arrivals[i]
		if !network.IsDatagram(&a.Send) {
			continue
		}
		taken := slices.IndexFunc(script, func(e skeleton.Event) bool { return e.From == a.Send.Name })
		for k := range script {
			opened := network.Did(&script[k])
			gets := false
			if opened.Kind == model.Listen && opened.Conn != "" {
				gets, _ = reaches(opened.Address, addressOf(&a.Send))
			}
			// What was sent to this socket comes there in any case, unless it is late, or the
			// script reads it from another one.
			isRead := taken >= 0 && network.Did(&script[taken]).Conn == opened.Conn
			isDue := a.Send.From == script[k].Name && (taken < 0 || isRead)
			if !gets || !isLate(&a.Send) && (isDue || !happened(a.After, script[:k]) &&
				a.Send.From != script[k].Name) {
				continue
			}
			list = append(list, times(item, a, k)...)
			if isRead {
				list = append(list, &Other{Name: a.Send.Name, Never: true})
			}
		}
	}
	return list
}

// times are those at which a datagram can come to a socket that is opened by an event. What is not
// late was sent to an earlier socket, and comes before the clock advances. What is late comes in
// any epoch in which the socket is there, up to the last one in which it may be on its way.
func times(item *skeleton.Item, a *skeleton.Arrival, opens int) (list []*Other) {
	script := item.Local.Events
	id := network.Did(&script[opens]).Conn
	sent := network.Epoch(script, a)
	first, last := network.Ticks(script[:opens]), network.Ticks(script)
	for k := range script {
		if d := network.Did(&script[k]); d.Conn == id && d.Kind == model.Close {
			last = network.Ticks(script[:k])
		}
	}
	if !isLate(&a.Send) { // it comes before the clock advances
		if first == sent || a.Send.From == script[opens].Name {
			list = append(list, &Other{Name: a.Send.Name, Conn: id, From: sent})
		}
		return list
	}
	for from := max(first, sent); from <= min(last, sent+Longest); from++ {
		list = append(list, &Other{Name: a.Send.Name, Conn: id, From: from})
	}
	return list
}
