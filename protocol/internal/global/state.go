package global

import (
	"cmp"
	"encoding/binary"
	"slices"

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
func (w *expander) pack(dst []byte, s *state) []byte {
	for _, l := range s.locals {
		dst = binary.AppendUvarint(dst, uint64(l))
	}
	dst = appendLeft(dst, s.left.Drops, w.config.Faults.Drops)
	dst = appendLeft(dst, s.left.Duplicates, w.config.Faults.Duplicates)
	dst = appendLeft(dst, s.left.Crashes, w.config.Faults.Crashes)
	dst = appendLeft(dst, s.left.Partitions, w.config.Faults.Partitions)
	if w.config.Faults.Partitions != 0 {
		dst = binary.AppendUvarint(dst, s.cut)
	}
	if w.config.Ordered {
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
func (w *expander) unpack(s *state, data []byte) {
	next := func() uint64 {
		n, size := binary.Uvarint(data)
		data = data[size:]
		return n
	}
	s.locals, s.messages, s.left = s.locals[:0], s.messages[:0], w.config.Faults
	for range w.config.Nodes {
		s.locals = append(s.locals, table.Local(next()))
	}
	for _, left := range []*int{&s.left.Drops, &s.left.Duplicates, &s.left.Crashes, &s.left.Partitions} {
		if *left > 0 {
			*left = int(next())
		}
	}
	s.cut = 0
	if w.config.Faults.Partitions != 0 {
		s.cut = next()
	}
	last := table.Message(0)
	for len(data) > 0 {
		m := table.Message(next())
		if !w.config.Ordered {
			m += last
			last = m
		}
		s.messages = append(s.messages, m)
	}
}

// move sets next to what cur becomes: one node has another local state, some messages are gone and
// others are sent. Gone are indices, in ascending order.
func (w *expander) move(node int, to table.Local, gone []int, sent []table.Message) {
	n, c := &w.next, &w.cur
	n.locals = append(n.locals[:0], c.locals...)
	n.locals[node] = to
	n.left, n.cut = c.left, c.cut
	if n.cut != 0 {
		// What is sent across a cut never gets under way.
		sent = w.uncut(nil, sent, n.cut)
	}
	w.exchange(gone, sent)
}

// uncut appends the messages that do not cross a cut.
func (w *expander) uncut(dst, list []table.Message, cut uint64) []table.Message {
	for _, m := range list {
		if sent := w.reader.Message(m); (cut>>sent.From^cut>>sent.To)&1 == 0 {
			dst = append(dst, m)
		}
	}
	return dst
}

// exchange sets the messages of next.
func (w *expander) exchange(gone []int, sent []table.Message) {
	n, c := &w.next, &w.cur
	n.messages = n.messages[:0]
	switch {
	// The messages are a set: nothing is gone, and nothing is there twice.
	case w.config.Duplicating:
		n.messages = append(n.messages, c.messages...)
		for _, m := range sent {
			if i, found := slices.BinarySearch(n.messages, m); !found {
				n.messages = slices.Insert(n.messages, i, m)
			}
		}
	// What is sent is the last of its channel.
	case w.config.Ordered:
		n.messages = remove(n.messages, c.messages, gone)
		for _, m := range sent {
			n.messages = slices.Insert(n.messages, w.channelEnd(n.messages, m), m)
		}
	default:
		w.merge(gone, sent)
	}
}

// merge merges two sorted lists, without what is gone from the first.
func (w *expander) merge(gone []int, sent []table.Message) {
	out := w.next.messages
	for i, m := range w.cur.messages {
		if len(gone) > 0 && gone[0] == i {
			gone = gone[1:]
			continue
		}
		for len(sent) > 0 && sent[0] < m {
			out = append(out, sent[0])
			sent = sent[1:]
		}
		out = append(out, m)
	}
	w.next.messages = append(out, sent...)
}

// remove appends a list without some of its elements.
func remove(dst, list []table.Message, gone []int) []table.Message {
	for i, m := range list {
		if len(gone) > 0 && gone[0] == i {
			gone = gone[1:]
			continue
		}
		dst = append(dst, m)
	}
	return dst
}

// channelEnd is where in a list a message goes that is sent now.
func (w *expander) channelEnd(list []table.Message, m table.Message) int {
	channel := w.channel(m)
	i, _ := slices.BinarySearchFunc(list, channel, func(other table.Message, channel int) int {
		return cmp.Or(cmp.Compare(w.channel(other), channel), -1)
	})
	return i
}

// channel numbers a pair of nodes.
func (w *expander) channel(m table.Message) int {
	sent := w.reader.Message(m)
	return sent.From*w.config.Nodes + sent.To
}
