package network

import (
	"maps"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Partition is a time in which nothing gets through between some nodes. An epoch is the time from
// one advance of the common clock to the next one, and is known by how often it has advanced.
//
// The network is parted at a point of the epoch From: of what is sent until then on a connection,
// as much arrives in that epoch as may be. All else that is sent before the epoch Until is held.
// The network has healed when the clock advances to that epoch, before anything else happens then:
// what was held arrives before the timers fire that are due at this time, or at any point after
// that.
type Partition struct {
	// Links are the pairs of nodes between which nothing gets through, the smaller one first.
	Links [][2]int
	// From is the epoch in which it begins, and Until the one that begins with its end.
	From, Until int
	// Then is the next one, which begins in a later epoch than Until; nil: there is none.
	Then *Partition
}

// All lists a partition and those that follow it.
func (p *Partition) All() (list []*Partition) {
	for ; p != nil; p = p.Then {
		list = append(list, p)
	}
	return list
}

// With is a list of partitions with one more at its end. The list may be empty, and stays as it is.
func (p *Partition) With(last Partition) *Partition {
	if p == nil {
		return &last
	}
	first := *p
	first.Then = p.Then.With(last)
	return &first
}

// Parts says whether nothing gets through between two nodes.
func (p *Partition) Parts(a, b int) bool {
	return slices.Contains(p.Links, [2]int{min(a, b), max(a, b)})
}

// Longest is how long a partition can be: after that time, Linux gives up a connect.
const Longest = 127 * time.Second

// Parting is the partition that parts two nodes in an epoch, at least at its end; nil: none does.
func (n *Nodes) Parting(a, b, epoch int) *Partition {
	for p := n.Parted; p != nil; p = p.Then {
		if p.From <= epoch && epoch < p.Until && p.Parts(a, b) {
			return p
		}
	}
	return nil
}

// IsHeld says whether what is sent from one node to another in an epoch may be held, or must be.
func (n *Nodes) IsHeld(a, b, epoch int) (may, must bool) {
	p := n.Parting(a, b, epoch)
	return p != nil, p != nil && epoch > p.From
}

// isUnderWay says whether something that was sent to a node may not have arrived when the network
// is parted, or is sent while it is. What is slow can be under way for longer than that.
func (p *Partition) isUnderWay(events []skeleton.Event, a *skeleton.Arrival) bool {
	return p.Parts(a.Send.To, a.Send.Component) && Epoch(events, a) < p.Until &&
		(Did(&a.Send).Late == Sometime || Due(events, a) >= p.From)
}

// NextDue is the next later epoch in which something can be due that a node sends to another one,
// and the one in which it arrives at the latest as it is due now. What is due while the network is
// parted arrives when that heals. So it may as well be due when that is parted, and be held.
func (n *Nodes) NextDue(from, to, due int) (next, arrives int) {
	for _, p := range n.Parted.All() {
		if p.Parts(from, to) && due >= p.From && due < p.Until {
			return p.Until + 1, p.Until
		}
	}
	return due + 1, due
}

// earliest is the first epoch in which what is sent can arrive, and latest the last one.
func (n *Nodes) earliest(a, b, epoch int) int {
	if p := n.Parting(a, b, epoch); p != nil && epoch > p.From {
		return p.Until
	}
	return epoch
}

func (n *Nodes) latest(a, b, epoch int) int {
	if p := n.Parting(a, b, epoch); p != nil {
		return p.Until
	}
	return epoch
}

// earliestOf is earliest of an arrival at a node with a script, and latestOf is latest.
func (n *Nodes) earliestOf(script []skeleton.Event, a *skeleton.Arrival) int {
	return n.earliest(a.Send.To, a.Send.Component, Due(script, a))
}

func (n *Nodes) latestOf(script []skeleton.Event, a *skeleton.Arrival) int {
	return n.latest(a.Send.To, a.Send.Component, Due(script, a))
}

// canCome says whether something can have arrived after some events of the script, as far as the
// clock goes. isThere says whether it has in any case, since the clock has advanced since.
func (n *Nodes) canCome(script []skeleton.Event, a *skeleton.Arrival, before []skeleton.Event) bool {
	return n.earliestOf(script, a) <= Ticks(before)
}

func (n *Nodes) isThere(script []skeleton.Event, a *skeleton.Arrival, before []skeleton.Event) bool {
	return n.latestOf(script, a) < Ticks(before)
}

// mayArrive says whether what a node sends in some epoch can have come to the other one before that
// has closed the connection, in another epoch. While the network is parted, the close says whether
// it has.
func (n *Nodes) mayArrive(sent int, a *skeleton.Arrival, closed int) bool {
	if p := n.Parting(a.Send.To, a.Send.Component, sent); p != nil && closed > p.From &&
		closed < p.Until {
		return Did(&a.Send).Aborts
	}
	return n.earliest(a.Send.To, a.Send.Component, sent) <= closed
}

// Hold is what a node gets of what is sent to it in the epoch in which the network is parted.
type Hold struct {
	// Early says of each arrival whether it comes then, and Resets of each close whether a reset
	// that comes of it does.
	Early, Resets []bool
	// Connects is how many connects of the node are made in that epoch, of each partition. Later
	// ones wait. Of one that is not there, all are made.
	Connects map[int]int
}

// HoldOf is how much a script has arrive in the epoch in which the network is parted. What is not
// taken before the network has healed may as well be held. A script that ends in that epoch says
// nothing of that, so nothing is held.
func HoldOf(net *Nodes, node int, script []skeleton.Event, arrivals []skeleton.Arrival) *Hold {
	h := &Hold{Early: make([]bool, len(arrivals)), Resets: make([]bool, len(arrivals)),
		Connects: map[int]int{}}
	for _, p := range net.Parted.All() {
		if Ticks(script) > p.From {
			h.Connects[p.From] = p.CountConnects(net, node, script)
		}
	}
	for i := range arrivals {
		h.Resets[i] = comesEarly(net, script, &arrivals[i])
		due := Due(script, &arrivals[i])
		p := net.Parting(node, arrivals[i].Send.Component, due)
		if p == nil {
			h.Early[i] = true
			continue
		}
		isOver, before := Ticks(script) > p.From, script
		heals := func(e skeleton.Event) bool { return e.Tick == p.Until }
		if i := slices.IndexFunc(script, heals); i >= 0 {
			before = script[:i]
		}
		h.Early[i] = due == p.From && !isOver || slices.ContainsFunc(before, func(e skeleton.Event) bool {
			return gets(&e, &arrivals[i].Send)
		}) || isReadThoughLost(net, script, arrivals, &arrivals[i])
	}
	return h
}

// comesEarly says whether a reset that comes of a close does so in the epoch in which the network
// is parted, as far as a script says. It is about the first partition that can hold it.
func comesEarly(net *Nodes, script []skeleton.Event, a *skeleton.Arrival) bool {
	sent, before := resetSent(net, script, a, true), script
	all := net.Parted.All()
	i := slices.IndexFunc(all, func(p *Partition) bool {
		return p.Parts(a.Send.To, a.Send.Component) && p.Until > sent
	})
	if k := slices.IndexFunc(script, func(e skeleton.Event) bool {
		return Did(&e).Kind == model.Broken && e.From == a.Send.Name
	}); k >= 0 {
		before = script[:k]
	}
	return i < 0 || Ticks(before) <= all[i].From
}

// isReadThoughLost says whether a script reads what would be lost if it was held. So it has come
// before the network was parted, and was not read until the connection was reset.
func isReadThoughLost(net *Nodes, script []skeleton.Event, arrivals []skeleton.Arrival,
	a *skeleton.Arrival) bool {
	isReset := func(e skeleton.Event) bool {
		d := Did(&e)
		return d.Kind == model.Broken && d.Conn == Did(&a.Send).Conn && !d.End
	}
	return slices.ContainsFunc(script, func(e skeleton.Event) bool {
		return Did(&e).Kind == model.Receive && gets(&e, &a.Send)
	}) && IsLost(net, script, arrivals, a, slices.ContainsFunc(script, isReset))
}

// gets says whether what was sent has arrived at a node that makes an event: by that, it takes it,
// or something that was sent later on the connection.
func gets(e, sent *skeleton.Event) bool {
	if e.From == sent.Name {
		return !Did(e).Unaccepted // the connect of that may still be held
	}
	d, s := Did(e), Did(sent)
	if d.Aborts && d.Conn == s.Conn && s.Kind == model.Send {
		return true
	}
	return (d.Kind == model.Receive || d.Kind == model.Broken) && d.Conn == s.Conn &&
		e.From.Component == sent.Component && e.From.N >= sent.N
}

// CountConnects counts the connects of a node, across the partition, in the epoch in which that
// begins.
func (p *Partition) CountConnects(net *Nodes, node int, script []skeleton.Event) (connects int) {
	for i := range script {
		e := &script[i]
		if d := Did(e); d.Kind == model.Connect && p.Parts(node, net.To(d.Address)) &&
			Ticks(script[:i]) == p.From {
			connects++
		}
	}
	return connects
}

// mostHolds bounds in how many ways what is sent to a node can be held.
const mostHolds = 1024

// Holds lists how else than in its skeleton a node may get what is sent to it in the epoch in which
// the network is parted: of each connection, as much as may be has arrived by then. Connects that
// are made later wait. The node was seen to try so many connects, by the epoch. The list may not
// have all ways.
func Holds(net *Nodes, item *skeleton.Item, tried map[int]int) (list []*Hold, all bool) {
	said := HoldOf(net, item.Component, item.Local.Events, item.Arrivals)
	if net.Parted == nil {
		return nil, true
	}
	list = []*Hold{said}
	for _, conn := range heldOn(net, item) {
		var next []*Hold
		for _, h := range list {
			next = append(next, h.levels(net, item, conn)...)
		}
		if list = next; len(list) > mostHolds {
			return nil, false
		}
	}
	for i := range item.Arrivals {
		if mayReset(net, item, i) && endsBefore(net, item, i) {
			for _, h := range list {
				with := *h
				with.Resets = slices.Clone(h.Resets)
				with.Resets[i] = !h.Resets[i]
				list = append(list, &with)
			}
			if len(list) > mostHolds {
				return nil, false
			}
		}
	}
	for _, p := range net.Parted.All() {
		var next []*Hold
		for _, h := range list {
			next = append(next, h.connects(p.From, tried[p.From])...)
		}
		if list = next; len(list) > mostHolds {
			return nil, false
		}
	}
	return slices.DeleteFunc(list, func(h *Hold) bool {
		same := slices.Equal(h.Early, said.Early) && h.sameResets(said, net, item)
		for _, p := range net.Parted.All() {
			same = same && h.made(p.From, tried[p.From]) == said.made(p.From, tried[p.From])
		}
		return same || !h.inOrder(item)
	}), true
}

// endsBefore says whether a close has come before the network is parted, and a reset that comes of
// it may be held: something that was not read is sent then.
func endsBefore(net *Nodes, item *skeleton.Item, i int) bool {
	a := &item.Arrivals[i]
	return slices.ContainsFunc(net.Parted.All(), func(p *Partition) bool {
		sent := resetSent(net, item.Local.Events, a, true)
		return p.Parts(a.Send.To, a.Send.Component) && Due(item.Local.Events, a) < p.From && sent == p.From
	})
}

// made is how many connects are made in an epoch, of so many that are tried.
func (h *Hold) made(epoch, tried int) int {
	if connects, some := h.Connects[epoch]; some {
		return min(connects, tried)
	}
	return tried
}

// connects lists how many of so many connects are made in the epoch of a partition: as many as is
// said or fewer, or all.
func (h *Hold) connects(epoch, tried int) (list []*Hold) {
	said := h.made(epoch, tried)
	for connects := range tried + 1 {
		if connects > said && connects < tried {
			continue
		}
		with := *h
		with.Connects = maps.Clone(h.Connects)
		if with.Connects[epoch] = connects; connects == tried {
			delete(with.Connects, epoch)
		}
		list = append(list, &with)
	}
	return list
}

// heldOn lists, for each connection, the arrivals at a node on it that may be held or not, in the
// order in which they are sent.
func heldOn(net *Nodes, item *skeleton.Item) (list [][]int) {
	conns := map[string]int{}
	for i := range item.Arrivals {
		a := &item.Arrivals[i]
		may, must := net.IsHeld(item.Component, a.Send.Component, Due(item.Local.Events, a))
		if !may || must || IsFoundOut(&a.Send) || IsDatagram(&a.Send) {
			continue
		}
		at, known := conns[Did(&a.Send).Conn]
		if !known {
			at = len(list)
			conns[Did(&a.Send).Conn], list = at, append(list, nil)
		}
		list[at] = append(list[at], i)
	}
	for _, conn := range list {
		slices.SortFunc(conn, func(a, b int) int { return item.Arrivals[a].Send.N - item.Arrivals[b].Send.N })
	}
	return list
}

// levels lists how much of what is sent on a connection arrives: none of it, the first, and so on,
// and in the end also the reset that a close causes, if there may be one.
func (h *Hold) levels(net *Nodes, item *skeleton.Item, conn []int) (list []*Hold) {
	for early := range len(conn) + 1 {
		with := &Hold{Early: slices.Clone(h.Early), Resets: slices.Clone(h.Resets), Connects: h.Connects}
		for k, i := range conn {
			with.Early[i], with.Resets[i] = k < early, false
		}
		list = append(list, with)
	}
	last := conn[len(conn)-1]
	if mayReset(net, item, last) {
		all := list[len(conn)]
		with := &Hold{Early: all.Early, Resets: slices.Clone(all.Resets), Connects: h.Connects}
		with.Resets[last] = true
		list = append(list, with)
	}
	return list
}

// mayReset says whether an arrival is a close of which a reset may come.
func mayReset(net *Nodes, item *skeleton.Item, i int) bool {
	a := &item.Arrivals[i]
	closed := Did(&a.Send)
	return closed.Kind == model.Close && (closed.Unaccepted || Unread(net, item.Local.Events, a))
}

// sameResets says whether the same resets come, of those that may come.
func (h *Hold) sameResets(said *Hold, net *Nodes, item *skeleton.Item) bool {
	for i := range h.Resets {
		if h.Resets[i] != said.Resets[i] && mayReset(net, item, i) {
			return false
		}
	}
	return true
}

// inOrder says whether connections of each node arrive in the order in which it makes them.
func (h *Hold) inOrder(item *skeleton.Item) bool {
	for i := range item.Arrivals {
		for j := range item.Arrivals {
			a, b := &item.Arrivals[i].Send, &item.Arrivals[j].Send
			if Did(a).Kind == model.Connect && Did(b).Kind == model.Connect && a.Component == b.Component &&
				Did(a).Address == Did(b).Address && a.N < b.N && !h.Early[i] && h.Early[j] {
				return false
			}
		}
	}
	return true
}
