// Package onepaxos is 1Paxos for one value, as a protocol to check: Paxos with one active acceptor,
// as in section 5.6 of "Model Checking a Networked System Without the Network" (Guerraoui,
// Yabandeh; NSDI 2011). Each node may be the leader or the acceptor, and learns.
//
// Who leads, and who is the acceptor, is a log of configurations. In the original its entries are
// agreed upon by Paxos (PaxosUtility). Here one node, the utility, appends them: what Paxos is for
// is taken for granted. The index of an entry is the number of the leader's proposals, too.
//
// One step is what a node does by itself (to propose, to take over, to replace the acceptor), or
// the arrival of one message.
package onepaxos

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// Config says what may happen.
type Config struct {
	Nodes int
	// Rivals is how many nodes may take over once, from the last node on.
	Rivals int
	// Replacements is how often each leader may replace the acceptor.
	Replacements int
	// WrongIncrement is the bug of the original: the first acceptor should be the second node, and
	// is the first one, since an iterator is read before it is incremented.
	WrongIncrement bool
}

// Entry is a configuration. Value is what an acceptor that was replaced may have accepted.
type Entry struct {
	Index            int
	Leader, Acceptor protocol.ID
	Value            int
}

// What nodes do by themselves.
type (
	// Propose has the first leader begin.
	Propose struct{}
	// TakeOver has another node become the leader.
	TakeOver struct{}
	// Replace has the leader choose another acceptor.
	Replace struct{}
)

// The messages.
type (
	// Lead asks the utility to make the sender the leader. Change asks it to replace the acceptor,
	// if the sender still leads. The answer is the last entry.
	Lead   struct{}
	Change struct{ Entry Entry }
	Last   struct{ Entry Entry }
	// Prepare asks the acceptor for a promise. The answer has the value that it has accepted.
	Prepare struct{ Number int }
	Promise struct{ Number, Value int }
	// Accept asks it to accept a value, and Learn tells all of it.
	Accept struct{ Number, Value int }
	Learn  struct{ Value int }
)

// Utility is the log of configurations. Its number is that after the nodes.
type Utility struct{ Last Entry }

// Receive appends an entry, unless that of a leader who leads no more.
func (u *Utility) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Lead:
		u.Last.Index++
		u.Last.Leader = from
	case Change:
		if m.Entry.Index == u.Last.Index+1 {
			u.Last = m.Entry
		}
	}
	env.Send(from, Last{u.Last})
}

// Phase is what a node is about, apart from accepting and learning.
type Phase int

// The phases.
const (
	Idle      Phase = iota
	Changing        // waits for the utility
	Preparing       // waits for the acceptor
	Proposed        // has asked the acceptor to accept
)

func (p Phase) String() string { return [...]string{"idle", "changing", "preparing", "proposed"}[p] }

// Node is the leader, the acceptor, and a learner.
type Node struct {
	ID    protocol.ID
	Phase Phase
	Entry Entry // the last configuration that it knows of
	Value int   // what it proposes
	// TakeOvers and Replacements are how often it may still do so.
	TakeOvers, Replacements int

	// The acceptor.
	Promised, Accepted int

	Learned []int // sorted; one value, if all is well
}

// Actions are those of a leader, and of a node that would be one.
func (n *Node) Actions() (list []any) {
	switch {
	case n.Phase == Idle && n.Entry.Leader == n.ID:
		list = append(list, Propose{})
	case n.Phase == Idle && n.TakeOvers > 0:
		list = append(list, TakeOver{})
	case n.Phase == Proposed && n.Replacements > 0:
		list = append(list, Replace{})
	}
	return list
}

// Act does one of them.
func (n *Node) Act(env *protocol.Env, action any) {
	switch action.(type) {
	case Propose:
		n.prepare(env)
	case TakeOver:
		n.TakeOvers--
		n.Phase = Changing
		env.Send(n.utility(env), Lead{})
	case Replace:
		n.Replacements--
		n.Phase = Changing
		// What the old acceptor has accepted is this leader's value, if anything.
		acceptor := (n.Entry.Acceptor + 1) % n.utility(env)
		env.Send(n.utility(env), Change{Entry{n.Entry.Index + 1, env.ID(), acceptor, n.Value}})
	}
}

// utility is the number of the utility.
func (*Node) utility(env *protocol.Env) protocol.ID { return protocol.ID(env.Nodes() - 1) }

func (n *Node) prepare(env *protocol.Env) {
	n.Phase = Preparing
	env.Send(n.Entry.Acceptor, Prepare{n.Entry.Index})
}

// Receive handles a message.
func (n *Node) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Last:
		n.changed(env, m.Entry)
	case Prepare:
		if m.Number > n.Promised {
			n.Promised = m.Number
			env.Send(from, Promise{m.Number, n.Accepted})
		}
	case Promise:
		// A promise for an entry that has been replaced comes too late.
		if n.Phase == Preparing && m.Number == n.Entry.Index {
			n.propose(env, m.Value)
		}
	case Accept:
		if m.Number >= n.Promised {
			n.Promised, n.Accepted = m.Number, m.Value
			for id := range n.utility(env) {
				env.Send(id, Learn{m.Value})
			}
		}
	case Learn:
		if i, found := slices.BinarySearch(n.Learned, m.Value); !found {
			n.Learned = slices.Insert(n.Learned, i, m.Value)
		}
	}
}

// changed has the answer of the utility.
func (n *Node) changed(env *protocol.Env, entry Entry) {
	n.Entry = entry
	if entry.Leader != n.ID {
		n.Phase = Idle // another node has taken over
		return
	}
	n.prepare(env)
}

// propose asks the acceptor to accept: what it has accepted before, or what its predecessor may
// have accepted, or else the value of the node.
func (n *Node) propose(env *protocol.Env, accepted int) {
	n.Phase = Proposed
	switch {
	case accepted != 0:
		n.Value = accepted
	case n.Entry.Value != 0:
		n.Value = n.Entry.Value
	}
	env.Send(n.Entry.Acceptor, Accept{n.Entry.Index, n.Value})
}

// Model has node i propose the value i+1. The first node leads at first.
func Model(c Config) *protocol.Model {
	first := Entry{Index: 1, Leader: 0, Acceptor: 1}
	m := &protocol.Model{Properties: []protocol.Property{
		protocol.Always("at most one value is learned", learned, func(values [][]int) bool {
			all := slices.Concat(values...)
			return len(all) == 0 || slices.Min(all) == slices.Max(all)
		}),
		protocol.Sometimes("the last node's value is learned", learned, func(values [][]int) bool {
			return slices.Contains(slices.Concat(values...), c.Nodes)
		}),
	}}
	for i := range c.Nodes {
		n := &Node{ID: protocol.ID(i), Entry: first, Value: i + 1, Replacements: c.Replacements}
		if i >= c.Nodes-c.Rivals {
			n.TakeOvers = 1
		}
		if c.WrongIncrement {
			n.Entry.Acceptor = 0
		}
		m.Nodes = append(m.Nodes, n)
		m.Names = append(m.Names, fmt.Sprint("node ", i+1))
	}
	m.Nodes = append(m.Nodes, &Utility{first})
	m.Names = append(m.Names, "utility")
	return m
}

// learned is the view of the properties.
func learned(_ protocol.ID, node protocol.Node) []int {
	if n, ok := node.(*Node); ok {
		return n.Learned
	}
	return nil
}
