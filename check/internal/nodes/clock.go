package nodes

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/exclusive"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/check/internal/nodes/turns"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// clock is what a node knows of the common clock in one execution, and whether it goes on.
type clock struct {
	now   time.Duration // what it shows
	ticks int           // how often it has advanced
	// armed: a timer of the node is due now, and what arrives at the same time may be first.
	armed bool
	// forced: what arrives does so at once, wherever the script has it read.
	forced bool
	// rests: the node can do nothing else, and the script says nothing of a time to which the clock
	// advances then. Its first timer is due at the given time; 0: it has none.
	rests bool
	due   time.Duration
}

// pass is called when the node can do nothing but wait, for a timer that is due after some time or,
// with 0, for others. All that was sent has to arrive first. The clock then advances if the script
// says so and the node's timer is not due before. Else the execution ends here.
func (n *environment) pass(most time.Duration, a *model.Answer) {
	if n.deviation >= 0 || n.rests {
		n.stop(most, a)
		return
	}
	if a.Clients = 1; most == model.Once {
		n.deliver(&a.Reaction)
		a.Again = true
		return
	}
	// What has arrived came before the node's own timer, which fires now. This is no other time.
	// The runtime asks for one more than the time that is left, if that is 1 ns.
	timer := n.armed && most > 0 && most <= model.Once+1
	if n.armed = false; timer {
		a.Time.Passed = most
		return
	}
	n.forced = true
	n.deliver(&a.Reaction)
	n.forced = false
	// In the replay of a walk each reset comes when it is recorded (breaksNext).
	if !a.Shows() && n.pace == nil {
		n.breakAll(&a.Reaction)
	}
	if a.Shows() {
		a.Again = true
		return
	}
	// All that is left to find out is how long the node would wait by itself.
	due := time.Duration(0)
	if most > 0 {
		due = n.now + most
	}
	if !n.advance(due, most, a) {
		n.rests, n.due = true, due
		n.stop(most, a)
	}
}

// advance has the clock advance if the script says so, and says whether it has.
func (n *environment) advance(due, most time.Duration, a *model.Answer) bool {
	event := n.nextTick(n.ticks)
	if event == nil {
		return false
	}
	next := network.Did(event)
	if due > 0 && due < next.Time || next.Own != (due == next.Time) {
		return false
	}
	n.takesPart(next, most, a)
	return true
}

// takesPart answers a node that waits for a timer of its own, if it has one, which is due after
// some time: the clock advances. Its own timers fire with the next step of the runtime. Others'
// time passes within this one.
func (n *environment) takesPart(next network.Event, most time.Duration, a *model.Answer) {
	passed := next.Time - n.now
	n.passes(next)
	if next.Own {
		// What is sent at this time by others may come before or after the timer fires. In a
		// walk it is not known yet whether anything will be.
		a.Time = model.Time{Passed: most, Tie: n.pace != nil || n.canArrive()}
		n.armed = a.Time.Tie
		return
	}
	a.Time.Passed, a.Again = passed, true
	n.deliver(&a.Reaction)
}

// stop ends the execution: it has left the script, or comes no further. Nothing that it could do
// before this is missed, since it can do nothing but wait.
func (n *environment) stop(most time.Duration, a *model.Answer) {
	if a.Clients = 0; most == 0 {
		a.Time.Idle = true
	} else {
		a.Failure = "the clock does not advance any more"
	}
}

// moment is the present one: see pace. The first input is number 0.
func (n *environment) moment() int { return 2*(n.input+1+n.ticks) + 1 }

// canArrive says whether something can arrive now.
func (n *environment) canArrive() bool {
	if n.hasHealed() && slices.ContainsFunc(n.conns, (*conn).isWaiting) {
		return true
	}
	for i := range n.arrivals {
		if !n.done[i] && n.happened(n.arrivals[i].After) && n.comes(i) {
			return true
		}
	}
	return false
}

// clients is whether others may come, so that a server that only waits for them is not done. When
// it waits, it asks whether time passes, and is told.
func (n *environment) clients() int {
	if n.deviation < 0 || !n.ordered {
		return 1
	}
	return 0
}

// waitsFor is what the node waits for in the end; nil: it is gone.
func (n *environment) waitsFor(log *sut.Log) skeleton.Label {
	if n.rests || log.Outcome == sut.Deadlock || log.Outcome == sut.Livelock || course.IsServer(log) {
		return network.Event{Kind: model.Pass, Time: n.due}
	}
	return nil
}

// end notes what the end of the node does to its connections.
func (n *environment) end(log *sut.Log) {
	switch log.Outcome {
	case sut.Deadlock, sut.Livelock, sut.Redundant:
	case sut.Crashed: // it may run again, and goes on counting
		input := n.input
		n.exit()
		n.input = input
	default: // the process is gone, in whatever way
		if n.waitsFor(log) == nil {
			n.exit()
		}
	}
}

// exit notes that the node is gone: it holds nothing any more, and its connections and listeners
// are closed, in the order of their numbers. Connections that it has not accepted are, too.
func (n *environment) exit() {
	n.input = pasts.AtEnd
	for _, e := range exclusive.LetGo(n.net, n.made) {
		n.make(e)
	}
	if n.said != nil {
		n.said.Gone(n.node)
	}
	for i, c := range n.conns {
		if !c.closed {
			n.give(model.Input{Kind: model.Close, Conn: i})
		}
	}
	n.datagrams.Exit()
}

// complete runs all nodes in turns from a prefix on (package turns). It returns nil if no execution
// begins with that.
func complete(x *explorer, prefix skeleton.Global) (skeleton.Global, error) {
	if !datagram.IsPossible(x.net, prefix, x.config.Limits()) ||
		!slow.IsPossible(prefix, x.config.SlowLimits()) {
		return nil, nil
	}
	g, limit, err := turns.Complete(x.net, prefix, x.extend)
	x.unknown = cmp.Or(x.unknown, limit)
	if g != nil && !network.IsDue(g) && lives.AreAllUp(g) {
		x.never = cmp.Or(x.never, network.NeverListens(x.net, g))
	}
	return g, err
}

// crashes makes the crash that the script has next, if it comes now; nil: it has none.
func (n *environment) crashes(in *model.Input) *model.Crash {
	if n.deviation >= 0 {
		return nil
	}
	now := n.moment()
	if n.pace == nil && n.net.CrashLimit(n.node) > 0 {
		n.Points.Note(lives.Point{Made: len(n.made), Input: n.input + 1, Moment: now,
			Unsynced: in.Unsynced}, in.Kind == model.Disk)
	}
	if len(n.made) >= len(n.script) || network.Did(&n.script[len(n.made)]).Kind != model.Crashed {
		return nil
	}
	next := &n.script[len(n.made)]
	lost := network.Did(next).Lost
	at, known := n.Fate[next.Name]
	if n.pace == nil && (!known || at > now || lost > in.Unsynced) ||
		n.pace != nil && !n.pace.Breaks(next.Name, now) {
		return nil
	}
	n.Crashed = now
	n.crash(lost)
	return &model.Crash{Lost: lost}
}

// crash notes that the node crashes, and loses so many operations on its disk.
func (n *environment) crash(lost int) {
	n.make(skeleton.Event{Label: network.Event{Kind: model.Crashed, Lost: lost}, To: skeleton.Nobody})
}

// restart notes that the node runs again, with the clock that all nodes have. All that it had open
// is closed. Nothing is left of its program but the disk.
func (n *environment) restart() {
	n.make(skeleton.Event{Label: network.Event{Kind: model.Restarted}, To: skeleton.Nobody})
	n.base = len(n.conns)
	n.armed, n.rests, n.due = false, false, 0
}

// restarts has a node that has crashed take part in the advances of the clock that come before it
// runs again, as the script says, and says whether it does. Beyond the script it runs again at once
// where it goes on. Down is called wherever the node may run again, or wait for the clock to
// advance; nil: nobody wants to know.
func (n *environment) restarts(down func()) bool {
	for n.deviation < 0 {
		if down != nil {
			down()
		}
		made := len(n.made)
		switch {
		case made < len(n.script) && n.script[made].Tick > 0:
			n.passes(network.Did(&n.script[made]))
		case made < len(n.script) && network.Did(&n.script[made]).Kind == model.Restarted,
			made >= len(n.script) && n.goesOn:
			n.restart()
			return true
		default:
			return false
		}
	}
	return false
}

// BeginsAnew implements lives.Node.
func (n *environment) BeginsAnew(log *sut.Log, down func()) bool {
	if log.Outcome != sut.Crashed || !n.restarts(down) {
		return false
	}
	n.Was, n.Disk, n.Born = n.went(log), slices.Clone(log.Disk), n.now
	n.Fate, n.Points, n.Before = nil, lives.Points{}, n.input+1
	return true
}

// Life implements lives.Node.
func (n *environment) Life() *lives.Mortal { return &n.Mortal }

// Follows implements lives.Node.
func (n *environment) Follows() (script, made []skeleton.Event, follows bool) {
	return n.script, n.made, n.deviation < 0
}

// Clone implements lives.Node.
func (n *environment) Clone() *environment {
	c := *n
	c.made, c.inputs, c.done = slices.Clone(n.made), slices.Clone(n.inputs), slices.Clone(n.done)
	c.count, c.astray, c.gates = maps.Clone(n.count), maps.Clone(n.astray), nil
	c.datagrams.Make, c.Points = c.make, lives.Points{} // where nodes may crash, it has no sockets
	c.conns = slices.Clone(n.conns)
	for i, was := range n.conns {
		one := *was
		one.inFlight = slices.Clone(was.inFlight)
		c.conns[i] = &one
	}
	return &c
}

// went is how the node has come to where it is in the execution of which this is the log.
func (n *environment) went(log *sut.Log) lives.Lives {
	life := lives.Life{Choices: course.ChoicesOf(log.Events)}
	if log.Outcome == sut.Crashed {
		life.Crash = n.Crashed
	}
	return n.Was.With(life)
}

// passes has the node take part in an advance of the clock, whether it runs or not.
func (n *environment) passes(tick network.Event) {
	n.ticks++
	n.make(skeleton.Event{Label: tick, To: skeleton.Nobody, Tick: n.ticks})
	n.now = tick.Time
}

// number has an answer name connections as the program does.
func (n *environment) number(a *model.Answer) {
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
