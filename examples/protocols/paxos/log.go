package paxos

import (
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// About is a message about one decision of a log.
type About struct {
	Index int
	Body  any
}

// Replica decides one value after the other, each by Paxos. It is for a system that goes on and on:
// of the log it keeps only the last decision that it knows of.
type Replica struct {
	Node
	ID protocol.ID
	// Calls is how often the application may still propose.
	Calls int
}

// Receive has the message come to its decision. One that is over is ignored.
func (r *Replica) Receive(env *protocol.Env, from protocol.ID, message any) {
	m := message.(About)
	if m.Index > r.Index {
		r.begin(m.Index)
	}
	if m.Index == r.Index {
		r.Node.Receive(env, from, m.Body)
	}
}

// begin goes on to a decision.
func (r *Replica) begin(index int) {
	r.Node = Node{Index: index, Careless: r.Careless, Votes: map[Vote]map[protocol.ID]bool{}}
}

// Actions are to propose the number of the node plus one.
func (r *Replica) Actions() []any {
	if r.Calls == 0 {
		return nil
	}
	return []any{Propose{int(r.ID) + 1}}
}

// Act proposes for the present decision, or for the next one if this node knows the present one.
func (r *Replica) Act(env *protocol.Env, action any) {
	r.Calls--
	if r.Chosen != 0 {
		r.begin(r.Index + 1)
	}
	// A lower ballot than one that is promised would come to nothing.
	r.Ballot.Round = max(r.Ballot.Round, r.Promised.Round)
	r.Proposals = []int{action.(Propose).Value}
	r.Node.Act(env, action)
}

// decision is the view of the property of a log.
type decision struct{ Index, Chosen int }

// Log has so many replicas, each of which may propose so often.
func Log(nodes, calls int, careless bool) *protocol.Model {
	m := &protocol.Model{Properties: []protocol.Property{protocol.Always(
		"at most one value is chosen for each index",
		func(_ protocol.ID, node protocol.Node) decision {
			r := node.(*Replica)
			return decision{r.Index, r.Chosen}
		},
		func(all []decision) bool {
			return !slices.ContainsFunc(all, func(a decision) bool {
				return slices.ContainsFunc(all, func(b decision) bool {
					return a.Index == b.Index && min(a.Chosen, b.Chosen) > 0 && a.Chosen != b.Chosen
				})
			})
		})}}
	for id := range protocol.ID(nodes) {
		r := &Replica{ID: id, Calls: calls}
		r.Careless = careless
		r.begin(1)
		m.Nodes = append(m.Nodes, r)
	}
	return m
}
