package environment

import (
	"fmt"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/places"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/check/internal/nodes/touched"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Answer is the answer to an input, with connections numbered over all lives of the node.
func (n *Environment) Answer(in model.Input) (model.Answer, error) {
	a := model.Answer{Conn: in.Conn}
	n.left = false
	n.Input++
	from, was := len(n.Made), wanted(n)
	kind := in.Kind
	if next := len(n.conns); n.Datagrams.Answer(in, next, &a) {
		if kind = 0; in.Kind == model.Connect {
			n.open(&conn{id: in.Addr, closed: true, accepted: true})
		}
	}
	switch kind {
	case model.Listen:
		e := skeleton.Event{Label: network.Event{Kind: model.Listen, Address: in.Addr}, To: skeleton.Nobody}
		c := &conn{address: in.Addr}
		again := n.net.ListensAgain(n.Node, listeners(n.conns), in.Addr)
		if again {
			e.To = skeleton.Everybody // connects to it are not refused any more
		}
		a.Conn = n.open(c)
		if name := n.make(e); again {
			c.again = name
		}
	case model.Connect:
		to, found := n.net.At(in.Addr)
		if found == places.Nobody || to == n.Node {
			a.Refused = 111 // ECONNREFUSED: nobody is there
			if n.net.Nobody != nil && found == places.Nobody {
				n.net.Nobody[network.Stray{Node: n.net.Names[n.Node], Address: in.Addr}] = true
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
		if n.isOneOrder() {
			a.Touched = n.touches(from, was)
		}
		a.Gates = n.gatesOf()
		return a, n.Datagrams.Err
	}
	// Connections that arrive now have the next numbers.
	a.First = len(n.conns)
	if a.Halts = n.halts && n.left; !a.Halts {
		n.Deliver(&a.Reaction)
	}
	a.Clients, a.Touched, a.Gates = n.clients(), n.touches(from, was), n.gatesOf()
	return a, n.Datagrams.Err
}

// connect makes a connect that is done now, and returns the number of the connection. It says
// whether there is one.
func (n *Environment) connect(address string, to int, from string) (number int, made bool) {
	n.dialled++
	d := network.Event{Kind: model.Connect, Address: address, From: from,
		Conn: fmt.Sprintf("%s#%d", n.net.Names[n.Node], n.dialled)}
	e := network.Connects(n.net, d, to, lastDoor(n, to, address))
	if made = !network.Did(&e).Failed; made {
		number = n.open(&conn{id: d.Conn, other: to, accepted: true,
			ends: n.net.Places.Ends(n.Node, d.Conn, address, from)})
	}
	n.make(e)
	return number, made
}

// open adds a connection, and returns its number. Numbers are those of the execution. Ids are those
// of the system: the k-th connection that a node opens, in the order of its events.
func (n *Environment) open(c *conn) int {
	n.conns = append(n.conns, c)
	return len(n.conns) - 1
}

// make notes an event, and returns its name. The script is left where the event is not the
// script's, and then for good.
func (n *Environment) make(e skeleton.Event) skeleton.Name {
	n.name(&e)
	at, known := n.places[e.Name]
	beyond, follows := !known, n.deviation < 0
	if n.Baton != nil && follows && !beyond {
		n.Baton.Await(n.Node)
	}
	if beyond && !n.GoesOn || !beyond && !n.same(&e, &n.Script[at]) || n.Ordered && !follows {
		if n.left = true; follows {
			n.deviation = len(n.Made)
		}
		if n.astray[e.Stream] == 0 {
			n.astray[e.Stream] = e.N
		}
	}
	n.Made, n.Inputs = append(n.Made, e), append(n.Inputs, n.Input)
	if n.Baton != nil && follows && (!beyond || n.deviation >= 0) {
		n.handOn()
	}
	return e.Name
}

// present is how far the node is, for its datagrams.
func (n *Environment) present() datagram.Now {
	return datagram.Now{Made: n.Made, Done: n.Done, Ticks: n.Ticks, Follows: n.deviation < 0,
		GoesOn: n.GoesOn, Later: n.Later, Forced: n.forced}
}

// handOn has the next event happen, after one of the node, or notes that the node has parted.
func (n *Environment) handOn() {
	if n.deviation < 0 {
		n.Baton.Pass()
		return
	}
	n.Baton.Drop(n.Parting())
}

// give notes what the node sends. The kind is a part of what is hashed, so that an end of the
// stream differs from no data.
func (n *Environment) give(in model.Input) {
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
		said = &n.Script[at]
	}
	label = slow.Label(&e, said, c.due-n.Ticks)
	e.Label, c.due = label, max(c.due, n.Ticks+label.Late)
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
func (n *Environment) publish(in model.Input) string {
	e := published.Event(n.net, in)
	e.Name = n.nextName(&e)
	if n.Said != nil {
		n.Said.Judge(n.net, &e, n.Now)
	} else if at, known := n.places[e.Name]; known {
		published.Follow(n.net, &n.Script[at], &e)
	}
	n.make(e)
	return network.Did(&e).Violates
}

// take notes what the node takes of what has arrived. A read takes bytes of one or several sends.
// The event names the last of them: those before it on the connection are before it at the sender,
// too.
func (n *Environment) take(in model.Input) {
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

// pass is called when the node can do nothing but wait, for a timer that is due after some time or,
// with 0, for others. All that was sent has to arrive first. The clock then advances if the script
// says so and the node's timer is not due before. Else the execution ends here.
func (n *Environment) pass(most time.Duration, a *model.Answer) {
	if n.deviation >= 0 || n.rests {
		n.stop(most, a)
		return
	}
	if a.Clients = 1; most == model.Once {
		n.Deliver(&a.Reaction)
		a.Again = true
		return
	}
	if n.Fires(most, a) {
		return
	}
	n.forced = true
	n.Deliver(&a.Reaction)
	n.forced = false
	// In the replay of a walk each reset comes when it is recorded (breaksNext).
	if !a.Shows() && n.Pace == nil {
		n.breakAll(&a.Reaction)
	}
	if a.Shows() {
		a.Again = true
		return
	}
	// All that is left to find out is how long the node would wait by itself.
	due := time.Duration(0)
	if most > 0 {
		due = n.Now + most
	}
	if !n.advance(due, most, a) {
		n.rests, n.due = true, due
		n.stop(most, a)
	}
}

// Fires has a timer of the node fire that is due now, if the node waits for it, and says whether it
// does. What has arrived came before that. This is no other time. The runtime asks for one more
// than the time that is left, if that is 1 ns.
func (n *Environment) Fires(most time.Duration, a *model.Answer) bool {
	isOwn := n.armed && most > model.Once && most <= model.Once+1
	if n.armed = n.armed && most == model.Once; isOwn {
		a.Time.Passed = most
	}
	return isOwn
}

// advance has the clock advance if the script says so, and says whether it has.
func (n *Environment) advance(due, most time.Duration, a *model.Answer) bool {
	event := n.nextTick(n.Ticks)
	if event == nil {
		return false
	}
	next := network.Did(event)
	if next.BeginsPause() {
		since := n.Now
		n.Passes(next)
		for {
			event := n.nextTick(n.Ticks)
			if event == nil || network.Did(event).Paused != network.GoesOn {
				break
			}
			n.Passes(network.Did(event))
		}
		n.Resumes(since, most, next.Paused == network.Fires, a)
		return true
	}
	if due > 0 && due < next.Time || next.Own != (due == next.Time) {
		return false
	}
	n.TakesPart(next, most, a)
	return true
}

// TakesPart answers a node that waits for a timer of its own, if it has one, which is due after
// some time: the clock advances. Its own timers fire with the next step of the runtime. Others'
// time passes within this one.
func (n *Environment) TakesPart(next network.Event, most time.Duration, a *model.Answer) {
	passed := next.Time - n.Now
	n.Passes(next)
	if next.Own {
		// What is sent at this time by others may come before or after the timer fires. In a
		// walk it is not known yet whether anything will be.
		a.Time = model.Time{Passed: most, Tie: n.Pace != nil || n.canArrive()}
		n.armed = a.Time.Tie
		return
	}
	a.Time.Passed, a.Again = passed, true
	n.Deliver(&a.Reaction)
}

// Resumes answers a node that was paused while it waited, since some time, for a timer of its own
// that is due some time after that; 0: it has none. Meanwhile the clock has advanced. A timer that
// was due by now fires with the next step of the runtime: before it has what has come, or after.
func (n *Environment) Resumes(since, most time.Duration, fires bool, a *model.Answer) {
	a.Time.Passed, a.Again = n.Now-since, true
	if n.armed = most > 0 && a.Time.Passed == most; !fires {
		n.Deliver(&a.Reaction)
	}
}

// stop ends the execution: it has left the script, or comes no further. Nothing that it could do
// before this is missed, since it can do nothing but wait.
func (n *Environment) stop(most time.Duration, a *model.Answer) {
	if a.Clients = 0; most == 0 {
		a.Time.Idle = true
	} else {
		a.Failure = "the clock does not advance any more"
	}
}

// Moment is the present one: see pace. The first input is number 0.
func (n *Environment) Moment() int { return 2*(n.Input+1+n.Ticks) + 1 }

// canArrive says whether something can arrive now.
func (n *Environment) canArrive() bool {
	if slices.ContainsFunc(n.conns, n.canConnect) {
		return true
	}
	for i := range n.Arrivals {
		if !n.Done[i] && n.happened(n.Arrivals[i].After) && n.comes(i) {
			return true
		}
	}
	return false
}

// clients is whether others may come, so that a server that only waits for them is not done. When
// it waits, it asks whether time passes, and is told.
func (n *Environment) clients() int {
	if n.deviation < 0 || !n.Ordered {
		return 1
	}
	return 0
}

// Passes has the node take part in an advance of the clock, whether it runs or not.
func (n *Environment) Passes(tick network.Event) {
	n.Ticks++
	n.make(skeleton.Event{Label: tick, To: skeleton.Nobody, Tick: n.Ticks})
	n.Now = tick.Time
}

// Number has an answer name connections as the program does.
func (n *Environment) Number(a *model.Answer) {
	for i := range a.Opened {
		a.Ends = append(a.Ends, n.conns[a.First+i].ends)
	}
	a.Conn, a.First = a.Conn-n.base, a.First-n.base
	for i := range a.Deliveries {
		a.Deliveries[i].Conn -= n.base
	}
	for i := range a.Opened {
		a.Opened[i] -= n.base
	}
}

// gatesOf are the gates of connections that are not as the node was told. A node that is ordered
// needs none: all its inputs depend on each other.
func (n *Environment) gatesOf() (list []model.Gate) {
	if n.isOneOrder() {
		return nil
	}
	if n.gates == nil {
		n.gates = map[int]model.Gate{}
	}
	for at, c := range n.conns {
		if c.id == "" || c.closed || c.waits {
			continue
		}
		if g := touched.Gate(at, c.id, n.Arrivals, n.Done); n.gates[at] != g {
			n.gates[at] = g
			list = append(list, g)
		}
	}
	return list
}

// isOneOrder says whether any two inputs depend on each other.
func (n *Environment) isOneOrder() bool { return n.Ordered && !n.Apart }

// touches lists what an input depends on besides what it is about.
func (n *Environment) touches(from int, was []bool) []model.Touch {
	if n.isOneOrder() {
		return []model.Touch{{Object: dependence.Node, Kind: model.Write}}
	}
	return touched.By(n.Made[from:], n.Arrivals, was, wanted(n))
}

// wanted says of each arrival on a connection whether it may come now as far as the script and the
// connection go, or is there.
func wanted(n *Environment) []bool {
	is := make([]bool, len(n.Arrivals))
	if n.Ordered {
		return is
	}
	for i := range n.Arrivals {
		a := &n.Arrivals[i]
		sent := network.Did(&a.Send)
		is[i] = n.Done[i] || sent.Kind != model.Connect && n.connOf(sent.Conn) >= 0 && takesNext(n, a)
	}
	return is
}
