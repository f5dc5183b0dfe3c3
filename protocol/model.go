package protocol

import "fmt"

// Model is a protocol with its bounds, and what must hold. A model is not changed by a check, and
// can be used for several.
type Model struct {
	// Nodes are the nodes as they are before the start. They are not changed.
	Nodes []Node
	// Running is where a system stands that runs already; nil: runs begin with the start of each
	// node.
	Running *Running
	// Names are what the nodes are called in charts; they may be left out.
	Names []string
	// LateStart: each node starts at any time, and not all of them at once at the beginning. What
	// is sent to one that has not started waits.
	LateStart bool
	// Network is Unordered if it is not set.
	Network Network
	// Faults are those that may happen in one run. The zero value is none.
	Faults Faults
	// Alike are sets of nodes that differ in nothing but their IDs, such as the acceptors of Paxos.
	// Of states that differ only in which of them is which, one is visited. It needs IDs in nodes,
	// messages, timers and actions to be of type ID, in the keys of maps as well, and properties
	// that name none of these nodes. A sample of handlers and properties is tested for that.
	Alike [][]ID
	// Properties are what must hold.
	Properties []Property
	// Constants are pointers to what never changes, such as a logger or a configuration. They are
	// no part of a state, and are not followed.
	Constants []any
}

// Network is how messages travel.
type Network uint8

// The networks. None changes a message or makes one up.
const (
	// Unordered delivers each message once, in any order.
	Unordered Network = iota
	// Ordered delivers the messages from one node to another in the order in which they were sent.
	Ordered
	// Duplicating delivers each message any number of times, or never, in any order.
	Duplicating
)

func (n Network) String() string {
	names := [...]string{Unordered: "unordered", Ordered: "ordered", Duplicating: "duplicating"}
	if int(n) >= len(names) {
		return fmt.Sprintf("network %d", uint8(n))
	}
	return names[n]
}

// Faults bounds how often something may go wrong in one run. Any is no bound.
type Faults struct {
	// Drops is how many messages may be lost, Duplicates how many may arrive once more than they
	// were sent. A Duplicating network does both without a bound.
	Drops, Duplicates int
	// Partitions is how often the nodes may be cut into two groups. Messages between them that are
	// under way, or sent before the partition heals, are lost.
	Partitions int
	// Crashes is how often nodes that are a Restarter may crash, all together. A node that is down
	// may restart at any time.
	Crashes int
}

// maxNodes is how many nodes a model may have: each has a bit.
const maxNodes = 64

// maxParted is how many nodes there may be with partitions: each set of nodes is one.
const maxParted = 10

// Any is a number of faults without a bound.
const Any = -1

// check says what is wrong with a model.
func (m *Model) check() error {
	switch {
	case len(m.Nodes) == 0:
		return fmt.Errorf("the model has no nodes: give it some")
	case len(m.Names) > 0 && len(m.Names) != len(m.Nodes):
		return fmt.Errorf("the model has %d nodes and %d names: name all or none", len(m.Nodes), len(m.Names))
	case len(m.Nodes) > maxNodes:
		return fmt.Errorf("the model has %d nodes: leave some out, %d are the most", len(m.Nodes), maxNodes)
	case m.Network > Duplicating:
		return fmt.Errorf("the model has the %v: choose one of the constants", m.Network)
	case min(m.Faults.Drops, m.Faults.Duplicates, m.Faults.Crashes, m.Faults.Partitions) < Any:
		return fmt.Errorf("the model has a negative number of faults: use Any for no bound")
	case m.Faults.Partitions != 0 && len(m.Nodes) > maxParted:
		return fmt.Errorf("there are too many ways to part %d nodes: leave some out, %d are the most",
			len(m.Nodes), maxParted)
	case m.Network == Duplicating && (m.Faults.Drops != 0 || m.Faults.Duplicates != 0):
		return fmt.Errorf("a duplicating network loses and repeats messages anyway: leave these faults out")
	case len(m.Properties) > maxProperties:
		return fmt.Errorf("the model has %d properties: join some, %d are the most", len(m.Properties),
			maxProperties)
	}
	if m.Running != nil {
		if err := m.Running.check(len(m.Nodes)); err != nil {
			return err
		}
	}
	for i, n := range m.Nodes {
		if n == nil {
			return fmt.Errorf("node %d of the model is nil: leave it out", i)
		}
		if _, ok := n.(Timed); !ok && m.Running != nil && len(m.Running.Timers) > i &&
			len(m.Running.Timers[i]) > 0 {
			return fmt.Errorf("a timer of node %d: it has no method Timeout, so give it one", i)
		}
	}
	return m.checkAlike()
}

// name is what a node is called.
func (m *Model) name(node int) string {
	if len(m.Names) > 0 {
		return m.Names[node]
	}
	return fmt.Sprintf("node %d", node)
}
