// Package paxos is Paxos for one value (Lamport: "Paxos Made Simple", SIGACT News 2001), as a
// protocol to check. Each node is a proposer, an acceptor and a learner, as in section 5 of "Model
// Checking a Networked System Without the Network" (Guerraoui, Yabandeh; NSDI 2011).
package paxos

import (
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// Ballot orders proposals: by round, then by node. The zero Ballot comes before all others.
type Ballot struct {
	Round int
	Node  protocol.ID
}

// Less says whether a ballot comes before another one.
func (b Ballot) Less(c Ballot) bool {
	return b.Round < c.Round || b.Round == c.Round && b.Node < c.Node
}

// Vote is a value that was accepted in a ballot.
type Vote struct {
	Ballot Ballot
	Value  int // zero is none
}

// The messages.
type (
	// Prepare asks for a promise.
	Prepare struct{ Ballot Ballot }
	// Promise is the response, with the last vote.
	Promise struct {
		Ballot Ballot
		Last   Vote
	}
	// Accept asks for a vote.
	Accept struct{ Vote Vote }
	// Learn tells of a vote.
	Learn struct{ Vote Vote }
)

// Propose is what the application calls.
type Propose struct{ Value int }

// Node is a proposer, an acceptor and a learner.
type Node struct {
	Proposals []int // values still to be proposed
	Index     int   // of the decision, if it is one of a log; else 0

	// The proposer. Promises are nil if it does not wait for any.
	Ballot   Ballot
	Value    int
	Promises map[protocol.ID]Vote
	// Careless is a bug that a proposer may have: it proposes the value of the promise that comes
	// last, and not that of the highest ballot (Guerraoui and Yabandeh, section 5.5).
	Careless bool

	// The acceptor.
	Promised Ballot
	Last     Vote

	// The learner: who has voted for what, until a value is chosen.
	Votes  map[Vote]map[protocol.ID]bool
	Chosen int
}

// Receive handles a message.
func (n *Node) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Prepare:
		if n.Promised.Less(m.Ballot) {
			n.Promised = m.Ballot
			n.send(env, from, Promise{m.Ballot, n.Last})
		}
	case Promise:
		n.promised(env, from, m)
	case Accept:
		if !m.Vote.Ballot.Less(n.Promised) {
			n.Promised, n.Last = m.Vote.Ballot, m.Vote
			n.sendAll(env, Learn(m))
		}
	case Learn:
		n.learn(env, from, m.Vote)
	}
}

// promised counts promises, and asks for votes when there are enough.
func (n *Node) promised(env *protocol.Env, from protocol.ID, m Promise) {
	if n.Promises == nil || m.Ballot != n.Ballot {
		return
	}
	n.Promises[from] = m.Last
	if len(n.Promises) <= env.Nodes()/2 {
		return
	}
	// A value that may be chosen already is that of the highest ballot.
	var highest Vote
	for id := range protocol.ID(env.Nodes()) {
		if vote := n.Promises[id]; highest.Ballot.Less(vote.Ballot) {
			highest = vote
		}
	}
	if n.Careless {
		highest = m.Last
	}
	if highest.Value != 0 {
		n.Value = highest.Value
	}
	n.Promises = nil
	n.sendAll(env, Accept{Vote{n.Ballot, n.Value}})
}

// learn counts votes.
func (n *Node) learn(env *protocol.Env, from protocol.ID, vote Vote) {
	if n.Chosen != 0 {
		return
	}
	if n.Votes[vote] == nil {
		n.Votes[vote] = map[protocol.ID]bool{}
	}
	n.Votes[vote][from] = true
	if len(n.Votes[vote]) > env.Nodes()/2 {
		n.Chosen = vote.Value
		clear(n.Votes)
	}
}

// sendAll sends to all nodes, and to the node itself.
func (n *Node) sendAll(env *protocol.Env, message any) {
	for id := range protocol.ID(env.Nodes()) {
		n.send(env, id, message)
	}
}

// send sends a message. In a log it says which decision it is about.
func (n *Node) send(env *protocol.Env, to protocol.ID, message any) {
	if n.Index > 0 {
		message = About{n.Index, message}
	}
	env.Send(to, message)
}

// Actions are to propose the next value.
func (n *Node) Actions() []any {
	if len(n.Proposals) == 0 {
		return nil
	}
	return []any{Propose{n.Proposals[0]}}
}

// Act does what the application calls.
func (n *Node) Act(env *protocol.Env, action any) {
	n.Proposals = n.Proposals[1:]
	n.Ballot = Ballot{n.Ballot.Round + 1, env.ID()}
	n.Value = action.(Propose).Value
	n.Promises = map[protocol.ID]Vote{}
	n.sendAll(env, Prepare{n.Ballot})
}

// Model has so many nodes, of which some propose one value each: node i proposes i+1.
func Model(nodes, proposers int) *protocol.Model {
	m := &protocol.Model{LateStart: true, Properties: []protocol.Property{
		protocol.Always("at most one value is chosen", chosen, agree),
		protocol.Sometimes("all nodes learn a value", chosen, func(values []int) bool {
			return !slices.Contains(values, 0)
		}),
	}}
	for i := range nodes {
		n := &Node{Votes: map[Vote]map[protocol.ID]bool{}}
		if i < proposers {
			n.Proposals = []int{i + 1}
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

// chosen is the view of the properties.
func chosen(_ protocol.ID, node protocol.Node) int { return node.(*Node).Chosen }

// agree says whether all values that are chosen are the same.
func agree(values []int) bool {
	last := 0
	for _, v := range values {
		if v != 0 && last != 0 && v != last {
			return false
		}
		last = max(last, v)
	}
	return true
}
