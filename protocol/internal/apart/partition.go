package apart

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
	"github.com/tandem-mc/tandem/protocol/session"
)

// Partition says which part of a search a state belongs to. That depends on the state only: so
// whoever reaches it asks the same one whether it is new.
type Partition struct {
	// Nodes are those whose local states decide, as bits. Zero: all of the state does.
	Nodes uint64
	// byEstimate: the estimate decides. States with the same one are a slice, and slices go to the
	// parts by turns.
	byEstimate bool
	// isOpen says that the nodes are chosen when the search begins: those that change least.
	isOpen bool
}

// Parse reads a partition function, as session.ParsePartition does.
func Parse(text string) (Partition, error) {
	f, err := session.ParsePartition(text)
	return Partition{Nodes: f.Nodes, isOpen: f.Open, byEstimate: f.ByEstimate}, err
}

// String is what Parse reads. The front tells the parts by it which nodes it has chosen, and people
// see it in the result.
func (p Partition) String() string {
	switch {
	case p.isOpen:
		return "part"
	case p.byEstimate:
		return "estimate"
	case p.Nodes == 0:
		return "hash"
	}
	var list []string
	for rest := p.Nodes; rest != 0; rest &= rest - 1 {
		list = append(list, strconv.Itoa(bits.TrailingZeros64(rest)))
	}
	return "part=" + strings.Join(list, ",")
}

// owner is the part of a state.
func (p Partition) owner(d *digests, s *system.State, parts int) (int, error) {
	if p.byEstimate {
		steps, err := d.estimate(s)
		return steps % parts, err
	}
	digest, err := uint64(0), error(nil)
	if p.Nodes == 0 {
		digest, err = d.state(s)
	} else {
		digest, err = d.leastOf(func(n *named) (uint64, error) { return d.nodes(n, s, p.Nodes) })
	}
	high, _ := bits.Mul64(mix(digest), uint64(parts))
	return int(high), err
}

// closed is the function that looks at all nodes of which an alike one is looked at. Another name
// of a node does not change then what is seen. Were it to look at one of them only, a state would
// belong to several parts, by the names that each process has chosen.
func (p Partition) closed(orders [][]int) Partition {
	for _, to := range orders {
		for node, name := range to {
			// All orders are there, so none has to be gone through twice.
			if p.Nodes>>node&1 != 0 {
				p.Nodes |= 1 << name
			}
		}
	}
	return p
}

// spare is how many combinations there are to be for each part, so that parts are about as large.
const spare = 24

// choose is the function by the nodes that change least. Changes say how often each one does, and
// locals how many local states it has. So many nodes are taken that there are enough combinations.
func (p Partition) choose(changes, locals []int, parts int) Partition {
	if !p.isOpen {
		return p
	}
	nodes := make([]int, len(changes))
	for i := range nodes {
		nodes[i] = i
	}
	slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(changes[a], changes[b]) })
	p.isOpen = false
	for combinations := 1; len(nodes) > 0 && combinations < spare*parts; nodes = nodes[1:] {
		// One that never changes divides nothing.
		if locals[nodes[0]] > 1 {
			combinations *= locals[nodes[0]]
			p.Nodes |= 1 << nodes[0]
		}
	}
	return p
}

// errNoEstimate is of slices by estimate without one that all processes agree on.
var errNoEstimate = errors.New("the partition function estimate needs Options.Estimate, and nodes that are " +
	"not alike: take part or hash")

// check refuses nodes that the model does not have, and an estimate that there is not. An estimate
// may tell alike nodes apart, which have other names in each process.
func (p Partition) check(nodes int, d *digests) error {
	if p.byEstimate && (d.estimate == nil || d.orders != nil) {
		return errNoEstimate
	}
	if bits.Len64(p.Nodes) > nodes {
		return fmt.Errorf("the partition function %v names a node that is not there: the last one is %d", p,
			nodes-1)
	}
	return nil
}

// changesOf says how often each node has another local state than in the state before, among the
// states so far, and how many local states it has in these. The table may have more, which a
// fixpoint has met.
func changesOf(h *global.Share, nodes int) (changes, locals []int, err error) {
	changes, locals = make([]int, nodes), make([]int, nodes)
	type place struct {
		node  int
		local table.Local
	}
	met := map[place]bool{}
	err = h.Each(func(_ int, before, state *system.State, _ uint8) error {
		for node, l := range state.Locals {
			if before != nil && l != before.Locals[node] {
				changes[node]++
			}
			if p := (place{node, l}); !met[p] {
				met[p] = true
				locals[node]++
			}
		}
		return nil
	})
	return changes, locals, err
}
