// Package paxosregister is a register that is written once by Paxos, as a protocol to check. It has
// the steps of the example of stateright (examples/paxos.rs), so the number of states can be
// compared: servers, and clients of which each writes a value and then reads. The register must be
// linearizable.
//
// Three things are as they are there. A message that would change nothing is not taken, and stays
// in the network. A leader sends to others only, and counts itself at once. And the history of
// calls is a part of the state: which calls of the others had returned when one began. Since no
// node may know that of another, all clients are one node here, which is the application.
//
// One step is the arrival of one message.
package paxosregister

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// Ballot orders proposals.
type Ballot struct {
	Round  int
	Leader protocol.ID
}

func (b Ballot) compare(c Ballot) int {
	return cmp.Or(cmp.Compare(b.Round, c.Round), cmp.Compare(b.Leader, c.Leader))
}

// Proposal is the call of a client to write its value. Clients have numbers from 1, which are their
// values, too. The zero Proposal is none.
type Proposal struct{ Client int }

// Vote is a proposal that was accepted in a ballot.
type Vote struct {
	Ballot   Ballot
	Proposal Proposal
}

// The messages between servers.
type (
	Prepare  struct{ Ballot Ballot }
	Prepared struct {
		Ballot Ballot
		Last   Vote
	}
	Accept   struct{ Vote Vote }
	Accepted struct{ Ballot Ballot }
	Decided  struct{ Vote Vote }
)

// Those between clients and servers.
type (
	Put   struct{ Client int }
	Get   struct{ Client int }
	PutOk struct{ Client int }
	GetOk struct{ Client, Value int }
)

// Server is a proposer and an acceptor.
type Server struct {
	Servers  int
	Ballot   Ballot
	Proposal Proposal
	Prepares map[protocol.ID]Vote
	Accepts  map[protocol.ID]bool
	Last     Vote
	Decided  bool
}

// takes says whether a message changes anything.
func (s *Server) takes(message any) bool {
	if s.Decided {
		_, isGet := message.(Get)
		return isGet
	}
	switch m := message.(type) {
	case Put:
		return s.Proposal == Proposal{}
	case Prepare:
		return s.Ballot.compare(m.Ballot) < 0
	case Prepared:
		return s.Ballot == m.Ballot
	case Accept:
		return s.Ballot.compare(m.Vote.Ballot) <= 0
	case Accepted:
		return s.Ballot == m.Ballot
	case Decided:
		return true
	}
	return false // a Get is answered when there is a value
}

// Receive handles a message that changes something.
func (s *Server) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Put:
		s.Proposal = Proposal(m)
		clear(s.Prepares)
		clear(s.Accepts)
		s.Ballot = Ballot{s.Ballot.Round + 1, env.ID()}
		s.Prepares[env.ID()] = s.Last
		s.tell(env, Prepare{s.Ballot})
	case Prepare:
		s.Ballot = m.Ballot
		env.Send(from, Prepared{m.Ballot, s.Last})
	case Prepared:
		s.prepared(env, from, m)
	case Accept:
		s.Ballot, s.Last = m.Vote.Ballot, m.Vote
		env.Send(from, Accepted{m.Vote.Ballot})
	case Accepted:
		s.Accepts[from] = true
		if len(s.Accepts) == s.Servers/2+1 {
			s.Decided = true
			s.tell(env, Decided{Vote{m.Ballot, s.Proposal}})
			env.Send(s.clients(), PutOk(s.Proposal))
		}
	case Decided:
		s.Ballot, s.Last, s.Decided = m.Vote.Ballot, m.Vote, true
	case Get:
		env.Send(s.clients(), GetOk{m.Client, s.Last.Proposal.Client})
	}
}

// prepared counts promises. The leader takes over the proposal of the highest ballot among them.
func (s *Server) prepared(env *protocol.Env, from protocol.ID, m Prepared) {
	s.Prepares[from] = m.Last
	if len(s.Prepares) != s.Servers/2+1 {
		return
	}
	var highest Vote
	for _, v := range s.Prepares {
		// In one ballot there is one proposal. A local search meets promises that contradict this.
		order := cmp.Or(v.Ballot.compare(highest.Ballot), v.Proposal.Client-highest.Proposal.Client)
		if order > 0 {
			highest = v
		}
	}
	s.Proposal = cmp.Or(highest.Proposal, s.Proposal)
	s.Last = Vote{m.Ballot, s.Proposal}
	s.Accepts[env.ID()] = true
	s.tell(env, Accept{s.Last})
}

// tell tells the other servers.
func (s *Server) tell(env *protocol.Env, message any) {
	for id := range protocol.ID(s.Servers) {
		if id != env.ID() {
			env.Send(id, message)
		}
	}
}

// clients is the number of the clients.
func (s *Server) clients() protocol.ID { return protocol.ID(s.Servers) }

// Quorums has messages wait that would change nothing.
func (s *Server) Quorums() []protocol.Quorum { return leave(s.takes) }

// leave is a transition that waits for what is not taken, and never has enough.
func leave(takes func(message any) bool) []protocol.Quorum {
	return []protocol.Quorum{{
		Name:   "left",
		Waits:  func(_ protocol.ID, m any) bool { return !takes(m) },
		Enough: func([]protocol.Message) bool { return false },
		Handle: func(*protocol.Env, []protocol.Message) {},
	}}
}

// History is what a client has called, and what has returned.
type History struct {
	// Returned is how many calls have: first a write, then a read.
	Returned int
	// Before is how many calls of each other client had returned when the read began.
	Before []int
	Read   int // its value
}

// Clients are all clients.
type Clients struct {
	Servers   int
	Histories []History
}

// Start has all clients write. Client i asks server i, and the next one when it reads.
func (c *Clients) Start(env *protocol.Env) {
	for i := range c.Histories {
		env.Send(protocol.ID(i%c.Servers), Put{i + 1})
	}
}

// Receive takes note of a call that returns. After the write comes the read.
func (c *Clients) Receive(env *protocol.Env, _ protocol.ID, message any) {
	switch m := message.(type) {
	case PutOk:
		h := &c.Histories[m.Client-1]
		h.Returned = 1
		for _, other := range c.Histories {
			h.Before = append(h.Before, other.Returned)
		}
		env.Send(protocol.ID(m.Client%c.Servers), Get(m))
	case GetOk:
		h := &c.Histories[m.Client-1]
		h.Returned, h.Read = 2, m.Value
	}
}

// takes says whether a client waits for a message.
func (c *Clients) takes(message any) bool {
	switch m := message.(type) {
	case PutOk:
		return c.Histories[m.Client-1].Returned == 0
	case GetOk:
		return c.Histories[m.Client-1].Returned == 1
	}
	return false
}

// Quorums has messages wait that would change nothing.
func (c *Clients) Quorums() []protocol.Quorum { return leave(c.takes) }

// linearizable tries to put the calls of all clients in an order. Done is how many of each client
// have been placed, and value what the register has then.
func linearizable(all []History, done []int, value int) bool {
	isComplete := true
	for i, h := range all {
		isComplete = isComplete && done[i] >= h.Returned
		if done[i] == 2 || done[i] > h.Returned || !mayFollow(all, done, i) {
			continue
		}
		next, isWrite := slices.Clone(done), done[i] == 0
		next[i]++
		switch {
		case isWrite && linearizable(all, next, i+1):
			return true
		// A read that has not returned may have any value, and need not be placed.
		case !isWrite && h.Returned == 2 && h.Read == value && linearizable(all, next, value):
			return true
		}
	}
	return isComplete
}

// mayFollow says whether all that has returned before the next call of a client is placed.
func mayFollow(all []History, done []int, client int) bool {
	if done[client] == 0 {
		return true // all writes begin at the start
	}
	for i, returned := range all[client].Before {
		if done[i] < returned {
			return false
		}
	}
	return true
}

// Model has the servers, and then the clients as one node.
func Model(servers, clients int) *protocol.Model {
	view := func(_ protocol.ID, node protocol.Node) []History {
		if c, ok := node.(*Clients); ok {
			return c.Histories
		}
		return nil
	}
	m := &protocol.Model{Properties: []protocol.Property{
		protocol.Always("linearizable", view, func(nodes [][]History) bool {
			return linearizable(nodes[servers], make([]int, clients), 0)
		}),
		protocol.Sometimes("a value is read", view, func(nodes [][]History) bool {
			return slices.ContainsFunc(nodes[servers], func(h History) bool { return h.Read != 0 })
		}),
	}}
	for i := range servers {
		m.Nodes = append(m.Nodes, &Server{Servers: servers, Prepares: map[protocol.ID]Vote{},
			Accepts: map[protocol.ID]bool{}})
		m.Names = append(m.Names, fmt.Sprint("server ", i+1))
	}
	m.Nodes = append(m.Nodes, &Clients{servers, make([]History, clients)})
	m.Names = append(m.Names, "clients")
	return m
}
