package nodes

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/baton"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/check/internal/nodes/places"
	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/check/internal/nodes/told"
	"github.com/tandem-mc/tandem/check/internal/nodes/touched"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// environment answers for the other nodes in one execution of one node. It follows a local
// skeleton: what arrives does so as soon as all before it has happened, and not before the script
// has it read. It implements sut.Peers.
type environment struct {
	net *network.Nodes
	track
	arrivals []skeleton.Arrival
	// later: what the script does not take arrives only when all of it has happened.
	later bool
	done  []bool // of arrivals
	// conns are all connections and listeners, by number, and dialled how many of them the node has
	// opened.
	conns   []*conn
	dialled int
	gates   map[int]model.Gate // of connections, as they were told
	// base is the first number of those that are of the present life of the node. The program
	// counts them from 0 in each.
	base int
	clock
	// hold says what arrives in the epoch in which the network is parted. sent has the epochs in
	// which arrivals come else, and tried is how many connects there were across the partition.
	hold  *network.Hold
	sent  []int
	tried int
	// baton says when the events of the script may happen; nil: at any time.
	baton *baton.Baton
	// pace says when arrivals and resets come; nil: as soon as they can and the script has them.
	pace pace.Pace
	lives.Mortal
	// datagrams are its datagram sockets. Each has a place in conns, where it is closed.
	datagrams datagram.Sockets
	// said is, in a walk, what all nodes have published; nil: the script says what is wrong.
	said *properties.Said
}

// newEnvironment is that of an execution which has not begun.
func newEnvironment(net *network.Nodes, node int, script []skeleton.Event, arrivals []skeleton.Arrival,
) *environment {
	n := &environment{net: net, arrivals: arrivals, done: make([]bool, len(arrivals)),
		track: newTrack(node, script, net.Ordered[node])}
	n.datagrams = datagram.Sockets{Net: net, Node: node, Make: n.make, Carrier: &datagram.Explored{Net: net,
		Node: node, Script: script, Arrivals: arrivals, Now: n.present}}
	n.hold = network.HoldOf(net, node, script, arrivals)
	for i := range arrivals {
		n.done[i] = network.IsFoundOut(&arrivals[i].Send) // it does not arrive
		n.sent = append(n.sent, network.Due(script, &arrivals[i]))
	}
	return n
}

// Exchange implements sut.Peers. Each input is an event of the node. What arrives because of it
// does so in the same transition, as with peers.
func (n *environment) Exchange(in model.Input) (model.Answer, error) {
	if crash := n.crashes(&in); crash != nil {
		return model.Answer{Crash: crash}, nil
	}
	in.Conn += n.base
	a, err := n.answer(in)
	n.number(&a)
	return a, err
}

// answer is the answer to an input, with connections numbered over all lives of the node.
func (n *environment) answer(in model.Input) (model.Answer, error) {
	a := model.Answer{Conn: in.Conn}
	n.left = false
	n.input++
	from, was := len(n.made), wanted(n)
	kind := in.Kind
	if next := len(n.conns); n.datagrams.Answer(in, next, &a) {
		if kind = 0; in.Kind == model.Connect {
			n.open(&conn{id: in.Addr, closed: true, accepted: true})
		}
	}
	switch kind {
	case model.Listen:
		e := skeleton.Event{Label: network.Event{Kind: model.Listen, Address: in.Addr}, To: skeleton.Nobody}
		c := &conn{address: in.Addr}
		again := n.net.ListensAgain(n.node, listeners(n.conns), in.Addr)
		if again {
			e.To = skeleton.Everybody // connects to it are not refused any more
		}
		a.Conn = n.open(c)
		if name := n.make(e); again {
			c.again = name
		}
	case model.Connect:
		to, found := n.net.At(in.Addr)
		if found == places.Nobody || to == n.node {
			a.Refused = 111 // ECONNREFUSED: nobody is there
			if n.net.Nobody != nil && found == places.Nobody {
				n.net.Nobody[network.Stray{Node: n.net.Names[n.node], Address: in.Addr}] = true
			}
			break
		}
		if n.connectWaits(to) {
			a.Refused = 115 // EINPROGRESS
			a.Conn = n.open(&conn{id: waiting, address: in.Addr, other: to, waits: true, from: in.From})
			break
		}
		var made bool
		if a.Conn, made = n.connect(in.Addr, to, in.From); !made {
			a.Refused = 111
			break
		}
		a.Local = n.conns[a.Conn].ends.Local
	case model.Send, model.Shutdown, model.Close:
		n.give(in)
	case model.Receive, model.Accept:
		n.take(in)
	case model.Publish:
		a.Failure = n.publish(in)
	case model.Pass:
		a.First = len(n.conns)
		n.pass(in.Most, &a)
		if n.ordered {
			a.Touched = n.touches(from, was)
		}
		a.Gates = n.gatesOf()
		return a, n.datagrams.Err
	}
	// Connections that arrive now have the next numbers.
	a.First = len(n.conns)
	if a.Halts = n.halts && n.left; !a.Halts {
		n.deliver(&a.Reaction)
	}
	a.Clients, a.Touched, a.Gates = n.clients(), n.touches(from, was), n.gatesOf()
	return a, n.datagrams.Err
}

// connect makes a connect that is done now, and returns the number of the connection. It says
// whether there is one.
func (n *environment) connect(address string, to int, from string) (number int, made bool) {
	n.dialled++
	d := network.Event{Kind: model.Connect, Address: address, From: from,
		Conn: fmt.Sprintf("%s#%d", n.net.Names[n.node], n.dialled)}
	e := network.Connects(n.net, d, to, lastDoor(n, to, address))
	if made = !network.Did(&e).Failed; made {
		number = n.open(&conn{id: d.Conn, other: to, accepted: true,
			ends: n.net.Places.Ends(n.node, d.Conn, address, from)})
	}
	n.make(e)
	return number, made
}

// open adds a connection, and returns its number. Numbers are those of the execution. Ids are those
// of the system: the k-th connection that a node opens, in the order of its events.
func (n *environment) open(c *conn) int {
	n.conns = append(n.conns, c)
	return len(n.conns) - 1
}

// make notes an event, and returns its name. The script is left where the event is not the
// script's, and then for good.
func (n *environment) make(e skeleton.Event) skeleton.Name {
	n.name(&e)
	at, known := n.places[e.Name]
	beyond, follows := !known, n.deviation < 0
	if n.baton != nil && follows && !beyond {
		n.baton.Await(n.node)
	}
	if beyond && !n.goesOn || !beyond && !n.same(&e, &n.script[at]) || n.ordered && !follows {
		if n.left = true; follows {
			n.deviation = len(n.made)
		}
		if n.astray[e.Stream] == 0 {
			n.astray[e.Stream] = e.N
		}
	}
	n.made, n.inputs = append(n.made, e), append(n.inputs, n.input)
	if n.baton != nil && follows && (!beyond || n.deviation >= 0) {
		n.handOn()
	}
	return e.Name
}

// present is how far the node is, for its datagrams.
func (n *environment) present() datagram.Now {
	return datagram.Now{Made: n.made, Done: n.done, Ticks: n.ticks, Follows: n.deviation < 0,
		GoesOn: n.goesOn, Later: n.later, Forced: n.forced}
}

// handOn has the next event happen, after one of the node, or notes that the node has parted.
func (n *environment) handOn() {
	if n.deviation < 0 {
		n.baton.Pass()
		return
	}
	n.baton.Drop(n.parting())
}

// parting is what the node has done that is not recorded.
func (n *environment) parting() baton.Parting {
	recorded := "does no more"
	if n.deviation < len(n.script) {
		recorded = told.Words(n.net, &n.script[n.deviation])
	}
	return baton.Parting{Node: n.net.Names[n.node], Event: n.deviation + 1, Recorded: recorded,
		Now: told.Words(n.net, &n.made[n.deviation])}
}

// give notes what the node sends. The kind is a part of what is hashed, so that an end of the
// stream differs from no data.
func (n *environment) give(in model.Input) {
	c := n.conns[in.Conn]
	if c.closed || c.waits {
		c.closed = true
		return
	}
	to := c.other
	switch {
	case c.id == "" && in.Kind == model.Close:
		to = skeleton.Everybody
	case c.id == "" || in.Silent:
		to = skeleton.Nobody
	}
	c.closed = in.Kind == model.Close
	c.sent.Add(append([]byte(in.Kind.String()), in.Data...))
	label := network.Event{Kind: in.Kind, Conn: c.id, Address: c.address, Sent: c.sent}
	if c.closed && c.id != "" {
		label.Taken, label.Unaccepted, label.Failed = c.taken, !c.accepted, in.Failed
		label.Aborts = n.aborts(c)
	}
	e := skeleton.Event{Label: label, To: to}
	var said *skeleton.Event
	if at, known := n.places[n.nextName(&e)]; known {
		said = &n.script[at]
	}
	label = slow.Label(&e, said, c.due-n.ticks)
	e.Label, c.due = label, max(c.due, n.ticks+label.Late)
	n.net.Data[label] = slices.Clone(in.Data)
	if label.Unaccepted { // it takes the connection, and ends it
		e.From, e.Got = c.inFlight[0].send.Name, c.inFlight[0].send.Label
	}
	n.make(e)
	if to == skeleton.Everybody {
		for _, i := range waitingAt(n, in.Conn) {
			n.give(model.Input{Kind: model.Close, Conn: i})
		}
	}
}

// publish notes what the node publishes, and returns what is wrong with it.
func (n *environment) publish(in model.Input) string {
	e := published.Event(n.net, in)
	e.Name = n.nextName(&e)
	if n.said != nil {
		n.said.Judge(n.net, &e, n.now)
	} else if at, known := n.places[e.Name]; known {
		published.Follow(n.net, &n.script[at], &e)
	}
	n.make(e)
	return network.Did(&e).Violates
}

// take notes what the node takes of what has arrived. A read takes bytes of one or several sends.
// The event names the last of them: those before it on the connection are before it at the sender,
// too.
func (n *environment) take(in model.Input) {
	c := n.conns[in.Conn]
	e := skeleton.Event{To: skeleton.Nobody}
	if c.taken += len(in.Data); in.Kind == model.Accept {
		e.Label = network.Event{Kind: model.Accept, Conn: c.id}
		e.From, e.Got = c.inFlight[0].send.Name, c.inFlight[0].send.Label
		c.inFlight, c.accepted = c.inFlight[1:], true
		n.make(e)
		return
	}
	isEnd := len(in.Data) == 0
	i := slices.IndexFunc(c.inFlight, func(k chunk) bool {
		return k.last && isEnd || !isEnd && k.end >= c.taken
	})
	if i < 0 {
		return // the end was read before, or it has closed the connection itself
	}
	e.Label = network.Event{Kind: model.Receive, Conn: c.id, Taken: c.taken}
	if isEnd {
		e.Label = network.Event{Kind: model.Receive, Conn: c.id, End: true}
	}
	e.From, e.Got = c.inFlight[i].send.Name, c.inFlight[i].send.Label
	if isEnd {
		c.inFlight = nil
	} else if c.inFlight = c.inFlight[i:]; c.inFlight[0].end == c.taken { // else a part is left
		c.inFlight = c.inFlight[1:]
	}
	n.make(e)
}

// deliver has arrive what can. One arrival may make another one possible: data come after their
// connection.
func (n *environment) deliver(r *model.Reaction) {
	for progress := true; progress && (n.deviation < 0 || !n.ordered); {
		progress = n.connectsNow(r)
		progress = n.breaksNext(r) || progress
		for i := range n.arrivals {
			if !n.done[i] && n.comes(i) && n.arrives(i, r) {
				n.done[i], progress = true, true
			}
		}
	}
	*r = r.Normal()
}

// arrives has one arrival reach the node, if it can now: what is before it has happened, its
// connection is there, and the script does not want it later.
func (n *environment) arrives(i int, r *model.Reaction) bool {
	a := &n.arrivals[i]
	if !n.happened(a.After) {
		return false
	}
	sent := network.Did(&a.Send)
	switch {
	case sent.Kind == model.Connect:
		return n.opened(a, r)
	case network.IsDatagram(&a.Send):
		return n.datagrams.Arrive(i, &a.Send, r)
	}
	at := n.connOf(sent.Conn)
	if at < 0 || !takesNext(n, a) || !n.first(a) || network.NeverEnds(n.net, n.made, a) {
		return false
	}
	n.enter(a, at, r)
	return true
}

// connOf is the number of a connection; -1: it is not there yet.
func (n *environment) connOf(id string) int {
	return slices.IndexFunc(n.conns, func(c *conn) bool { return c.id == id })
}

// enter has what was sent on a connection be there.
func (n *environment) enter(a *skeleton.Arrival, at int, r *model.Reaction) {
	sent, c, d := network.Did(&a.Send), n.conns[at], model.Delivery{Conn: at}
	k := chunk{send: a.Send, at: n.ticks}
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
func (n *environment) first(a *skeleton.Arrival) bool {
	for i := range n.arrivals {
		b := &n.arrivals[i]
		if network.Did(&b.Send).Conn == network.Did(&a.Send).Conn && !n.done[i] &&
			b.Send.Component == a.Send.Component && b.Send.Stream == a.Send.Stream && b.Send.N < a.Send.N {
			return false
		}
	}
	return true
}

// opened has a connection of another node wait to be accepted, if the node listens.
func (n *environment) opened(a *skeleton.Arrival, r *model.Reaction) bool {
	sent := network.Did(&a.Send)
	at := slices.IndexFunc(n.conns, func(c *conn) bool {
		return c.comesTo(&a.Send) && !c.closed
	})
	if _, astray := n.astray[network.Doors]; astray || at < 0 ||
		n.pace == nil && n.waits(a.Send, model.Accept) {
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
func (n *environment) waits(send skeleton.Event, kind model.Kind) bool {
	id := network.Did(&send).Conn
	for i := range n.script {
		e := &n.script[i]
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
	if kind == model.Accept && slices.ContainsFunc(n.script, closes) {
		return false
	}
	return n.later && len(n.made) < len(n.script) && !n.forced
}

// gatesOf are the gates of connections that are not as the node was told. A node that is ordered
// needs none: all its inputs depend on each other.
func (n *environment) gatesOf() (list []model.Gate) {
	if n.ordered {
		return nil
	}
	if n.gates == nil {
		n.gates = map[int]model.Gate{}
	}
	for at, c := range n.conns {
		if c.id == "" || c.closed || c.waits {
			continue
		}
		if g := touched.Gate(at, c.id, n.arrivals, n.done); n.gates[at] != g {
			n.gates[at] = g
			list = append(list, g)
		}
	}
	return list
}

// touches lists what an input depends on besides what it is about.
func (n *environment) touches(from int, was []bool) []model.Touch {
	if n.ordered {
		return []model.Touch{{Object: dependence.Node, Kind: model.Write}}
	}
	return touched.By(n.made[from:], n.arrivals, was, wanted(n))
}

// wanted says of each arrival on a connection whether it may come now as far as the script and the
// connection go, or is there.
func wanted(n *environment) []bool {
	is := make([]bool, len(n.arrivals))
	if n.ordered {
		return is
	}
	for i := range n.arrivals {
		a := &n.arrivals[i]
		sent := network.Did(&a.Send)
		is[i] = n.done[i] || sent.Kind != model.Connect && n.connOf(sent.Conn) >= 0 && takesNext(n, a)
	}
	return is
}

// takesNext says whether the script lets what was sent on a connection come now.
func takesNext(n *environment, a *skeleton.Arrival) bool {
	_, astray := n.astray[network.Did(&a.Send).Conn+" in"]
	return !astray && (n.pace != nil || !n.waits(a.Send, model.Receive))
}
