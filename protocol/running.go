package protocol

import (
	"fmt"

	"github.com/tandem-mc/tandem/protocol/internal/table"
	"github.com/tandem-mc/tandem/protocol/internal/timers"
)

// Running is where a system stands that runs already, beside what its nodes keep. A model that has
// it begins there: Model.Nodes are the nodes as they are now, and their Start is not called. So
// Check looks for what may happen next, and Replay repeats it.
type Running struct {
	// Timers are those that are set, by node; nil: none is.
	Timers [][]any
	// Down are the nodes that have crashed, or have not started yet; nil: none has.
	Down []bool
	// Messages are under way. In an ordered network those from one node to another are in the order
	// in which they were sent.
	Messages []Envelope
}

// Envelope is a message with its sender and its receiver.
type Envelope struct {
	From, To ID
	Body     any
}

// check says what is wrong for a number of nodes.
func (r *Running) check(nodes int) error {
	// Lists that are empty say the same of all nodes.
	if len(r.Timers) != 0 && len(r.Timers) != nodes || len(r.Down) != 0 && len(r.Down) != nodes {
		return fmt.Errorf("the running system has timers of %d nodes, and says of %d whether they are "+
			"down: give those of all %d, or of none", len(r.Timers), len(r.Down), nodes)
	}
	for _, m := range r.Messages {
		if min(m.From, m.To) < 0 || int(max(m.From, m.To)) >= nodes {
			return fmt.Errorf("a message is under way from node %d to node %d: there are %d nodes, from 0",
				int(m.From), int(m.To), nodes)
		}
	}
	return nil
}

// begin is what takes the place of a node's start.
func begin(m *machine, node int) (effect table.Effect, err error) {
	r, l := m.model.Running, localState{node: m.model.Nodes[node]}
	if len(r.Down) > 0 {
		l.down = r.Down[node]
	}
	if len(r.Timers) > 0 {
		for _, timer := range r.Timers[node] {
			image, err := m.images.Append(nil, timer)
			if err != nil {
				return effect, fmt.Errorf("a timer has no image: %w", err)
			}
			l.timers = append(l.timers, string(image))
		}
		// Timers are sorted wherever there are several, so that equal states have equal bytes.
		l.timers = timers.Sort(l.timers, m)
	}
	// The table knows what a start sends, so that is what is under way.
	for _, message := range r.Messages {
		if int(message.From) != node {
			continue
		}
		image, err := m.images.Append(nil, message.Body)
		if err != nil {
			return effect, fmt.Errorf("a message has no image: %w", err)
		}
		effect.Sent = append(effect.Sent, table.Sent{From: node, To: int(message.To), Image: image})
	}
	effect.State, err = m.encode(l)
	return effect, err
}
