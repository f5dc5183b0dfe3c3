package apart

import (
	"math/bits"

	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Names are texts of local states and messages that are the same in all processes. Numbers are not:
// each process gives its own.
type Names interface {
	Local(node int, l table.Local) (string, error)
	Message(m table.Message) (string, error)
}

// digests are numbers of states that are the same in all processes. They are sums over what a state
// is made of, and each part is asked for once. Different states may have the same number. So it
// says whose a state is, and is never taken for the state.
type digests struct {
	names    Names
	ordered  bool
	locals   [][]uint64 // zero if it is not known
	messages []uint64
}

func newDigests(names Names, y *system.System) *digests {
	return &digests{names: names, ordered: y.Ordered, locals: make([][]uint64, y.Nodes)}
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
func (d *digests) local(node int, l table.Local) (uint64, error) {
	for int(l) >= len(d.locals[node]) {
		d.locals[node] = append(d.locals[node], 0)
	}
	if n := d.locals[node][l]; n != 0 {
		return n, nil
	}
	text, err := d.names.Local(node, l)
	if err != nil {
		return 0, err
	}
	d.locals[node][l] = digestOf(text, uint64(node)+1)
	return d.locals[node][l], nil
}

// message is the digest of a message.
func (d *digests) message(m table.Message) (uint64, error) {
	for int(m) >= len(d.messages) {
		d.messages = append(d.messages, 0)
	}
	if n := d.messages[m]; n != 0 {
		return n, nil
	}
	text, err := d.names.Message(m)
	if err != nil {
		return 0, err
	}
	d.messages[m] = digestOf(text, 0)
	return d.messages[m], nil
}

// state is the digest of a state. Faults that are left and partitions count, too: states that
// differ in nothing else are expanded by different processes.
func (d *digests) state(s *system.State) (uint64, error) {
	left := s.Left
	sum := uint64(left.Drops+1)<<48 ^ uint64(left.Duplicates+1)<<32 ^ uint64(left.Crashes+1)<<16 ^
		uint64(left.Partitions+1)
	sum = mix(sum ^ bits.RotateLeft64(s.Cut, 7))
	for node, l := range s.Locals {
		n, err := d.local(node, l)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	for _, m := range s.Messages {
		n, err := d.message(m)
		if err != nil {
			return 0, err
		}
		// In an ordered network their order counts, else only how often each is there.
		if d.ordered {
			sum = mix(sum)
		}
		sum += n
	}
	return mix(sum), nil
}

// localsOf are the digests of some local states.
func (d *digests) localsOf(locals []table.Local) (list []uint64, err error) {
	for node, l := range locals {
		n, err := d.local(node, l)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}
