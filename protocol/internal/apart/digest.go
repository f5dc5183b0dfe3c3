package apart

import (
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Names are texts of local states and messages that are the same in all processes. Numbers are not:
// each process gives its own. To has the new names of nodes; nil: they have their own.
type Names interface {
	Local(node int, l table.Local, to []int) (string, error)
	Message(m table.Message, to []int) (string, error)
	// Orders are all permutations of nodes that are alike; nil: none are.
	Orders() [][]int
}

// digests are numbers of states that are the same in all processes. They are sums over what a state
// is made of, and each part is asked for once. Different states may have the same number. So it
// says whose a state is, and is never taken for the state.
//
// If nodes are alike, a process visits one of the states that differ in their names only, and
// another process another one. So the number of a state is the least of those that it has under
// all names. That is exact: other orders of the names make the same numbers in another order. It
// costs a sum for each order, and each local state and message is renamed once for each. So there
// is a bound on the orders.
type digests struct {
	names  Names
	y      *system.System
	orders [][]int
	// named are what is known under the names of each order; the only ones if no nodes are alike.
	named []named
	// channels are those of messages, plus one, if their order counts.
	channels []int
	least    [][]uint64 // of local states, by node, under all names
	estimate func(*system.State) (int, error)
}

// named has the numbers of local states and messages under some names; zero if one is not known.
type named struct {
	to       []int
	locals   [][]uint64
	messages []uint64
}

func newDigests(names Names, y *system.System, estimate func(*system.State) (int, error)) *digests {
	d := &digests{names: names, y: y, estimate: estimate, orders: names.Orders(),
		least: make([][]uint64, y.Nodes)}
	for _, to := range d.orders {
		d.named = append(d.named, named{to: to, locals: make([][]uint64, y.Nodes)})
	}
	if d.orders == nil {
		d.named = []named{{locals: make([][]uint64, y.Nodes)}}
	}
	return d
}

// mix is the last step of MurmurHash3 by Austin Appleby: each bit of the result depends on all.
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// digestOf is FNV-1a of a text, mixed, and never zero.
func digestOf(text string, seed uint64) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return mix(h+seed*0x9e3779b97f4a7c15) | 1
}

// local is the digest of a local state.
func (d *digests) local(n *named, node int, l table.Local) (uint64, error) {
	for int(l) >= len(n.locals[node]) {
		n.locals[node] = append(n.locals[node], 0)
	}
	if x := n.locals[node][l]; x != 0 {
		return x, nil
	}
	text, err := d.names.Local(node, l, n.to)
	if err != nil {
		return 0, err
	}
	// Equal texts of different nodes are different: the name of the node counts.
	name := node
	if n.to != nil {
		name = n.to[node]
	}
	n.locals[node][l] = digestOf(text, uint64(name)+1)
	return n.locals[node][l], nil
}

// message is the digest of a message.
func (d *digests) message(n *named, m table.Message) (uint64, error) {
	for int(m) >= len(n.messages) {
		n.messages = append(n.messages, 0)
	}
	if x := n.messages[m]; x != 0 {
		return x, nil
	}
	text, err := d.names.Message(m, n.to)
	if err != nil {
		return 0, err
	}
	n.messages[m] = digestOf(text, 0)
	return n.messages[m], nil
}

// leastOf is the least of what is said of a state under each of the names. Where no nodes are alike
// there are only the real ones.
func (d *digests) leastOf(say func(n *named) (uint64, error)) (least uint64, err error) {
	for i := range d.named {
		x, err := say(&d.named[i])
		if err != nil {
			return 0, err
		}
		if i == 0 || x < least {
			least = x
		}
	}
	return least, nil
}

// state is the digest of a state. Faults that are left and partitions count, too: states that
// differ in nothing else are expanded by different processes.
func (d *digests) state(s *system.State) (uint64, error) {
	return d.leastOf(func(n *named) (uint64, error) { return d.under(n, s) })
}

// under is the digest of a state under some names.
func (d *digests) under(n *named, s *system.State) (uint64, error) {
	left := s.Left
	sum := uint64(left.Drops+1)<<48 ^ uint64(left.Duplicates+1)<<32 ^ uint64(left.Crashes+1)<<16 ^
		uint64(left.Partitions+1)
	sum = mix(sum ^ bits.RotateLeft64(d.cut(n, s.Cut), 7))
	all, err := d.nodes(n, s, ^uint64(0))
	if err != nil {
		return 0, err
	}
	sum += all
	// In an ordered network the order of a channel counts, else only how often each message is
	// there. The channels have no order: other names would change it.
	last, chain := 0, uint64(0)
	for _, m := range s.Messages {
		x, err := d.message(n, m)
		if err != nil {
			return 0, err
		}
		if !d.y.Ordered {
			sum += x
			continue
		}
		if c := d.channel(m); c != last {
			sum += mix(chain)
			last, chain = c, 0
		}
		chain = mix(chain) + x
	}
	return mix(sum + mix(chain)), nil
}

// nodes adds up the local states of some nodes, which are given as bits.
func (d *digests) nodes(n *named, s *system.State, nodes uint64) (sum uint64, err error) {
	for node, l := range s.Locals {
		if nodes>>node&1 == 0 {
			continue
		}
		x, err := d.local(n, node, l)
		if err != nil {
			return 0, err
		}
		sum += x
	}
	return sum, nil
}

// cut is a partition under some names. The side of node 0 is the one that has no bits.
func (d *digests) cut(n *named, cut uint64) (renamed uint64) {
	if n.to == nil {
		return cut
	}
	for node, name := range n.to {
		renamed |= cut >> node & 1 << name
	}
	if renamed&1 != 0 {
		renamed ^= 1<<len(n.to) - 1
	}
	return renamed
}

// channel numbers the pair of nodes of a message, from 1 on. It is that of the real names.
func (d *digests) channel(m table.Message) int {
	for int(m) >= len(d.channels) {
		d.channels = append(d.channels, 0)
	}
	if d.channels[m] == 0 {
		sent := d.y.Table.Message(m)
		d.channels[m] = sent.From*d.y.Nodes + sent.To + 1
	}
	return d.channels[m]
}

// localsOf are the digests of some local states. Those of nodes that are alike have no places: all
// of them are sorted then.
func (d *digests) localsOf(locals []table.Local) (list []uint64, err error) {
	for node, l := range locals {
		for int(l) >= len(d.least[node]) {
			d.least[node] = append(d.least[node], 0)
		}
		if d.least[node][l] == 0 {
			d.least[node][l], err = d.leastOf(func(n *named) (uint64, error) { return d.local(n, node, l) })
			if err != nil {
				return nil, err
			}
		}
		list = append(list, d.least[node][l])
	}
	if d.orders != nil {
		slices.Sort(list)
	}
	return list, nil
}

// differ says whether local states of two states differ in more than those of one node. A step
// changes one node, so such a state cannot come right before the other one. Where nodes are alike,
// names may differ as well, so places mean nothing, and what is in one list only is counted.
func (d *digests) differ(a, b []uint64) bool {
	count := 0
	if d.orders == nil {
		for i := range a {
			if a[i] != b[i] {
				count++
			}
		}
		return count > 1
	}
	// Of two sorted lists, what is in the first one only.
	for len(a) > 0 {
		switch {
		case len(b) == 0 || a[0] < b[0]:
			count++
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return count > 1
}
