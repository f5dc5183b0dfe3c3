package system

import (
	"encoding/binary"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// State is a global one: the local state of each node, what faults are left, and the messages under
// way.
type State struct {
	Locals []table.Local
	Left   Faults
	Cut    uint64 // the nodes, as bits, that are parted from node 0; zero if none are
	// Messages are sorted, or, if the network is ordered, in the order of channels, and in each
	// channel in the order in which they were sent.
	Messages []table.Message
}

// spent is what is left after one of a fault.
func spent(left int) int { return max(left-1, min(left, Any)) }

// Pack appends the bytes of a state. Equal states have equal bytes. Faults that are not bounded, or
// that do not happen, take no room.
func (y *System) Pack(dst []byte, s *State) []byte {
	for _, l := range s.Locals {
		dst = binary.AppendUvarint(dst, uint64(l))
	}
	dst = appendLeft(dst, s.Left.Drops, y.Faults.Drops)
	dst = appendLeft(dst, s.Left.Duplicates, y.Faults.Duplicates)
	dst = appendLeft(dst, s.Left.Crashes, y.Faults.Crashes)
	dst = appendLeft(dst, s.Left.Partitions, y.Faults.Partitions)
	if y.Faults.Partitions != 0 {
		dst = binary.AppendUvarint(dst, s.Cut)
	}
	if y.Ordered {
		for _, m := range s.Messages {
			dst = binary.AppendUvarint(dst, uint64(m))
		}
		return dst
	}
	// Sorted numbers are mostly near each other.
	last := table.Message(0)
	for _, m := range s.Messages {
		dst = binary.AppendUvarint(dst, uint64(m-last))
		last = m
	}
	return dst
}

// appendLeft writes how many faults of a kind are left. If there is no choice, nothing is written.
func appendLeft(dst []byte, left, atFirst int) []byte {
	if atFirst <= 0 {
		return dst
	}
	return binary.AppendUvarint(dst, uint64(left))
}

// Unpack is the reverse of Pack. The state is overwritten.
func (y *System) Unpack(s *State, data []byte) {
	next := func() uint64 {
		n, size := binary.Uvarint(data)
		data = data[size:]
		return n
	}
	s.Locals, s.Messages, s.Left = s.Locals[:0], s.Messages[:0], y.Faults
	for range y.Nodes {
		s.Locals = append(s.Locals, table.Local(next()))
	}
	for _, left := range []*int{&s.Left.Drops, &s.Left.Duplicates, &s.Left.Crashes, &s.Left.Partitions} {
		if *left > 0 {
			*left = int(next())
		}
	}
	s.Cut = 0
	if y.Faults.Partitions != 0 {
		s.Cut = next()
	}
	last := table.Message(0)
	for len(data) > 0 {
		m := table.Message(next())
		if !y.Ordered {
			m += last
			last = m
		}
		s.Messages = append(s.Messages, m)
	}
}
