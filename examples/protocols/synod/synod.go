// Package synod is Paxos for one value with separate roles, as a protocol to check: proposers,
// acceptors and learners. Its bounds are those of "Efficient Model Checking of Fault-Tolerant
// Distributed Protocols" (Bokor, Kinder, Serafini, Suri; DSN 2011): each proposer proposes once.
// Proposer i has the ballot i+1 and the value i+1. No message is lost.
//
// One step is a proposal, the arrival of one message, or, with quorum transitions, that of a
// majority. All that a node sends in a step is sent at once.
package synod

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// Config says how many nodes of each role there are, and in which form the protocol is written.
type Config struct {
	Proposers, Acceptors, Learners int
	// Rounds is how often each proposer may propose; it may give up a round at any time.
	Rounds int
	// Quorums has a majority of answers arrive in one step. Otherwise they are counted one by one.
	// Promises that come too late stay in the network then, and are ignored in the other form.
	Quorums bool
	// Faulty has learners count votes without comparing what they are for.
	Faulty bool
}

// majority is how many acceptors have a say.
func (c *Config) majority() int { return c.Acceptors/2 + 1 }

// acceptors and learners are the first ID of a role.
func (c *Config) acceptors() protocol.ID { return protocol.ID(c.Proposers) }
func (c *Config) learners() protocol.ID  { return protocol.ID(c.Proposers + c.Acceptors) }

// Vote is a value that was accepted in a ballot. The zero Vote is none.
type Vote struct{ Ballot, Value int }

// Propose is what a proposer is called to do.
type Propose struct{}

// The messages.
type (
	// Prepare asks acceptors for a promise.
	Prepare struct{ Ballot int }
	// Promise is the answer, with the last vote.
	Promise struct {
		Ballot int
		Last   Vote
	}
	// Accept asks acceptors for a vote.
	Accept struct{ Vote Vote }
	// Accepted tells learners of a vote.
	Accepted struct{ Vote Vote }
)

// Proposer is the role that asks.
type Proposer struct {
	Config *Config
	Round  int  // how often it has proposed
	Waits  bool // for promises of this round
	// Promises are those that have come, unless quorum transitions count them.
	Promises map[protocol.ID]Vote
}

// ballot is that of the present round. No two proposers have the same.
func (p *Proposer) ballot(env *protocol.Env) int {
	return (p.Round-1)*p.Config.Proposers + int(env.ID()) + 1
}

// Actions are to propose, in a new round.
func (p *Proposer) Actions() []any {
	if p.Round == p.Config.Rounds {
		return nil
	}
	return []any{Propose{}}
}

// Act asks for promises.
func (p *Proposer) Act(env *protocol.Env, _ any) {
	p.Round++
	p.Waits = true
	clear(p.Promises)
	for id := p.Config.acceptors(); id < p.Config.learners(); id++ {
		env.Send(id, Prepare{p.ballot(env)})
	}
}

// Receive counts promises.
func (p *Proposer) Receive(env *protocol.Env, from protocol.ID, message any) {
	promise := message.(Promise)
	if !p.Waits || promise.Ballot != p.ballot(env) {
		return // too late
	}
	p.Promises[from] = promise.Last
	if len(p.Promises) == p.Config.majority() {
		last := slices.Collect(maps.Values(p.Promises))
		clear(p.Promises)
		p.accept(env, last)
	}
}

// Quorums takes a majority of promises at once. The others stay where they are, as a transition
// waits for them that never has enough. To throw one away is a step of its own, which changes
// nothing but doubles the states.
func (p *Proposer) Quorums() []protocol.Quorum {
	if !p.Config.Quorums {
		return nil
	}
	isLate := func(_ protocol.ID, m any) bool {
		return !p.Waits || (m.(Promise).Ballot-1)/p.Config.Proposers+1 != p.Round
	}
	isTimely := func(from protocol.ID, m any) bool { return !isLate(from, m) }
	handle := func(env *protocol.Env, set []protocol.Message) {
		var last []Vote
		for _, m := range set {
			last = append(last, m.Body.(Promise).Last)
		}
		p.accept(env, last)
	}
	return []protocol.Quorum{
		{Name: "promises", Waits: isTimely, Size: p.Config.majority(), Handle: handle},
		{Name: "late", Waits: isLate, Size: p.Config.Acceptors + 1, Handle: handle},
	}
}

// accept asks for votes: for the value of the highest ballot that was promised upon, if any.
func (p *Proposer) accept(env *protocol.Env, last []Vote) {
	p.Waits = false
	// In one ballot there is one value. A local search meets promises that contradict this.
	highest := slices.MaxFunc(last, func(a, b Vote) int {
		return cmp.Or(cmp.Compare(a.Ballot, b.Ballot), cmp.Compare(a.Value, b.Value))
	})
	vote := Vote{p.ballot(env), cmp.Or(highest.Value, int(env.ID())+1)}
	for id := p.Config.acceptors(); id < p.Config.learners(); id++ {
		env.Send(id, Accept{vote})
	}
}

// Acceptor is the role that promises and votes.
type Acceptor struct {
	Config   *Config
	Promised int
	Last     Vote
}

// Receive promises, and votes, unless a higher ballot was promised.
func (a *Acceptor) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Prepare:
		if m.Ballot > a.Promised {
			a.Promised = m.Ballot
			env.Send(from, Promise{m.Ballot, a.Last})
		}
	case Accept:
		if m.Vote.Ballot >= a.Promised {
			a.Promised, a.Last = m.Vote.Ballot, m.Vote
			for id := a.Config.learners(); int(id) < env.Nodes(); id++ {
				env.Send(id, Accepted(m))
			}
		}
	}
}

// Learner is the role that is told what is chosen.
type Learner struct {
	Config *Config
	// Votes are those that have come, unless quorum transitions count them. A ballot with a
	// majority of them is not counted any further.
	Votes map[int]map[protocol.ID]bool
	// Learned are the values that were chosen, sorted: one, if all is well.
	Learned []int
}

// Receive counts votes.
func (l *Learner) Receive(_ *protocol.Env, from protocol.ID, message any) {
	vote := message.(Accepted).Vote
	counted := vote.Ballot
	if l.Config.Faulty {
		counted = 0 // the bug: votes of all ballots are one
	}
	if len(l.Votes[counted]) == l.Config.majority() {
		if !l.Config.Faulty {
			return
		}
		clear(l.Votes)
	}
	if l.Votes[counted] == nil {
		l.Votes[counted] = map[protocol.ID]bool{}
	}
	l.Votes[counted][from] = true
	if len(l.Votes[counted]) == l.Config.majority() {
		l.learn(vote.Value)
	}
}

// learn takes note of a value.
func (l *Learner) learn(value int) {
	if i, found := slices.BinarySearch(l.Learned, value); !found {
		l.Learned = slices.Insert(l.Learned, i, value)
	}
}

// Quorums takes a majority of votes of one ballot at once.
func (l *Learner) Quorums() []protocol.Quorum {
	if !l.Config.Quorums {
		return nil
	}
	return []protocol.Quorum{{
		Name:  "votes",
		Waits: func(protocol.ID, any) bool { return true },
		Size:  l.Config.majority(),
		Enough: func(set []protocol.Message) bool {
			// The bug: any votes will do.
			return l.Config.Faulty || !slices.ContainsFunc(set, func(m protocol.Message) bool {
				return m.Body != set[0].Body
			})
		},
		Handle: func(_ *protocol.Env, set []protocol.Message) {
			// The last sender is the same one, whatever the order.
			last := slices.MaxFunc(set, func(a, b protocol.Message) int { return int(a.From - b.From) })
			l.learn(last.Body.(Accepted).Vote.Value)
		},
	}}
}

// Model has the nodes in the order of their roles.
func Model(c Config) *protocol.Model {
	m := &protocol.Model{
		Constants: []any{&c},
		Properties: []protocol.Property{
			protocol.Always("one value is learned", learned, agree),
			protocol.Sometimes("a learner learns", learned, func(values [][]int) bool {
				return slices.ContainsFunc(values, func(v []int) bool { return len(v) > 0 })
			}),
		},
	}
	add := func(role string, number int, node protocol.Node) {
		m.Nodes = append(m.Nodes, node)
		m.Names = append(m.Names, fmt.Sprint(role, number+1))
	}
	for i := range c.Proposers {
		add("proposer ", i, &Proposer{Config: &c, Promises: map[protocol.ID]Vote{}})
	}
	for i := range c.Acceptors {
		add("acceptor ", i, &Acceptor{Config: &c})
	}
	for i := range c.Learners {
		add("learner ", i, &Learner{Config: &c, Votes: map[int]map[protocol.ID]bool{}})
	}
	return m
}

// learned is the view of the properties.
func learned(_ protocol.ID, node protocol.Node) []int {
	if l, ok := node.(*Learner); ok {
		return l.Learned
	}
	return nil
}

// agree says whether no two values were learned, by the same learner or by two.
func agree(values [][]int) bool {
	all := slices.Concat(values...)
	return len(all) == 0 || slices.Min(all) == slices.Max(all)
}
