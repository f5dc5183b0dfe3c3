// Package environment answers for the other nodes in one execution of one node.
//
// An execution follows a local skeleton, which is called the script here. What arrives does so as
// soon as all before it has happened, and not before the script has it read. Nothing else runs
// meanwhile: the node never waits for another one. In a walk there is no script. There, others say
// what comes and when (Walked).
//
// Each input of the node may be an event, and then something may arrive. What an event is, and how
// time passes, is in answer.go; what arrives, resets, and partitions are in arrive.go. What the
// node has done of its script is a Track.
package environment

import (
	"maps"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/baton"
	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/exclusive"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
	"github.com/tandem-mc/tandem/check/internal/nodes/told"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Environment is what a node sees of the others in an execution. It implements sut.Peers. What is
// exported is set before the execution begins, and read when it has ended; a walk also changes it
// on the way.
type Environment struct {
	Track
	Clock
	lives.Mortal
	// Arrivals is what others send to the node, and Done says which of that has come.
	Arrivals []skeleton.Arrival
	Done     []bool
	// Later: what the script does not take arrives only when all of it has happened.
	Later bool
	// Apart: the node is ordered, but was explored as one that is not. Its inputs do not depend on
	// each other because of the order: that would hide data races that it has.
	Apart bool
	// Hold says what arrives in the epoch in which the network is parted, and Tried is how many
	// connects there were across the partition, by that epoch.
	Hold  *network.Hold
	Tried map[int]int
	// Baton says when the events of the script may happen; nil: at any time.
	Baton *baton.Baton
	// Pace says when arrivals and resets come; nil: as soon as they can and the script has them.
	Pace pace.Pace
	// Said is, in a walk, what all nodes have published; nil: the script says what is wrong.
	Said *properties.Said
	// Datagrams are its datagram sockets. Each has a place in conns, where it is closed.
	Datagrams datagram.Sockets
	net       *network.Nodes
	sent      []int // the epochs in which arrivals come if nothing holds them
	// conns are all connections and listeners, by number, and dialled how many of them the node has
	// opened. gates are those of connections, as they were told.
	conns   []*conn
	dialled int
	gates   map[int]model.Gate
	// base is the first number of those that are of the present life of the node. The program
	// counts them from 0 in each.
	base int
}

// Clock is what a node knows of the common clock in one execution, and whether it goes on.
type Clock struct {
	Now   time.Duration // what it shows
	Ticks int           // how often it has advanced
	// armed: a timer of the node is due now, and what arrives at the same time may be first.
	armed bool
	// forced: what arrives does so at once, wherever the script has it read.
	forced bool
	// rests: the node can do nothing else, and the script says nothing of a time to which the clock
	// advances then. Its first timer is due at the given time; 0: it has none.
	rests bool
	due   time.Duration
}

// New is that of an execution which has not begun.
func New(net *network.Nodes, node int, script []skeleton.Event, arrivals []skeleton.Arrival,
) *Environment {
	n := &Environment{net: net, Arrivals: arrivals, Done: make([]bool, len(arrivals)),
		Track: newTrack(node, script, net.Ordered[node]), Tried: map[int]int{}}
	n.Datagrams = datagram.Sockets{Net: net, Node: node, Make: n.make, Carrier: &datagram.Explored{Net: net,
		Node: node, Script: script, Arrivals: arrivals, Now: n.present}}
	n.Hold = network.HoldOf(net, node, script, arrivals)
	for i := range arrivals {
		n.Done[i] = network.IsFoundOut(&arrivals[i].Send) // it does not arrive
		n.sent = append(n.sent, network.Due(script, &arrivals[i]))
	}
	return n
}

// An execution is explored as far as it follows its skeleton. A goroutine that makes an event which
// the skeleton does not have, or not with these events before it, goes no further: nothing that
// comes of the event counts. Others go on, since they may leave the skeleton in other places.
// Whether an event leaves it depends only on what is before the event. So the node with such
// goroutines is a program like any other, and the search misses none of its executions.

// Watched is the environment of an execution that is explored: it knows what is before each event
// while the node runs, and has those halt who leave the script (model.Answer).
func (n *Environment) Watched() sut.Peers {
	n.halts = true
	if n.Ordered {
		return n
	}
	n.pasts = pasts.New(len(n.Arrivals))
	return watching{n}
}

// watching is an environment that knows what is before each event.
type watching struct{ *Environment }

// Watch implements sut.Watcher.
func (w watching) Watch(events []sut.Event) { w.pasts.Read(events) }

// Exchange implements sut.Peers. Each input is an event of the node. What arrives because of it
// does so in the same transition, as with peers.
func (n *Environment) Exchange(in model.Input) (model.Answer, error) {
	if crash := n.crashes(&in); crash != nil {
		return model.Answer{Crash: crash}, nil
	}
	in.Conn += n.base
	a, err := n.Answer(in)
	n.Number(&a)
	return a, err
}

// End notes what the end of the node does to its connections. It comes after all of the log.
func (n *Environment) End(log *sut.Log) {
	if n.pasts != nil {
		n.pasts.Read(log.Events)
		n.pasts.End()
	}
	switch log.Outcome {
	case sut.Deadlock, sut.Livelock, sut.Redundant:
	case sut.Crashed: // it may run again, and goes on counting
		input := n.Input
		n.exit()
		n.Input = input
	default: // the process is gone, in whatever way
		if n.WaitsFor(log) == nil {
			n.exit()
		}
	}
}

// exit notes that the node is gone: it holds nothing any more, and its connections and listeners
// are closed, in the order of their numbers. Connections that it has not accepted are, too.
func (n *Environment) exit() {
	n.Input = pasts.AtEnd
	for _, e := range exclusive.LetGo(n.net, n.Made) {
		n.make(e)
	}
	if n.Said != nil {
		n.Said.Gone(n.Node)
	}
	for i, c := range n.conns {
		if !c.closed {
			n.give(model.Input{Kind: model.Close, Conn: i})
		}
	}
	n.Datagrams.Exit()
}

// WaitsFor is what the node waits for in the end; nil: it is gone.
func (n *Environment) WaitsFor(log *sut.Log) skeleton.Label {
	if n.rests || log.Outcome == sut.Deadlock || log.Outcome == sut.Livelock || course.IsServer(log) {
		return network.Event{Kind: model.Pass, Time: n.due}
	}
	return nil
}

// Went is how the node has come to where it is in the execution of which this is the log.
func (n *Environment) Went(log *sut.Log) lives.Lives {
	life := lives.Life{Choices: course.ChoicesOf(log.Events)}
	if log.Outcome == sut.Crashed {
		life.Crash = n.Crashed
	}
	return n.Was.With(life)
}

// crashes makes the crash that the script has next, if it comes now; nil: it has none.
func (n *Environment) crashes(in *model.Input) *model.Crash {
	if n.deviation >= 0 {
		return nil
	}
	now := n.Moment()
	if n.Pace == nil && n.net.CrashLimit(n.Node) > 0 {
		n.Points.Note(lives.Point{Made: len(n.Made), Input: n.Input + 1, Moment: now,
			Unsynced: in.Unsynced}, in.Kind == model.Disk)
	}
	if len(n.Made) >= len(n.Script) || network.Did(&n.Script[len(n.Made)]).Kind != model.Crashed {
		return nil
	}
	next := &n.Script[len(n.Made)]
	lost := network.Did(next).Lost
	at, known := n.Fate[next.Name]
	if n.Pace == nil && (!known || at > now || lost > in.Unsynced) ||
		n.Pace != nil && !n.Pace.Breaks(next.Name, now) {
		return nil
	}
	n.Crashed = now
	n.Crash(lost)
	return &model.Crash{Lost: lost}
}

// Crash notes that the node crashes, and loses so many operations on its disk.
func (n *Environment) Crash(lost int) {
	n.make(skeleton.Event{Label: network.Event{Kind: model.Crashed, Lost: lost}, To: skeleton.Nobody})
}

// Restart notes that the node runs again, with the clock that all nodes have. All that it had open
// is closed. Nothing is left of its program but the disk.
func (n *Environment) Restart() {
	n.make(skeleton.Event{Label: network.Event{Kind: model.Restarted}, To: skeleton.Nobody})
	n.base = len(n.conns)
	n.armed, n.rests, n.due = false, false, 0
}

// Restarts has a node that has crashed take part in the advances of the clock that come before it
// runs again, as the script says, and says whether it does. Beyond the script it runs again at once
// where it goes on. Down is called wherever the node may run again, or wait for the clock to
// advance; nil: nobody wants to know.
func (n *Environment) Restarts(down func()) bool {
	for n.deviation < 0 {
		if down != nil {
			down()
		}
		made := len(n.Made)
		switch {
		case made < len(n.Script) && n.Script[made].Tick > 0:
			n.Passes(network.Did(&n.Script[made]))
		case made < len(n.Script) && network.Did(&n.Script[made]).Kind == model.Restarted,
			made >= len(n.Script) && n.GoesOn:
			n.Restart()
			return true
		default:
			return false
		}
	}
	return false
}

// BeginsAnew implements lives.Node.
func (n *Environment) BeginsAnew(log *sut.Log, down func()) bool {
	if log.Outcome != sut.Crashed || !n.Restarts(down) {
		return false
	}
	n.Was, n.Disk, n.Born = n.Went(log), slices.Clone(log.Disk), n.Now
	n.Fate, n.Points, n.Before = nil, lives.Points{}, n.Input+1
	return true
}

// Life implements lives.Node.
func (n *Environment) Life() *lives.Mortal { return &n.Mortal }

// Connections are the names of all that the node has had, by number; "" is a listener.
func (n *Environment) Connections() (list []string) {
	for _, c := range n.conns {
		list = append(list, c.id)
	}
	return list
}

// Follows implements lives.Node.
func (n *Environment) Follows() (script, made []skeleton.Event, follows bool) {
	return n.Script, n.Made, n.deviation < 0
}

// Clone implements lives.Node.
func (n *Environment) Clone() *Environment {
	c := *n
	c.Made, c.Inputs, c.Done = slices.Clone(n.Made), slices.Clone(n.Inputs), slices.Clone(n.Done)
	c.Tried = maps.Clone(n.Tried)
	c.count, c.astray, c.gates = maps.Clone(n.count), maps.Clone(n.astray), nil
	c.Datagrams, c.Points = n.Datagrams.Again(c.make, c.present), lives.Points{}
	c.conns = slices.Clone(n.conns)
	for i, was := range n.conns {
		one := *was
		one.inFlight = slices.Clone(was.inFlight)
		c.conns[i] = &one
	}
	return &c
}

// Parting is what the node has done that is not recorded.
func (n *Environment) Parting() baton.Parting {
	recorded := "does no more"
	if n.deviation < len(n.Script) {
		recorded = told.Words(n.net, &n.Script[n.deviation])
	}
	return baton.Parting{Node: n.net.Names[n.Node], Event: n.deviation + 1, Recorded: recorded,
		Now: told.Words(n.net, &n.Made[n.deviation])}
}

// Undone is what a node which now does something else, such as to end, has not done of what is
// recorded. It says whether there is anything, and the node has not parted before.
func (n *Environment) Undone(now string) (p baton.Parting, is bool) {
	made := len(n.Made)
	if made >= len(n.Script) || n.HasLeft() {
		return p, false
	}
	return baton.Parting{Node: n.net.Names[n.Node], Event: made + 1,
		Recorded: told.Words(n.net, &n.Script[made]), Now: now}, true
}

// IsDue says whether the node waits in the end, for a timer of its own that is due.
func (n *Environment) IsDue() bool { return n.due > 0 }

// IsLate says whether somebody connects who can do so only after the listener was closed. There is
// no such execution: the connect is another one.
func (n *Environment) IsLate() bool {
	for i := range n.Arrivals {
		a := &n.Arrivals[i]
		if !n.Done[i] && n.happened(a.After) && slices.ContainsFunc(n.conns, func(c *conn) bool {
			return c.closed && c.comesTo(&a.Send)
		}) {
			return true
		}
	}
	return false
}
