// Package twophase is two-phase commit, as a protocol to check. A transaction manager has several
// resource managers commit a transaction, or abort it. It is that of Gray and Lamport ("Consensus
// on Transaction Commit", ACM TODS 2006), with the same steps as the example of stateright, so the
// number of states can be compared.
package twophase

import (
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// Decision is what a manager has decided.
type Decision int

// The decisions.
const (
	Working Decision = iota
	Prepared
	Committed
	Aborted
)

func (d Decision) String() string {
	return [...]string{"working", "prepared", "committed", "aborted"}[d]
}

// What managers tell each other.
type (
	// Ready says that a resource manager is prepared.
	Ready struct{}
	// Commit and Abort are the decision of the transaction manager.
	Commit struct{}
	Abort  struct{}
)

// What managers do by themselves.
type (
	// Prepare is a resource manager getting ready, and GiveUp one that aborts instead.
	Prepare struct{}
	GiveUp  struct{}
	// Decide is the transaction manager deciding to commit, or not to.
	Decide struct{ Commit bool }
)

// Transaction is the transaction manager. It has the ID 0.
type Transaction struct {
	Resources int // how many there are
	Decision  Decision
	Prepared  map[protocol.ID]bool
}

// Receive takes note of a resource manager that is prepared, as long as nothing is decided.
func (t *Transaction) Receive(_ *protocol.Env, from protocol.ID, _ any) {
	if t.Decision == Working {
		t.Prepared[from] = true
	}
}

// Actions are to commit, if everybody is prepared, and to abort.
func (t *Transaction) Actions() []any {
	if t.Decision != Working {
		return nil
	}
	if len(t.Prepared) < t.Resources {
		return []any{Decide{false}}
	}
	return []any{Decide{false}, Decide{true}}
}

// Act decides.
func (t *Transaction) Act(env *protocol.Env, action any) {
	if action.(Decide).Commit {
		t.Decision = Committed
		env.Broadcast(Commit{})
		return
	}
	t.Decision = Aborted
	env.Broadcast(Abort{})
}

// Resource is a resource manager.
type Resource struct{ Decision Decision }

// Receive does what the transaction manager has decided.
func (r *Resource) Receive(_ *protocol.Env, _ protocol.ID, message any) {
	switch message.(type) {
	case Commit:
		r.Decision = Committed
	case Abort:
		r.Decision = Aborted
	}
}

// Actions are to prepare, and to give up before that.
func (r *Resource) Actions() []any {
	if r.Decision != Working {
		return nil
	}
	return []any{Prepare{}, GiveUp{}}
}

// Act does one of them.
func (r *Resource) Act(env *protocol.Env, action any) {
	if _, gives := action.(GiveUp); gives {
		r.Decision = Aborted
		return
	}
	r.Decision = Prepared
	env.Send(0, Ready{})
}

// Model has so many resource managers. Messages arrive any number of times, or never.
func Model(resources int) *protocol.Model {
	m := &protocol.Model{
		Nodes:   []protocol.Node{&Transaction{Resources: resources, Prepared: map[protocol.ID]bool{}}},
		Names:   []string{"manager"},
		Network: protocol.Duplicating,
		Properties: []protocol.Property{
			protocol.Always("nobody aborts what another one commits", decision, consistent),
			protocol.Sometimes("all commit", decision, all(Committed)),
			protocol.Sometimes("all abort", decision, all(Aborted)),
		},
	}
	for i := range resources {
		m.Nodes = append(m.Nodes, &Resource{})
		m.Names = append(m.Names, "resource "+string(rune('A'+i)))
	}
	return m
}

// Resources are the resource managers of a model, which are alike: for Model.Alike.
func Resources(n int) [][]protocol.ID {
	set := make([]protocol.ID, n)
	for i := range set {
		set[i] = protocol.ID(i + 1)
	}
	return [][]protocol.ID{set}
}

// decision is the view of the properties.
func decision(_ protocol.ID, node protocol.Node) Decision {
	switch n := node.(type) {
	case *Transaction:
		return n.Decision
	case *Resource:
		return n.Decision
	}
	return Working
}

// consistent looks at the resource managers, as the original does.
func consistent(decisions []Decision) bool {
	return !slices.Contains(decisions[1:], Aborted) || !slices.Contains(decisions[1:], Committed)
}

func all(want Decision) func([]Decision) bool {
	return func(decisions []Decision) bool {
		return !slices.ContainsFunc(decisions[1:], func(d Decision) bool { return d != want })
	}
}
