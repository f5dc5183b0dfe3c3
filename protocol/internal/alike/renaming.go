package alike

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// renaming is a permutation of nodes, with what it makes of local states and messages. Those are
// their numbers plus one; zero is not known yet.
type renaming struct {
	to       []int
	locals   [][]table.Local
	messages []table.Message
}

// renaming returns that of a permutation, which is copied. A search meets few permutations again
// and again, and few local states and messages; so nearly all renamings are look-ups.
func (k *Canonical) renaming(to []int) *renaming {
	// There are at most 64 nodes, so the name of a permutation takes no memory.
	var buffer [64]byte
	name := buffer[:0]
	for _, n := range to {
		name = append(name, byte(n))
	}
	r := k.renamings[string(name)]
	if r == nil {
		r = &renaming{to: slices.Clone(to), locals: make([][]table.Local, k.nodes)}
		k.renamings[string(name)] = r
	}
	return r
}

// apply renames the nodes of a state.
func (k *Canonical) apply(r *renaming, s State, dst *State) error {
	// Each node gets the local state that the node has which takes its name.
	dst.Locals = append(dst.Locals[:0], s.Locals...)
	for node, l := range s.Locals {
		n, err := k.local(r, node, l)
		if err != nil {
			return err
		}
		dst.Locals[r.to[node]] = n
	}
	dst.Messages = dst.Messages[:0]
	for _, m := range s.Messages {
		n, err := k.message(r, m)
		if err != nil {
			return err
		}
		dst.Messages = append(dst.Messages, n)
	}
	// A channel keeps its order, and all of it gets the same new names.
	if k.Ordered {
		byChannel := func(a, b table.Message) int { return k.channel(a) - k.channel(b) }
		slices.SortStableFunc(dst.Messages, byChannel)
	} else {
		slices.Sort(dst.Messages)
	}
	dst.Cut = 0
	for node, name := range r.to {
		dst.Cut |= s.Cut >> node & 1 << name
	}
	// The side of node 0 is the one that has no bits.
	if dst.Cut&1 != 0 {
		dst.Cut ^= 1<<k.nodes - 1
	}
	return nil
}

// channel numbers a pair of nodes.
func (k *Canonical) channel(m table.Message) int {
	sent := k.reader.Message(m)
	return sent.From*k.nodes + sent.To
}

// local renames a local state.
func (k *Canonical) local(r *renaming, node int, l table.Local) (table.Local, error) {
	list := r.locals[node]
	if int(l) < len(list) && list[l] != 0 {
		return list[l] - 1, nil
	}
	// It may be a local state that no state had up to now.
	n, err := k.Table.RenameState(node, l, r.to)
	if err != nil {
		return 0, err
	}
	r.locals[node] = set(list, int(l), n+1)
	return n, nil
}

// message renames a message.
func (k *Canonical) message(r *renaming, m table.Message) (table.Message, error) {
	if int(m) < len(r.messages) && r.messages[m] != 0 {
		return r.messages[m] - 1, nil
	}
	n, err := k.Table.RenameMessage(m, r.to)
	if err != nil {
		return 0, err
	}
	r.messages = set(r.messages, int(m), n+1)
	return n, nil
}

// set sets an element of a list that is made as long as it has to be.
func set[T any](list []T, at int, value T) []T {
	for at >= len(list) {
		var zero T
		list = append(list, zero)
	}
	list[at] = value
	return list
}

// AsymmetryError is of a property that tells alike nodes apart.
type AsymmetryError struct {
	Property int
	// Swap is the number of the exchange of two nodes that shows it.
	Swap int
}

func (e *AsymmetryError) Error() string {
	return fmt.Sprintf("property %d tells alike nodes apart", e.Property)
}
