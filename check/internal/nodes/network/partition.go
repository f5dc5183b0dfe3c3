package network

import (
	"math"
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
}

// Longest is how long a partition can be: after that time, Linux gives up a connect.
const Longest = 127 * time.Second

// Parts says whether nothing gets through between two nodes while the network is parted.
func (n *Nodes) Parts(a, b int) bool {
	return n.Parted != nil && slices.Contains(n.Parted.Links, [2]int{min(a, b), max(a, b)})
}

// IsHeld says whether what is sent from one node to another in an epoch may be held, or must be.
func (n *Nodes) IsHeld(a, b, epoch int) (may, must bool) {
	if !n.Parts(a, b) || epoch >= n.Parted.Until {
		return false, false
	}
	return epoch >= n.Parted.From, epoch > n.Parted.From
}

// isUnderWay says whether something that was sent to a node may not have arrived when the network
// is parted, or is sent while it is. What is slow can be under way for longer than that.
func (n *Nodes) isUnderWay(events []skeleton.Event, a *skeleton.Arrival) bool {
	return n.Parts(a.Send.To, a.Send.Component) && Epoch(events, a) < n.Parted.Until &&
		(Did(&a.Send).Late == Sometime || Due(events, a) >= n.Parted.From)
}

// NextDue is the next later epoch in which something can be due that a node sends to another one,
// and the one in which it arrives at the latest as it is due now. What is due while the network is
// parted arrives when that heals. So it may as well be due when that is parted, and be held.
func (n *Nodes) NextDue(from, to, due int) (next, arrives int) {
	if next = due + 1; n.Parts(from, to) && next > n.Parted.From && next <= n.Parted.Until {
		return n.Parted.Until + 1, n.Parted.Until
	}
	return next, due
}

// earliest is the first epoch in which what is sent can arrive, and latest the last one.
func (n *Nodes) earliest(a, b, epoch int) int {
	if _, must := n.IsHeld(a, b, epoch); must {
		return n.Parted.Until
	}
	return epoch
}

func (n *Nodes) latest(a, b, epoch int) int {
	if may, _ := n.IsHeld(a, b, epoch); may {
		return n.Parted.Until
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
	if may, _ := n.IsHeld(a.Send.To, a.Send.Component, sent); may && closed > n.Parted.From &&
		closed < n.Parted.Until {
		return Did(&a.Send).Aborts
	}
	return n.earliest(a.Send.To, a.Send.Component, sent) <= closed
}

// Hold is what a node gets of what is sent to it in the epoch in which the network is parted.
type Hold struct {
	// Early says of each arrival whether it comes then, and Resets of each close whether a reset
	// that comes of it does.
	Early, Resets []bool
	// Connects is how many connects of the node are made in that epoch. Later ones wait.
	Connects int
}

// HoldOf is how much a script has arrive in the epoch in which the network is parted. What is not
// taken before the network has healed may as well be held. A script that ends in that epoch says
// nothing of that, so nothing is held.
func HoldOf(net *Nodes, node int, script []skeleton.Event, arrivals []skeleton.Arrival) *Hold {
	h := &Hold{Early: make([]bool, len(arrivals)), Resets: make([]bool, len(arrivals)),
		Connects: math.MaxInt}
	if net.Parted == nil {
		return h
	}
	isOver := Ticks(script) > net.Parted.From
	if isOver {
		h.Connects = CountConnects(net, node, script)
	}
	before := script
	heals := func(e skeleton.Event) bool { return e.Tick == net.Parted.Until }
	if i := slices.IndexFunc(script, heals); i >= 0 {
		before = script[:i]
	}
	for i := range arrivals {
		h.Resets[i] = !isOver || slices.ContainsFunc(before, func(e skeleton.Event) bool {
			return Did(&e).Kind == model.Broken && e.From == arrivals[i].Send.Name
		})
		may, must := net.IsHeld(node, arrivals[i].Send.Component, Due(script, &arrivals[i]))
		h.Early[i] = !must && (!may || !isOver) || slices.ContainsFunc(before, func(e skeleton.Event) bool {
			return gets(&e, &arrivals[i].Send)
		}) || may && isReadThoughLost(net, script, arrivals, &arrivals[i])
	}
	return h
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
func CountConnects(net *Nodes, node int, script []skeleton.Event) (connects int) {
	for i := range script {
		e := &script[i]
		if d := Did(e); d.Kind == model.Connect && net.Parts(node, net.To(d.Address)) &&
			Ticks(script[:i]) == net.Parted.From {
			connects++
		}
	}
	return connects
}

// mostHolds bounds in how many ways what is sent to a node can be held.
const mostHolds = 1024

// Holds lists how else than in its skeleton a node may get what is sent to it in the epoch in which
// the network is parted: of each connection, as much as may be has arrived by then. Connects that
// are made later wait. The node was seen to try so many connects. The list may not have all ways.
func Holds(net *Nodes, item *skeleton.Item, tried int) (list []*Hold, all bool) {
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
	var next []*Hold
	for _, h := range list {
		for connects := 0; connects <= min(said.Connects, tried); connects++ {
			with := *h
			if with.Connects = connects; connects >= tried {
				with.Connects = math.MaxInt
			}
			next = append(next, &with)
		}
		if said.Connects < tried {
			with := *h
			with.Connects = math.MaxInt
			next = append(next, &with)
		}
	}
	return slices.DeleteFunc(next, func(h *Hold) bool {
		same := slices.Equal(h.Early, said.Early) && h.sameResets(said, net, item) &&
			(h.Connects == said.Connects || min(h.Connects, said.Connects) >= tried)
		return same || !h.inOrder(item)
	}), true
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
