package paxos

import "github.com/tandem-mc/tandem/protocol"

// Setting is a Paxos in which each node has one role, as in "Efficient Model Checking of
// Fault-Tolerant Distributed Protocols" (Bokor, Kinder, Serafini, Suri; DSN 2011), section V. Each
// proposer proposes once; proposer i has the ballot i+1, and proposes the value i+1.
type Setting struct {
	Proposers, Acceptors, Learners int
	// Quorum: promises and votes are consumed by the majority, in one step. Else one by one.
	Quorum bool
	// Faulty: learners do not compare the votes that they count.
	Faulty bool
}

// Proposer proposes one value.
type Proposer struct {
	Value    int
	Quorum   bool
	Waiting  bool
	Promises map[protocol.ID]Vote
	Acceptor []protocol.ID
}

// ballot is that of the proposer.
func (p *Proposer) ballot() Ballot { return Ballot{Round: p.Value} }

// Start asks all acceptors.
func (p *Proposer) Start(env *protocol.Env) {
	p.Waiting = true
	for _, id := range p.Acceptor {
		env.Send(id, Prepare{p.ballot()})
	}
}

// Receive counts promises one by one.
func (p *Proposer) Receive(env *protocol.Env, from protocol.ID, message any) {
	if !p.Waiting || p.Quorum {
		return
	}
	if p.Promises == nil {
		p.Promises = map[protocol.ID]Vote{}
	}
	p.Promises[from] = message.(Promise).Last
	if len(p.Promises) > len(p.Acceptor)/2 {
		p.propose(env, p.Promises)
	}
}

// Quorums has promises of a majority consumed together.
func (p *Proposer) Quorums() []protocol.Quorum {
	if !p.Quorum || !p.Waiting {
		return nil
	}
	return []protocol.Quorum{{
		Name: "majority", Size: len(p.Acceptor)/2 + 1,
		Waits: func(protocol.ID, any) bool { return true },
		Handle: func(env *protocol.Env, set []protocol.Message) {
			promises := map[protocol.ID]Vote{}
			for _, m := range set {
				promises[m.From] = m.Body.(Promise).Last
			}
			p.propose(env, promises)
		},
	}}
}

// propose asks for votes for the value of the highest ballot, or for the proposer's own.
func (p *Proposer) propose(env *protocol.Env, promises map[protocol.ID]Vote) {
	var highest Vote
	for _, id := range p.Acceptor {
		if vote := promises[id]; highest.Ballot.Less(vote.Ballot) {
			highest = vote
		}
	}
	value := p.Value
	if highest.Value != 0 {
		value = highest.Value
	}
	p.Waiting, p.Promises = false, nil
	for _, id := range p.Acceptor {
		env.Send(id, Accept{Vote{p.ballot(), value}})
	}
}

// Acceptor promises and votes.
type Acceptor struct {
	Promised Ballot
	Last     Vote
	Learner  []protocol.ID
}

// Receive answers the proposer, or tells the learners.
func (a *Acceptor) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Prepare:
		if a.Promised.Less(m.Ballot) {
			a.Promised = m.Ballot
			env.Send(from, Promise{m.Ballot, a.Last})
		}
	case Accept:
		if m.Vote.Ballot.Less(a.Promised) {
			return
		}
		a.Promised, a.Last = m.Vote.Ballot, m.Vote
		for _, id := range a.Learner {
			env.Send(id, Learn(m))
		}
	}
}

// Learner learns what is chosen, first and later.
type Learner struct {
	Majority       int
	Quorum, Faulty bool
	Votes          map[protocol.ID]Vote // the last of each acceptor
	Chosen         map[int]bool         // all values that it has learned
}

// Receive counts votes one by one.
func (l *Learner) Receive(_ *protocol.Env, from protocol.ID, message any) {
	if l.Quorum {
		return
	}
	if l.Votes == nil {
		l.Votes = map[protocol.ID]Vote{}
	}
	vote := message.(Learn).Vote
	l.Votes[from] = vote
	same := 0
	for _, other := range l.Votes {
		if l.Faulty || other == vote {
			same++
		}
	}
	if same >= l.Majority {
		l.learn(vote.Value)
	}
}

// Quorums has votes of a majority consumed together.
func (l *Learner) Quorums() []protocol.Quorum {
	if !l.Quorum {
		return nil
	}
	return []protocol.Quorum{{
		Name: "majority", Size: l.Majority,
		Waits: func(protocol.ID, any) bool { return true },
		Enough: func(set []protocol.Message) bool {
			for _, m := range set {
				if !l.Faulty && m.Body != set[0].Body {
					return false
				}
			}
			return true
		},
		Handle: func(_ *protocol.Env, set []protocol.Message) {
			for _, m := range set {
				l.learn(m.Body.(Learn).Vote.Value)
				if !l.Faulty {
					return
				}
			}
		},
	}}
}

func (l *Learner) learn(value int) {
	if l.Chosen == nil {
		l.Chosen = map[int]bool{}
	}
	l.Chosen[value] = true
}

// Model is the setting as a model. It has one property, consensus: all that is learned is one
// value.
func (s Setting) Model() *protocol.Model {
	m := &protocol.Model{Properties: []protocol.Property{
		protocol.Always("consensus", learned, func(all []map[int]bool) bool {
			values := map[int]bool{}
			for _, chosen := range all {
				for v := range chosen {
					values[v] = true
				}
			}
			return len(values) <= 1
		}),
	}}
	var acceptors, learners []protocol.ID
	for i := range s.Acceptors {
		acceptors = append(acceptors, protocol.ID(s.Proposers+i))
	}
	for i := range s.Learners {
		learners = append(learners, protocol.ID(s.Proposers+s.Acceptors+i))
	}
	for i := range s.Proposers {
		m.Nodes = append(m.Nodes, &Proposer{Value: i + 1, Quorum: s.Quorum, Acceptor: acceptors})
	}
	for range s.Acceptors {
		m.Nodes = append(m.Nodes, &Acceptor{Learner: learners})
	}
	for range s.Learners {
		m.Nodes = append(m.Nodes, &Learner{Majority: s.Acceptors/2 + 1, Quorum: s.Quorum, Faulty: s.Faulty})
	}
	return m
}

// learned is the view of the property.
func learned(_ protocol.ID, node protocol.Node) map[int]bool {
	if l, ok := node.(*Learner); ok {
		return l.Chosen
	}
	return nil
}
