// Package echo is Echo Multicast (Reiter: "Secure Agreement Protocols: Reliable and Atomic Group
// Multicast in Rampart", CCS 1994), as a protocol to check, with Byzantine nodes. Its bounds are
// those of "Efficient Model Checking of Fault-Tolerant Distributed Protocols" (Bokor, Kinder,
// Serafini, Suri; DSN 2011).
//
// An initiator sends a value to all receivers. A receiver echoes the first value that it has of an
// initiator. An initiator with enough echoes of a value commits it, and receivers deliver it.
// Echoes are signed, and a commit has them with it. So nobody can commit without enough of them,
// which the model takes for granted: no node sends what it could not sign.
//
// What Byzantine nodes do here: an initiator sends one value to some receivers and another one to
// the others, and both to Byzantine receivers; it commits each value that has enough echoes.
// A Byzantine receiver echoes whatever it is sent. To be silent need not be modelled: a message may
// always arrive later than all that matters.
//
// One step is the multicast of an initiator, the arrival of one message, or, with quorum
// transitions, that of enough echoes.
package echo

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/examples/protocols/internal/tally"
	"github.com/tandem-mc/tandem/protocol"
)

// Config says how many nodes there are of each kind, in the order of the paper.
type Config struct {
	HonestReceivers, HonestInitiators, ByzantineReceivers, ByzantineInitiators int
	// Quorums has echoes arrive in one step. Otherwise they are counted one by one.
	Quorums bool
}

// receivers is how many there are. They have the first numbers, the honest ones first of all.
func (c *Config) receivers() int { return c.HonestReceivers + c.ByzantineReceivers }

// enough is how many echoes are needed so that any two sets of them have an honest receiver in
// common, if fewer than a third of the receivers are Byzantine. There may be more, which is then a
// violation.
func (c *Config) enough() int {
	n := c.receivers()
	tolerated := (n - 1) / 3
	return (n+tolerated)/2 + 1
}

// Multicast is what an initiator does by itself.
type Multicast struct{}

// The messages. Values are not 0.
type (
	// Init is the value.
	Init struct{ Value int }
	// Echo is the answer of a receiver.
	Echo struct{ Value int }
	// Commit tells that there were enough echoes.
	Commit struct{ Value int }
)

// Receiver is an honest one.
type Receiver struct {
	// Echoed and Delivered are the values of each initiator, by ID.
	Echoed, Delivered []int
}

// Receive echoes the first value of an initiator, and delivers one that is committed.
func (r *Receiver) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Init:
		if r.Echoed[from] == 0 {
			r.Echoed[from] = m.Value
			env.Send(from, Echo(m))
		}
	case Commit:
		if r.Delivered[from] == 0 {
			r.Delivered[from] = m.Value
		}
	}
}

// Traitor is a Byzantine receiver. It keeps nothing.
type Traitor struct{}

// Receive echoes every value.
func (*Traitor) Receive(env *protocol.Env, from protocol.ID, message any) {
	if m, ok := message.(Init); ok {
		env.Send(from, Echo(m))
	}
}

// Initiator is one of both kinds.
type Initiator struct {
	Config    *Config
	Byzantine bool
	Started   bool
	// Pending are the values that were sent and are not committed yet.
	Pending []int
	Tally   tally.Tally
}

// Actions are to multicast, once.
func (i *Initiator) Actions() []any {
	if i.Started {
		return nil
	}
	return []any{Multicast{}}
}

// Act multicasts one value, or two. How many honest receivers are sent the first one is a choice;
// which ones makes no difference, since they are alike.
func (i *Initiator) Act(env *protocol.Env, _ any) {
	i.Started, i.Pending = true, []int{1}
	first := i.Config.HonestReceivers
	if i.Byzantine {
		i.Pending = []int{1, 2}
		first = env.Choose(first + 1)
	}
	for id := range i.Config.receivers() {
		isTraitor := id >= i.Config.HonestReceivers
		for _, value := range i.Pending {
			if isTraitor || (value == 1) == (id < first) {
				env.Send(protocol.ID(id), Init{value})
			}
		}
	}
}

// waits are for the echoes of each value.
func (i *Initiator) waits() (list []tally.Wait) {
	for _, value := range i.Pending {
		list = append(list, tally.Wait{
			Name: fmt.Sprint("echoes of ", value), Size: i.Config.enough(),
			For:    func(m any) bool { return m == Echo{value} },
			Handle: func(env *protocol.Env, _ []protocol.Message) { i.commit(env, value) },
		})
	}
	return list
}

// commit tells all receivers.
func (i *Initiator) commit(env *protocol.Env, value int) {
	i.Pending = slices.DeleteFunc(i.Pending, func(v int) bool { return v == value })
	for id := range i.Config.receivers() {
		env.Send(protocol.ID(id), Commit{value})
	}
}

// Receive counts echoes.
func (i *Initiator) Receive(env *protocol.Env, from protocol.ID, message any) {
	i.Tally.Count(env, i.waits(), from, message)
}

// Quorums takes enough echoes at once.
func (i *Initiator) Quorums() []protocol.Quorum {
	return i.Tally.Transitions(i.waits(), func(any) bool { return true })
}

// Model has the receivers first.
func Model(c Config) *protocol.Model {
	m := &protocol.Model{
		Constants: []any{&c},
		Properties: []protocol.Property{
			protocol.Always("honest receivers deliver the same", delivered, agree),
			protocol.Sometimes("an honest receiver delivers", delivered, func(values [][]int) bool {
				return slices.ContainsFunc(values, func(v []int) bool { return slices.Max(v) > 0 })
			}),
		},
	}
	initiators := c.HonestInitiators + c.ByzantineInitiators
	add := func(name string, count int, node func() protocol.Node) {
		for i := range count {
			m.Nodes = append(m.Nodes, node())
			m.Names = append(m.Names, fmt.Sprint(name, " ", i+1))
		}
	}
	add("receiver", c.HonestReceivers, func() protocol.Node {
		n := c.receivers() + initiators
		return &Receiver{make([]int, n), make([]int, n)}
	})
	add("traitor", c.ByzantineReceivers, func() protocol.Node { return &Traitor{} })
	add("initiator", c.HonestInitiators, func() protocol.Node {
		return &Initiator{Config: &c, Tally: tally.New(c.Quorums)}
	})
	add("Byzantine", c.ByzantineInitiators, func() protocol.Node {
		return &Initiator{Config: &c, Byzantine: true, Tally: tally.New(c.Quorums)}
	})
	return m
}

// delivered is the view of the properties: the values by initiator. Nodes that need not agree have
// none.
func delivered(_ protocol.ID, node protocol.Node) []int {
	if r, ok := node.(*Receiver); ok {
		return r.Delivered
	}
	return []int{0}
}

// agree says whether no two have delivered different values of an initiator.
func agree(values [][]int) bool {
	seen := map[int]int{}
	for _, list := range values {
		for initiator, v := range list {
			switch {
			case v == 0:
			case seen[initiator] == 0:
				seen[initiator] = v
			case seen[initiator] != v:
				return false
			}
		}
	}
	return true
}
