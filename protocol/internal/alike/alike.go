// Package alike chooses one of all states that differ in the names of alike nodes only. The choice
// is exact: two states get the same one if and only if a permutation of alike nodes makes one of
// the other. So a search that keeps only these has one state for each orbit.
//
// Each node gets a signature: what it and the others look like to somebody who cannot tell the
// other alike nodes apart. Nodes are sorted by it. Where signatures are equal, nodes that can be
// exchanged without a change of the state are found by trying, and of the orders that are left the
// one with the smallest state is taken. A model with k alike nodes has k! permutations, but states
// have mostly one order that is left. The idea is that of the refinement of colours in programs for
// graph isomorphism (McKay: "Practical Graph Isomorphism", Congressus Numerantium 1981).
package alike

import (
	"cmp"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Config says which nodes are alike.
type Config struct {
	Table   *table.Table
	Renamer table.Renamer
	// Sets are the alike nodes, each set in ascending order.
	Sets [][]int
	// Ordered: messages are in the order of their channels, which are numbered by sender and
	// receiver. Else they are sorted.
	Ordered bool
	// Seed makes other signatures, so that other states are chosen. Tests have processes differ by
	// it; they may differ anyway, by numbers and by the order in which they meet types.
	Seed uint64
}

// State is a global state, but for what does not depend on names.
type State struct {
	Locals   []table.Local
	Messages []table.Message
	// Cut are the nodes that are parted from node 0, as bits.
	Cut uint64
}

// Canonical chooses states, for one goroutine.
type Canonical struct {
	Config
	reader *table.Reader
	nodes  int
	// alike are the nodes of all sets.
	alike     []int
	renamings map[string]*renaming
	swaps     []*renaming
	seen      signatures
	// What is used again from call to call.
	sums        []uint64
	best, other State
	to, order   []int
}

// New returns a Canonical for so many nodes.
func New(c Config, nodes int) *Canonical {
	k := &Canonical{Config: c, reader: table.NewReader(c.Table), nodes: nodes,
		renamings: map[string]*renaming{}, to: make([]int, nodes), order: make([]int, nodes),
		seen: signatures{locals: make([][][]uint64, nodes)}}
	for _, set := range c.Sets {
		k.alike = append(k.alike, set...)
		for i := range set[1:] {
			k.swaps = append(k.swaps, k.renaming(k.exchange(set[i], set[i+1])))
		}
	}
	k.sums = make([]uint64, len(k.alike))
	return k
}

// Swaps is how many exchanges of two nodes make all permutations of alike nodes.
func (k *Canonical) Swaps() int { return len(k.swaps) }

// Swap returns the local states after one of these exchanges, until the next call.
func (k *Canonical) Swap(i int, locals []table.Local) ([]table.Local, error) {
	err := k.apply(k.swaps[i], State{Locals: locals}, &k.other)
	return k.other.Locals, err
}

// exchange is the permutation that exchanges two nodes, until the next call.
func (k *Canonical) exchange(a, b int) []int {
	for i := range k.to {
		k.to[i] = i
	}
	k.to[a], k.to[b] = b, a
	return k.to
}

// Of returns the chosen state, until the next call.
func (k *Canonical) Of(s State) (State, error) {
	if err := k.sign(s); err != nil {
		return s, err
	}
	cells, err := k.cells(s)
	if err != nil {
		return s, err
	}
	for i := range k.order {
		k.order[i] = i
	}
	// Of the orders that are left the smallest state is taken. It does not depend on which state of
	// the orbit this is: the orders of another one are the same, but for the names before.
	isFirst := true
	err = arrange(cells, func(cell *cell, at int, node int) {
		// The node gets the name that stands at this place of the cell.
		k.order[cell.names[at]] = node
	}, func() error {
		for name, node := range k.order {
			k.to[node] = name
		}
		if err := k.apply(k.renaming(k.to), s, &k.other); err != nil {
			return err
		}
		if isFirst || less(k.other, k.best) {
			k.best, k.other = k.other, k.best
		}
		isFirst = false
		return nil
	})
	return k.best, err
}

// cell are nodes of one set with equal signatures, and the names that they get. Nodes of one block
// can be exchanged without a change of the state.
type cell struct {
	names  []int
	blocks [][]int
}

// cells sorts the nodes of each set by their signatures.
func (k *Canonical) cells(s State) (cells []cell, err error) {
	// Signatures are in the order of the sets.
	at := 0
	for _, set := range k.Sets {
		sums := k.sums[at : at+len(set)]
		at += len(set)
		order := make([]int, len(set))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sums[a], sums[b]) })
		for i := 0; i < len(order); {
			c := cell{}
			// Names are in ascending order, and go to nodes in that of their signatures.
			for j := i; j < len(order) && sums[order[j]] == sums[order[i]]; j++ {
				c.names = append(c.names, set[j])
				if err := k.put(&c, set[order[j]], s); err != nil {
					return nil, err
				}
			}
			i += len(c.names)
			cells = append(cells, c)
		}
	}
	return cells, nil
}

// put puts a node into the block of a cell to which it belongs. It is enough to compare with one of
// each block: exchanges that change nothing can be done one after the other.
func (k *Canonical) put(c *cell, node int, s State) error {
	for i, block := range c.blocks {
		err := k.apply(k.renaming(k.exchange(block[0], node)), s, &k.other)
		if err != nil {
			return err
		}
		if !less(s, k.other) && !less(k.other, s) {
			c.blocks[i] = append(block, node)
			return nil
		}
	}
	c.blocks = append(c.blocks, []int{node})
	return nil
}

// arrange calls visit for all orders of the nodes in the cells that can make a difference. Place is
// called before for each node and its place.
func arrange(cells []cell, place func(c *cell, at, node int), visit func() error) error {
	if len(cells) == 0 {
		return visit()
	}
	c := &cells[0]
	used := make([]int, len(c.blocks))
	var fill func(at int) error
	fill = func(at int) error {
		if at == len(c.names) {
			return arrange(cells[1:], place, visit)
		}
		// Of each block only the number of nodes that are left counts.
		// Nodes of a block are put in their order, so that no order comes twice.
		for i, block := range c.blocks {
			if used[i] == len(block) {
				continue
			}
			place(c, at, block[used[i]])
			used[i]++
			if err := fill(at + 1); err != nil {
				return err
			}
			used[i]--
		}
		return nil
	}
	return fill(0)
}

// less compares states of the same size.
func less(a, b State) bool {
	return cmp.Or(slices.Compare(a.Locals, b.Locals), cmp.Compare(a.Cut, b.Cut),
		slices.Compare(a.Messages, b.Messages)) < 0
}
