// Package local searches the local states of a protocol without its global states: LMC, section 4.
//
// There is one network, which only grows: a message that some node can send may arrive at its node
// in every local state, any number of times. Each local state and event is executed once, until
// nothing is new. That is the fixpoint. It has all local states and messages of all runs, and maybe
// more: some may need messages that no single run has. So a combination of local states that
// violates a property is only a candidate. Whether a run leads to it is the question of package
// global, which is asked with a goal.
//
// The fixpoint also tells what a node may send from a local state on. By that the search for a goal
// leaves out what cannot matter (Targets).
package local

import (
	"math"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Config says what to explore.
type Config struct {
	Table *table.Table
	Nodes int
	// Crashes: nodes may crash.
	Crashes bool
	// Depth bounds the longest chain of events of which each needs what the one before has made: a
	// local state, or a message. A run of so many steps has no longer one. Zero is no bound.
	Depth int
	// Stop is called now and then, with how many events were executed. A reason ends it. Without a
	// bound on the depth, Endless is one.
	Stop func(events int) (reason string)
}

// mostEvents is how many events a fixpoint may have without a bound on the depth. Over a network
// that never loses what was sent, a number such as a ballot may grow for ever, though not in a run.
// Endless is the reason then.
const (
	mostEvents = 1 << 17
	Endless    = "the local search has met 131,072 pairs of a local state and an event"
)

// Edge is a transition of one node.
type Edge struct {
	Next table.Local
	// Needs are the messages that it consumes, sorted; none for own events.
	Needs []table.Message
	Sent  []table.Message
	// Fails says that it is a violation, Crash that the node crashes.
	Fails, Crash bool
}

// Fixpoint is what all nodes may do.
type Fixpoint struct {
	// Edges are by node and local state. A local state that is not reached has none.
	Edges [][][]Edge
	// Reached are the local states of each node, in the order in which they were met.
	Reached [][]table.Local
	// Inbox are the messages to each node.
	Inbox [][]table.Message
	// Messages is a number above those of all messages.
	Messages int
	// Events is how many events were executed.
	Events int
	// FailsAtStart: a node may fail before it has a local state.
	FailsAtStart bool
	// IsCut says that the bound on the depth has left something out.
	IsCut bool
}

// Has says whether a local state belongs to the fixpoint, and not to what a bound has left out.
func (f *Fixpoint) Has(node int, l table.Local) bool { return int(l) < len(f.Edges[node]) }

// explorer is the state of Explore.
type explorer struct {
	Config
	reader  *table.Reader
	result  *Fixpoint
	isLocal []map[table.Local]bool // by node
	isSent  map[table.Message]bool
	inbox   [][]table.Message // by receiver, in the order in which they were met
	// waiting are the messages that a quorum transition may take, by node, local state and number.
	waiting map[quorum][]table.Message
	// done is how many local states and messages of each node have been combined.
	doneLocals, doneMessages []int
	stopped                  string
}

// quorum is a quorum transition of a local state.
type quorum struct {
	node   int
	local  table.Local
	number int
}

// Explore computes the fixpoint. A reason says why it is not complete.
func Explore(c Config) (f *Fixpoint, reason string, err error) {
	x := &explorer{
		Config: c, reader: table.NewReader(c.Table), isSent: map[table.Message]bool{},
		result: &Fixpoint{Edges: make([][][]Edge, c.Nodes), Reached: make([][]table.Local, c.Nodes)},
		inbox:  make([][]table.Message, c.Nodes), waiting: map[quorum][]table.Message{},
		doneLocals: make([]int, c.Nodes), doneMessages: make([]int, c.Nodes),
	}
	for node := range c.Nodes {
		x.isLocal = append(x.isLocal, map[table.Local]bool{})
		start, err := c.Table.Start(node)
		if err != nil {
			return nil, "", err
		}
		for _, o := range start.Outcomes {
			if x.result.FailsAtStart = x.result.FailsAtStart || o.Failure != ""; o.Failure == "" {
				x.meet(node, o.Next, o.Sent)
			}
		}
	}
	for round := 0; x.stopped == ""; round++ {
		isNew, err := x.round(round)
		if err != nil {
			return nil, "", err
		}
		if !isNew || x.result.IsCut {
			break
		}
	}
	x.result.Messages++ // a number above the last one
	x.result.Inbox = x.inbox
	return x.result, x.stopped, nil
}

// round combines what is new at all nodes. If the depth is bounded, a round is one link of all
// chains: it takes only what there was before it, and behind the last link it only looks.
func (x *explorer) round(number int) (isNew bool, err error) {
	locals, messages := make([]int, x.Nodes), make([]int, x.Nodes)
	for node := range x.Nodes {
		locals[node], messages[node] = len(x.result.Reached[node]), len(x.inbox[node])
		isNew = isNew || x.doneLocals[node] < locals[node] || x.doneMessages[node] < messages[node]
	}
	x.result.IsCut = isNew && x.Depth > 0 && number == x.Depth
	if x.result.IsCut {
		return isNew, nil
	}
	// Without a bound, what a round makes may be taken in the same round: there are fewer of them.
	for node := range x.Nodes {
		if x.Depth == 0 {
			locals[node], messages[node] = math.MaxInt, math.MaxInt
		}
		if err := x.advance(node, locals[node], messages[node]); err != nil {
			return false, err
		}
	}
	return isNew, nil
}

// meet takes note of a local state, and of messages.
func (x *explorer) meet(node int, l table.Local, sent []table.Message) {
	if !x.isLocal[node][l] {
		x.isLocal[node][l] = true
		x.result.Reached[node] = append(x.result.Reached[node], l)
		for int(l) >= len(x.result.Edges[node]) {
			x.result.Edges[node] = append(x.result.Edges[node], nil)
		}
	}
	for _, m := range sent {
		if !x.isSent[m] {
			x.isSent[m] = true
			to := x.reader.Message(m).To
			x.inbox[to] = append(x.inbox[to], m)
			x.result.Messages = max(x.result.Messages, int(m))
		}
	}
}

// advance combines what is new at a node: new local states with all messages, and new messages with
// all local states. It takes the first ones only, as many as it is told.
func (x *explorer) advance(node, locals, messages int) error {
	reached := &x.result.Reached[node]
	for x.doneLocals[node] < min(locals, len(*reached)) && x.stopped == "" {
		l := (*reached)[x.doneLocals[node]]
		x.doneLocals[node]++
		if err := x.own(node, l); err != nil {
			return err
		}
		for _, m := range x.inbox[node][:x.doneMessages[node]] {
			if err := x.deliver(node, l, m); err != nil {
				return err
			}
		}
	}
	for x.doneMessages[node] < min(messages, len(x.inbox[node])) && x.stopped == "" {
		m := x.inbox[node][x.doneMessages[node]]
		x.doneMessages[node]++
		// Local states that come up meanwhile find the message among those that are done.
		for _, l := range (*reached)[:x.doneLocals[node]] {
			if err := x.deliver(node, l, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// own executes the events of a local state that need no message.
func (x *explorer) own(node int, l table.Local) error {
	entries, err := x.reader.Own(node, l)
	if err != nil {
		return err
	}
	for i, e := range entries {
		// How many crashes a run may have is not looked at here: one is as many.
		if x.reader.State(node, l).Own[i].Kind != table.Crash || x.Crashes {
			x.execute(node, l, e, nil, x.reader.State(node, l).Own[i].Kind == table.Crash)
		}
	}
	return nil
}

// deliver executes the arrival of a message, or keeps it for quorum transitions.
func (x *explorer) deliver(node int, l table.Local, m table.Message) error {
	e, err := x.reader.Deliver(l, m)
	if err != nil {
		return err
	}
	// A message that no quorum waits for comes to Receive.
	if e.Quorums == 0 {
		x.execute(node, l, e, []table.Message{m}, false)
		return nil
	}
	for number, size := range x.reader.State(node, l).Quorums {
		if e.Quorums>>number&1 == 0 {
			continue
		}
		q := quorum{node, l, number}
		earlier := x.waiting[q]
		x.waiting[q] = append(earlier, m)
		if err := x.gather(q, size, []table.Message{m}, earlier); err != nil {
			return err
		}
	}
	return nil
}

// gather executes all sets that have some messages, and others of those that came earlier.
func (x *explorer) gather(q quorum, size int, chosen, earlier []table.Message) error {
	if size == 0 || len(chosen) == size {
		set := slices.Sorted(slices.Values(chosen))
		e, err := x.Table.Gather(q.node, q.local, q.number, set)
		if err != nil {
			return err
		}
		x.execute(q.node, q.local, e, set, false)
	}
	if len(chosen) == size || x.stopped != "" {
		return nil
	}
	for i, m := range earlier {
		// A set has one message of each sender at most, and a message once.
		isOther := func(other table.Message) bool {
			return x.reader.Message(other).From != x.reader.Message(m).From
		}
		if slices.IndexFunc(chosen, func(other table.Message) bool { return !isOther(other) }) >= 0 {
			continue
		}
		if err := x.gather(q, size, append(slices.Clone(chosen), m), earlier[:i]); err != nil {
			return err
		}
	}
	return nil
}

// stopEvery is after how many events Stop is asked.
const stopEvery = 1 << 8

// execute takes note of what an event does.
func (x *explorer) execute(node int, l table.Local, e *table.Entry, needs []table.Message, crash bool) {
	x.result.Events++
	switch {
	case x.result.Events%stopEvery != 0:
	case x.Depth == 0 && x.result.Events >= mostEvents:
		x.stopped = Endless
	case x.Stop != nil:
		x.stopped = x.Stop(x.result.Events)
	}
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		edge := Edge{o.Next, needs, o.Sent, o.Failure != "", crash}
		x.result.Edges[node][l] = append(x.result.Edges[node][l], edge)
		// A failed handler leaves no state in which a run goes on.
		if o.Failure == "" {
			x.meet(node, o.Next, o.Sent)
		}
	}
}
