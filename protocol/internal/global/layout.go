package global

import (
	"errors"
	"math/bits"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// layout says where in a vector a state has its parts. Each message has a counter; all are equally
// wide. Behind them each node has the number of its local state, and each bounded fault how many
// are left. A transition adds the same to each vector that it starts from.
type layout struct {
	config   *Config
	messages int  // have a counter
	log      uint // of the bits of a counter, to base 2
	locals   []field
	left     [faults]field
	words    int
	// counters are the lowest bits of all counters.
	counters space.Vector
}

// What may be bounded.
const (
	drops = iota
	duplicates
	crashes
	faults
)

// field is a place in a vector. No field lies in two words.
type field struct {
	word, shift uint8
	most        uint64 // the largest number that fits
}

func (f field) get(v *space.Vector) uint64 { return v[f.word] >> f.shift & f.most }

// add adds a number, modulo the word. A difference of two numbers that fit does not touch others.
func (f field) add(v *space.Vector, n uint64) { v[f.word] += n << f.shift }

// errNarrow is of a state that does not fit into a layout.
var errNarrow = errors.New("a state does not fit into the vectors of a search")

// errCounter is of more equal messages than a counter can count.
var errCounter = errors.New("a counter of messages is too narrow")

// maxLog bounds the counters: 8 bits.
const maxLog = 3

// newLayout returns a layout for what is in a table, with room for more. There is none if the
// vectors would be too long.
func newLayout(c *Config, log uint) *layout {
	locals, messages := c.Table.Numbers()
	// A layout with more room is less often given up for a larger one.
	for _, room := range []struct{ locals, messages, least int }{{4, messages, 6}, {2, messages / 2, 5},
		{2, messages / 4, 4}} {
		l := &layout{config: c, log: log, messages: max(messages+room.messages, 16*room.least-32)}
		if l.place(locals, room.locals, room.least) {
			return l
		}
	}
	return nil
}

// place gives each part its bits.
func (l *layout) place(locals []int, factor, least int) bool {
	perWord := 64 >> l.log
	at := l.messages << l.log
	for m := 0; m < l.messages && m/perWord < space.Width; m++ {
		l.counter(m).add(&l.counters, 1)
	}
	next := func(width int) field {
		if at%64+width > 64 {
			at += 64 - at%64
		}
		f := field{uint8(min(at/64, space.Width)), uint8(at % 64), 1<<width - 1}
		at += width
		return f
	}
	for _, n := range locals {
		l.locals = append(l.locals, next(max(least, bits.Len(uint(n*factor)))))
	}
	bounds := l.config.Faults
	for i, n := range [faults]int{bounds.Drops, bounds.Duplicates, bounds.Crashes} {
		if n > 0 {
			l.left[i] = next(bits.Len(uint(n)))
		}
	}
	l.words = max(1, (at+63)/64)
	return l.words <= space.Width
}

// counter is the place of a message's counter.
func (l *layout) counter(m int) field {
	at := m << l.log
	return field{uint8(at / 64), uint8(at % 64), 1<<(1<<l.log) - 1}
}

// encode makes a vector of a state.
func (l *layout) encode(s *state) (v space.Vector, err error) {
	for node, local := range s.locals {
		if uint64(local) > l.locals[node].most {
			return v, errNarrow
		}
		l.locals[node].add(&v, uint64(local))
	}
	for i, n := range [faults]int{s.left.Drops, s.left.Duplicates, s.left.Crashes} {
		if l.left[i].most != 0 {
			l.left[i].add(&v, uint64(n))
		}
	}
	for _, m := range s.messages {
		if int(m) >= l.messages {
			return v, errNarrow
		}
		f := l.counter(int(m))
		if f.get(&v) == f.most {
			return v, errCounter
		}
		f.add(&v, 1)
	}
	return v, nil
}

// decode is the reverse of encode. The state is overwritten.
func (l *layout) decode(s *state, v *space.Vector) {
	l.decodeLocals(s, v)
	s.left, s.cut, s.messages = l.config.Faults, 0, s.messages[:0]
	for i, left := range []*int{&s.left.Drops, &s.left.Duplicates, &s.left.Crashes} {
		if l.left[i].most != 0 {
			*left = int(l.left[i].get(v))
		}
	}
	for m := range l.messages {
		for range l.counter(m).get(v) {
			s.messages = append(s.messages, table.Message(m))
		}
	}
}

// decodeLocals reads the local states only.
func (l *layout) decodeLocals(s *state, v *space.Vector) {
	s.locals = s.locals[:0]
	for _, f := range l.locals {
		s.locals = append(s.locals, table.Local(f.get(v)))
	}
}

// present has the lowest bit of each counter of a word that is not zero.
func (l *layout) present(v *space.Vector, word int) uint64 {
	x := v[word]
	for i := range l.log {
		x |= x >> (1 << i)
	}
	return x & l.counters[word]
}

// message is that of the lowest counter among some of a word.
func (l *layout) message(word int, counters uint64) table.Message {
	return table.Message((word*64 + bits.TrailingZeros64(counters)) >> l.log)
}
