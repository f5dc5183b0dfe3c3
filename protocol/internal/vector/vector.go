// Package vector has global states as vectors of one to four words. What a node does in a local
// state at an event changes all vectors in the same way. It adds a constant, which is computed
// once, so a transition costs an addition. That is for states that fit, of networks without order
// and without partitions.
package vector

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Shape says where in a vector a state has its parts. Each node has the number of its local state,
// and each bounded fault how many are left. All that is behind them are counters of messages, which
// are equally wide. A transition adds the same to each vector that it starts from.
type Shape struct {
	Locals   []Field
	Left     [faults]Field
	base     int  // of the first counter
	log      uint // of the bits of a counter, to base 2
	messages int  // have a counter
}

// Layout is the shape of vectors of one width.
type Layout[V space.Vector] struct {
	Shape
	system   *system.System
	counters V // the lowest bits of all counters
}

// What may be bounded.
const (
	drops = iota
	duplicates
	crashes
	faults
)

// Field is a place in a vector. No Field lies in two words.
type Field struct {
	word, shift uint8
	most        uint64 // the largest number that fits
}

// Get is the number at a place.
func Get[V space.Vector](f Field, v *V) uint64 { return (*v)[f.word] >> f.shift & f.most }

// add adds a number, modulo the word. A difference of two numbers that fit does not touch others.
func add[V space.Vector](f Field, v *V, n uint64) { (*v)[f.word] += n << f.shift }

// ErrNarrow is of a state that does not fit into a layout.
var ErrNarrow = errors.New("a state does not fit into the vectors of a search")

// ErrCounter is of more equal messages than a counter can count.
var ErrCounter = errors.New("a counter of messages is too narrow")

// maxLog bounds the counters: 8 bits.
const maxLog = 3

// maxSpare bounds by how many bits a number of local states may grow before a layout is given up.
const maxSpare = 6

// NewLayout returns a layout for what is in a table, with as much room for more as there is. It is
// nil if the vectors would be too long.
func NewLayout[V space.Vector](c *system.System, log uint) *Layout[V] {
	if log > maxLog {
		return nil
	}
	locals, messages := c.Table.Numbers()
	l := &Layout[V]{system: c}
	var widths, order []int
	for node, n := range locals {
		widths, order = append(widths, bits.Len(uint(max(n, 1)-1))), append(order, node)
	}
	// What is known has to fit.
	if !l.place(widths, log) || l.messages < messages {
		return nil
	}
	// A node with many local states is likely to have more. The one with the most gets twice as
	// much room.
	slices.SortStableFunc(order, func(a, b int) int { return locals[b] - locals[a] })
	order = slices.Insert(order, 0, order[0])
	for spare := 1; spare <= maxSpare; spare++ {
		for _, node := range order {
			if widths[node]++; !l.place(widths, log) || l.messages < messages+spare*(2+messages/8) {
				widths[node]--
			}
		}
	}
	// The last try may have failed.
	l.place(widths, log)
	l.countMessages()
	return l
}

// countMessages notes where the counters are.
func (l *Layout[V]) countMessages() {
	for m := range l.messages {
		add(l.counter(m), &l.counters, 1)
	}
}

// place gives each part its bits, and the rest to the messages. It is false if there is no room.
func (l *Layout[V]) place(widths []int, log uint) (fits bool) {
	l.Shape, fits = NewShape(l.system, len(l.counters), log, widths)
	return fits
}

// NewShape is that of vectors of so many words, in which local states have so many bits by node. It
// is false if there is no room.
func NewShape(y *system.System, words int, log uint, widths []int) (s Shape, fits bool) {
	s = Shape{log: log, Locals: make([]Field, len(widths))}
	at := 0
	next := func(width int) Field {
		if at%64+width > 64 {
			at += 64 - at%64
		}
		f := Field{uint8(at / 64), uint8(at % 64), 1<<width - 1}
		at += width
		return f
	}
	for node, width := range widths {
		s.Locals[node] = next(width)
	}
	bounds := y.Faults
	for i, n := range [faults]int{bounds.Drops, bounds.Duplicates, bounds.Crashes} {
		if n > 0 {
			s.Left[i] = next(bits.Len(uint(n)))
		}
	}
	width := 1 << log
	s.base = (at + width - 1) &^ (width - 1)
	s.messages = (64*words - s.base) >> log
	return s, s.base <= 64*words
}

// Widths are the bits of the local states, by node, and Log those of a counter, to base 2. NewShape
// makes the same shape of them.
func (s *Shape) Widths() (widths []int) {
	for _, f := range s.Locals {
		widths = append(widths, bits.Len64(f.most))
	}
	return widths
}

// Log is that of the bits of a counter.
func (s *Shape) Log() uint { return s.log }

// Equal says whether vectors of both shapes mean the same.
func (s *Shape) Equal(other *Shape) bool {
	return s.base == other.base && s.log == other.log && s.messages == other.messages &&
		s.Left == other.Left && slices.Equal(s.Locals, other.Locals)
}

// Widest is a layout for vectors of a shape, of whatever width.
func (s *Shape) Widest(y *system.System) *Layout[space.Widest] {
	// Places are words and bits, so a vector of fewer words is one of four whose last are zero.
	l := &Layout[space.Widest]{Shape: *s, system: y}
	l.countMessages()
	return l
}

// IsWithin says whether a vector has no local state and no message but those that are known, of
// which there are so many.
func (s *Shape) IsWithin(locals []int, messages int, v *space.Widest) bool {
	// Whoever reads vectors looks up what their numbers stand for.
	for node, f := range s.Locals {
		if Get(f, v) >= uint64(locals[node]) {
			return false
		}
	}
	// All bits behind the last counter that may be there are zero.
	end := s.base + min(messages, s.messages)<<s.log
	for word := end / 64; word < len(v); word++ {
		if v[word]>>(max(end-64*word, 0)) != 0 {
			return false
		}
	}
	return true
}

// counter is the place of a message's counter.
func (s *Shape) counter(m int) Field {
	at := s.base + m<<s.log
	return Field{uint8(at / 64), uint8(at % 64), 1<<(1<<s.log) - 1}
}

// Encode makes a vector of a state.
func (l *Layout[V]) Encode(s *system.State) (v V, err error) {
	for node, local := range s.Locals {
		if uint64(local) > l.Locals[node].most {
			return v, ErrNarrow
		}
		add(l.Locals[node], &v, uint64(local))
	}
	for i, n := range [faults]int{s.Left.Drops, s.Left.Duplicates, s.Left.Crashes} {
		if l.Left[i].most != 0 {
			add(l.Left[i], &v, uint64(n))
		}
	}
	for _, m := range s.Messages {
		if int(m) >= l.messages {
			return v, ErrNarrow
		}
		f := l.counter(int(m))
		if Get(f, &v) == f.most {
			return v, ErrCounter
		}
		add(f, &v, 1)
	}
	return v, nil
}

// Decode is the reverse of Encode. The state is overwritten.
func (l *Layout[V]) Decode(s *system.State, v *V) {
	l.DecodeLocals(s, v)
	s.Left, s.Cut, s.Messages = l.system.Faults, 0, s.Messages[:0]
	for i, left := range []*int{&s.Left.Drops, &s.Left.Duplicates, &s.Left.Crashes} {
		if l.Left[i].most != 0 {
			*left = int(Get(l.Left[i], v))
		}
	}
	for word := range len(*v) {
		for rest := l.Present(v, word); rest != 0; rest &= rest - 1 {
			m := l.Message(word, rest)
			for range Get(l.counter(int(m)), v) {
				s.Messages = append(s.Messages, m)
			}
		}
	}
}

// DecodeLocals reads the local states only.
func (l *Layout[V]) DecodeLocals(s *system.State, v *V) {
	s.Locals = s.Locals[:0]
	for _, f := range l.Locals {
		s.Locals = append(s.Locals, table.Local(Get(f, v)))
	}
}

// Present has the lowest bit of each counter of a word that is not zero.
func (l *Layout[V]) Present(v *V, word int) uint64 {
	x := (*v)[word]
	// What is shifted in from another counter does not come down to the lowest bit.
	for i := range l.log {
		x |= x >> (1 << i)
	}
	return x & l.counters[word]
}

// Message is that of the lowest counter among some of a word.
func (l *Layout[V]) Message(word int, counters uint64) table.Message {
	return table.Message((word*64 + bits.TrailingZeros64(counters) - l.base) >> l.log)
}
