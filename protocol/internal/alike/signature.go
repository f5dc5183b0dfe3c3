package alike

import (
	"encoding/binary"
	"hash/fnv"
	"math/bits"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// signatures are what local states and messages look like to each of the alike nodes.
type signatures struct {
	locals   [][][]uint64 // by node and local state
	messages [][]uint64
}

// sign sets the signatures of all alike nodes in a state. If a permutation makes one state of
// another, the signature of a node is that of what it becomes. They are hashes, so different nodes
// may have the same one, which costs time only.
func (k *Canonical) sign(s State) error {
	clear(k.sums)
	for node, l := range s.Locals {
		list, err := k.localSignatures(node, l)
		if err != nil {
			return err
		}
		for i, x := range list {
			k.sums[i] += mix(x, 0)
		}
	}
	// Equal messages count as often as there are of them.
	place, last := uint64(0), -1
	for _, m := range s.Messages {
		list, err := k.messageSignatures(m)
		if err != nil {
			return err
		}
		if k.Ordered {
			place++
			if c := k.channel(m); c != last {
				place, last = 1, c
			}
		}
		// Of a channel the order counts.
		for i, x := range list {
			k.sums[i] += mix(x, place)
		}
	}
	if s.Cut == 0 {
		return nil
	}
	// The sides of a partition have no names, only sizes.
	for i, node := range k.alike {
		side := s.Cut
		if side>>node&1 == 0 {
			side ^= 1<<k.nodes - 1
		}
		k.sums[i] += mix(uint64(bits.OnesCount64(side)), 1<<32)
	}
	return nil
}

// mix makes a number that can be added to others. Sums do not depend on an order, and order is what
// names give to nodes and messages. The constants are those of wyhash.
func mix(x, place uint64) uint64 {
	high, low := bits.Mul64(x^0xa0761d6478bd642f, place^0xe7037ed1a0b428db)
	high, low = bits.Mul64(high^low^0x8ebc6af09c88c6e3, low^0x589965cc75374cc3)
	return high ^ low
}

// Names in a mask, which no node has: of the node that looks, and of the first set of alike nodes.
const (
	maskedSelf = 1 << 16
	maskedSet  = maskedSelf + perSet
	perSet     = 4
)

// mask is how one alike node sees the names of nodes. The others of a set look the same to it, but
// for the owner of a local state, or the sender and the receiver of a message.
func (k *Canonical) mask(self int, owners ...int) []int {
	to := make([]int, k.nodes)
	for i := range to {
		to[i] = i
	}
	for i, set := range k.Sets {
		for _, node := range set {
			to[node] = maskedSet + perSet*i
		}
	}
	for i, owner := range owners {
		if to[owner] >= maskedSet {
			to[owner] += 1 + i
		}
	}
	to[self] = maskedSelf
	return to
}

// localSignatures are those of a local state.
func (k *Canonical) localSignatures(node int, l table.Local) ([]uint64, error) {
	if all := k.seen.locals[node]; int(l) < len(all) && all[l] != nil {
		return all[l], nil
	}
	list := make([]uint64, len(k.alike))
	// The new name of the owner says whether it is the one that looks, or which other node.
	for i, self := range k.alike {
		to := k.mask(self, node)
		state, err := k.Renamer.RenameState(node, k.reader.State(node, l).Image, to, true)
		if err != nil {
			return nil, err
		}
		list[i] = hash(k.Seed, state, to[node])
	}
	k.seen.locals[node] = set(k.seen.locals[node], int(l), list)
	return list, nil
}

// messageSignatures are those of a message.
func (k *Canonical) messageSignatures(m table.Message) ([]uint64, error) {
	if int(m) < len(k.seen.messages) && k.seen.messages[m] != nil {
		return k.seen.messages[m], nil
	}
	list := make([]uint64, len(k.alike))
	sent := k.reader.Message(m)
	for i, self := range k.alike {
		to := k.mask(self, sent.From, sent.To)
		body, err := k.Renamer.RenameMessage(sent.Image, to, true)
		if err != nil {
			return nil, err
		}
		list[i] = hash(k.Seed, body, to[sent.From], to[sent.To])
	}
	k.seen.messages = set(k.seen.messages, int(m), list)
	return list, nil
}

// hash is the same in each run, so that runs do not depend on chance.
func hash(seed uint64, data []byte, names ...int) uint64 {
	h := fnv.New64a()
	for _, n := range names {
		data = binary.AppendUvarint(data, uint64(n))
	}
	_, _ = h.Write(binary.AppendUvarint(data, seed))
	return h.Sum64()
}
