package protocol

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Live has the nodes of a model run outside of a check, one event after the other, as a program has
// them happen. Package online does that over a network. Each handler runs as in a check, on copies
// that are imaged afterwards. So at any moment the state of a node is a few bytes, and a state from
// which a check can begin.
//
// It may be used by several goroutines at a time.
type Live struct{ machine *machine }

// NewLive is for all nodes of a model, from their start on. What its nodes send only its nodes
// understand: an image is not the same in two of them.
func NewLive(m *Model) (*Live, error) {
	if m.Running != nil {
		return nil, fmt.Errorf("the model runs already: take the one that it was made of")
	}
	machine, err := newMachine(m)
	if err != nil {
		return nil, err
	}
	return &Live{machine}, nil
}

// LiveNode is a node that runs. It is used by one goroutine at a time.
type LiveNode struct {
	machine *machine
	id      int
	choose  func(n int) int
	state   []byte // nil before the start
	// inbox are messages that wait: for a set, or until the node is up. The oldest is first.
	inbox []table.Sent
	sent  []Packet // by the event that is under way
}

// maxInbox bounds how many messages wait at a node. Beyond, the oldest is late for ever.
const maxInbox = 64

// Packet is a message on its way.
type Packet struct {
	From, To ID
	Image    []byte
}

// LiveState is what a node keeps at a moment. It does not change.
type LiveState struct {
	image []byte
	inbox []table.Sent
}

// Size is how many bytes it takes.
func (s LiveState) Size() int {
	// Messages that wait are a part of it.
	n := len(s.image)
	for _, m := range s.inbox {
		n += len(m.Image)
	}
	return n
}

// Failure is the error of an event that violates something: a panic or a failed assertion.
type Failure struct{ What string }

func (f *Failure) Error() string { return f.What }

// Node returns a node that has not started. Choose is Env.Choose.
func (l *Live) Node(id ID, choose func(n int) int) *LiveNode {
	return &LiveNode{machine: l.machine, id: int(id), choose: choose}
}

// Start starts the node, and returns what it sends. All that a node does may return a Failure, or
// an error of the model, such as a state that has no image.
func (n *LiveNode) Start() ([]Packet, error) {
	if err := n.run(table.Call{Kind: table.Start}); err != nil {
		return nil, err
	}
	// With LateStart it is down yet.
	if n.state[0] == 1 {
		if err := n.run(table.Call{Kind: table.Restart}); err != nil {
			return nil, err
		}
	}
	return n.settle()
}

// Receive handles a message. Bytes that are no message are an error, and change nothing.
func (n *LiveNode) Receive(p Packet) ([]Packet, error) {
	if _, err := n.machine.images.Decode(p.Image); err != nil {
		return nil, fmt.Errorf("a message cannot be read: %w", err)
	}
	// States that were handed out share the memory, so nothing is overwritten.
	if len(n.inbox) == maxInbox {
		n.inbox = n.inbox[1:]
	}
	n.inbox = append(slices.Clip(n.inbox), table.Sent{From: int(p.From), To: n.id, Image: p.Image})
	return n.settle()
}

// Timers are those that are set. They are equal if and only if the timers are.
func (n *LiveNode) Timers() ([]string, error) {
	l, err := n.machine.decode(n.id, n.state)
	return l.timers, err
}

// Timeout fires a timer. If it is not set any more, nothing happens.
func (n *LiveNode) Timeout(timer string) ([]Packet, error) {
	timers, err := n.Timers()
	i := slices.Index(timers, timer)
	if err != nil || i < 0 {
		return nil, err
	}
	if err := n.run(table.Call{Kind: table.Timeout, Index: i}); err != nil {
		return nil, err
	}
	return n.settle()
}

// Actions is how many things the application may do in the present state.
func (n *LiveNode) Actions() (int, error) {
	l, err := n.machine.decode(n.id, n.state)
	if a, ok := l.node.(Actor); err == nil && ok && !l.down {
		return len(a.Actions()), nil
	}
	return 0, err
}

// Act does one of them, by its index.
func (n *LiveNode) Act(index int) ([]Packet, error) {
	if err := n.run(table.Call{Kind: table.Act, Index: index}); err != nil {
		return nil, err
	}
	return n.settle()
}

// State is what the node keeps now.
func (n *LiveNode) State() LiveState { return LiveState{n.state, slices.Clone(n.inbox)} }

// run runs a handler.
func (n *LiveNode) run(call table.Call) error {
	call.Node, call.State = n.id, n.state
	effect, _, err := n.machine.runIn(&Env{choose: n.choose}, call)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", n.machine.model.name(n.id), n.machine.describeCall(call), err)
	}
	if effect.Failure != "" {
		return &Failure{fmt.Sprintf("%s, %s: %s", n.machine.model.name(n.id), n.machine.describeCall(call),
			effect.Failure)}
	}
	// After a Failure the state stays as it was before, so it can still be looked at.
	n.state = effect.State
	for _, sent := range effect.Sent {
		n.sent = append(n.sent, Packet{ID(sent.From), ID(sent.To), sent.Image})
	}
	return nil
}

// settle has the node take the messages that it can take, and returns all that was sent.
func (n *LiveNode) settle() ([]Packet, error) {
	for {
		moved, err := n.take()
		if err != nil {
			return nil, err
		}
		if !moved {
			sent := n.sent
			n.sent = nil
			return sent, nil
		}
	}
}

// take takes one message, or one set of messages. It says whether there was any.
func (n *LiveNode) take() (moved bool, err error) {
	// Any order of messages will do, since the network has none. The oldest comes first.
	var waiting [64][]int // by quorum transition: indices of messages
	count := 0
	for i, m := range n.inbox {
		call := table.Call{Node: n.id, State: n.state, Kind: table.Deliver, Messages: []table.Sent{m}}
		quorums, isDown, err := n.machine.waiting(call)
		if err != nil || isDown {
			return false, err
		}
		if quorums == 0 {
			n.inbox = slices.Delete(slices.Clone(n.inbox), i, i+1)
			return true, n.run(call)
		}
		for q := range waiting {
			if quorums>>q&1 != 0 {
				waiting[q] = append(waiting[q], i)
				count = max(count, q+1)
			}
		}
	}
	for q, candidates := range waiting[:count] {
		if moved, err := n.gather(q, candidates); moved || err != nil {
			return moved, err
		}
	}
	return false, nil
}

// maxSets bounds how many sets of messages are tried for a quorum transition.
const maxSets = 1 << 12

// gather has a quorum transition take the first set that it accepts.
func (n *LiveNode) gather(quorum int, candidates []int) (moved bool, err error) {
	// How many messages it takes depends on the state.
	l, err := n.machine.decode(n.id, n.state)
	if err != nil {
		return false, err
	}
	size, tries := l.node.(Quorate).Quorums()[quorum].Size, 0
	var choose func(from int, chosen []int) error
	choose = func(from int, chosen []int) error {
		if tries++; tries > maxSets || moved {
			return nil
		}
		if len(chosen) > 0 && (size == 0 || len(chosen) == size) {
			moved, err = n.handle(quorum, chosen)
		}
		for i := from; i < len(candidates) && !moved && err == nil && (size == 0 || len(chosen) < size); i++ {
			isSame := func(c int) bool { return n.inbox[c].From == n.inbox[candidates[i]].From }
			if !slices.ContainsFunc(chosen, isSame) {
				err = choose(i+1, append(slices.Clip(chosen), candidates[i]))
			}
		}
		return err
	}
	return moved, choose(0, nil)
}

// handle has a quorum transition take a set if it accepts it.
func (n *LiveNode) handle(quorum int, chosen []int) (moved bool, err error) {
	call := table.Call{Node: n.id, State: n.state, Kind: table.Gather, Index: quorum}
	for _, i := range chosen {
		call.Messages = append(call.Messages, n.inbox[i])
	}
	// Without a condition any set of the right size is accepted.
	enough, err := n.machine.Enough(call)
	if err != nil || !enough {
		return false, err
	}
	// The set is taken whatever the handler does with it.
	var rest []table.Sent
	for i, m := range n.inbox {
		if !slices.Contains(chosen, i) {
			rest = append(rest, m)
		}
	}
	n.inbox = rest
	return true, n.run(call)
}

// Model is the model as it runs on from the states of its nodes, with these messages under way. A
// check begins there. The states must be those of one moment, or of a consistent cut. Properties of
// whole runs are left out, since the runs have begun earlier: Sometimes and Eventually.
func (l *Live) Model(states []LiveState, packets []Packet) (*Model, error) {
	m := *l.machine.model
	m.Nodes, m.Properties = nil, nil
	for _, p := range l.machine.model.Properties {
		if p.kind == always || p.kind == ofNode {
			m.Properties = append(m.Properties, p)
		}
	}
	running := &Running{}
	// Each node is a copy of its own, which no event reaches any more. What waits at a node has
	// been received by it, and to a check it is still under way.
	for id, state := range states {
		decoded, err := l.machine.decode(id, state.image)
		if err != nil {
			return nil, err
		}
		m.Nodes = append(m.Nodes, decoded.node)
		running.Down = append(running.Down, decoded.down)
		var timers []any
		for _, image := range decoded.timers {
			timer, err := l.machine.images.Decode([]byte(image))
			if err != nil {
				return nil, err
			}
			timers = append(timers, timer)
		}
		running.Timers = append(running.Timers, timers)
		for _, sent := range state.inbox {
			packets = append(slices.Clip(packets), Packet{ID(sent.From), ID(sent.To), sent.Image})
		}
	}
	for _, p := range packets {
		body, err := l.machine.images.Decode(p.Image)
		if err != nil {
			return nil, err
		}
		running.Messages = append(running.Messages, Envelope{p.From, p.To, body})
	}
	m.Running = running
	return &m, nil
}
