package system

import (
	"cmp"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// move sets Next to what Cur becomes: one node has another local state, some messages are gone and
// others are sent. Gone are indices, in ascending order.
func (x *Expander) move(node int, to table.Local, gone []int, sent []table.Message) {
	n, c := &x.Next, &x.Cur
	n.Locals = append(n.Locals[:0], c.Locals...)
	n.Locals[node] = to
	n.Left, n.Cut = c.Left, c.Cut
	if n.Cut != 0 {
		// What is sent across a cut never gets under way.
		sent = x.uncut(nil, sent, n.Cut)
	}
	x.Exchange(gone, sent)
}

// uncut appends the messages that do not cross a cut.
func (x *Expander) uncut(dst, list []table.Message, cut uint64) []table.Message {
	for _, m := range list {
		if sent := x.Reader.Message(m); (cut>>sent.From^cut>>sent.To)&1 == 0 {
			dst = append(dst, m)
		}
	}
	return dst
}

// Exchange sets the messages of Next: those of Cur without what is gone, and with what is sent.
func (x *Expander) Exchange(gone []int, sent []table.Message) {
	n, c := &x.Next, &x.Cur
	n.Messages = n.Messages[:0]
	switch {
	// The messages are a set: nothing is gone, and nothing is there twice.
	case x.system.Duplicating:
		n.Messages = append(n.Messages, c.Messages...)
		for _, m := range sent {
			if i, found := slices.BinarySearch(n.Messages, m); !found {
				n.Messages = slices.Insert(n.Messages, i, m)
			}
		}
	// What is sent is the last of its channel.
	case x.system.Ordered:
		n.Messages = remove(n.Messages, c.Messages, gone)
		for _, m := range sent {
			n.Messages = slices.Insert(n.Messages, x.channelEnd(n.Messages, m), m)
		}
	default:
		x.merge(gone, sent)
	}
}

// merge merges two sorted lists, without what is gone from the first.
func (x *Expander) merge(gone []int, sent []table.Message) {
	out := x.Next.Messages
	for i, m := range x.Cur.Messages {
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
	x.Next.Messages = append(out, sent...)
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
func (x *Expander) channelEnd(list []table.Message, m table.Message) int {
	channel := x.channel(m)
	i, _ := slices.BinarySearchFunc(list, channel, func(other table.Message, channel int) int {
		return cmp.Or(cmp.Compare(x.channel(other), channel), -1)
	})
	return i
}

// channel numbers a pair of nodes.
func (x *Expander) channel(m table.Message) int {
	sent := x.Reader.Message(m)
	return sent.From*x.system.Nodes + sent.To
}
