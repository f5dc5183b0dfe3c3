package global

import (
	"cmp"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

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
