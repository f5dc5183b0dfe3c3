package global

import (
	"encoding/binary"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// state is a global one: the local state of each node, what faults are left, and the messages under
// way.
type state struct {
	locals []table.Local
	left   Faults
	cut    uint64 // the nodes, as bits, that are parted from node 0; zero if none are
	// messages are sorted, or, if the network is ordered, in the order of channels, and in each
	// channel in the order in which they were sent.
	messages []table.Message
}

// Faults are how often something may go wrong in a run. A negative number is no bound.
type Faults struct{ Drops, Duplicates, Partitions, Crashes int }

// Any is how many faults there may be if there is no bound.
const Any = -1

// spent is what is left after one of a fault.
func spent(left int) int { return max(left-1, min(left, Any)) }

// pack appends the bytes of a state. Equal states have equal bytes. Faults that are not bounded, or
// that do not happen, take no room.
func (c *Config) pack(dst []byte, s *state) []byte {
	for _, l := range s.locals {
		dst = binary.AppendUvarint(dst, uint64(l))
	}
	dst = appendLeft(dst, s.left.Drops, c.Faults.Drops)
	dst = appendLeft(dst, s.left.Duplicates, c.Faults.Duplicates)
	dst = appendLeft(dst, s.left.Crashes, c.Faults.Crashes)
	dst = appendLeft(dst, s.left.Partitions, c.Faults.Partitions)
	if c.Faults.Partitions != 0 {
		dst = binary.AppendUvarint(dst, s.cut)
	}
	if c.Ordered {
		for _, m := range s.messages {
			dst = binary.AppendUvarint(dst, uint64(m))
		}
		return dst
	}
	// Sorted numbers are mostly near each other.
	last := table.Message(0)
	for _, m := range s.messages {
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

// unpack is the reverse of pack. The state is overwritten.
func (c *Config) unpack(s *state, data []byte) {
	next := func() uint64 {
		n, size := binary.Uvarint(data)
		data = data[size:]
		return n
	}
	s.locals, s.messages, s.left = s.locals[:0], s.messages[:0], c.Faults
	for range c.Nodes {
		s.locals = append(s.locals, table.Local(next()))
	}
	for _, left := range []*int{&s.left.Drops, &s.left.Duplicates, &s.left.Crashes, &s.left.Partitions} {
		if *left > 0 {
			*left = int(next())
		}
	}
	s.cut = 0
	if c.Faults.Partitions != 0 {
		s.cut = next()
	}
	last := table.Message(0)
	for len(data) > 0 {
		m := table.Message(next())
		if !c.Ordered {
			m += last
			last = m
		}
		s.messages = append(s.messages, m)
	}
}
