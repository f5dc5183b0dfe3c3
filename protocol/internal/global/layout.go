package global

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// shape says where in a vector a state has its parts. Each node has the number of its local state,
// and each bounded fault how many are left. All that is behind them are counters of messages, which
// are equally wide. A transition adds the same to each vector that it starts from.
type shape struct {
	locals   []field
	left     [faults]field
	base     int  // of the first counter
	log      uint // of the bits of a counter, to base 2
	messages int  // have a counter
}

// layout is the shape of vectors of one width.
type layout[V space.Vector] struct {
	shape
	config   *Config
	counters V // the lowest bits of all counters
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

func get[V space.Vector](f field, v *V) uint64 { return (*v)[f.word] >> f.shift & f.most }

// add adds a number, modulo the word. A difference of two numbers that fit does not touch others.
func add[V space.Vector](f field, v *V, n uint64) { (*v)[f.word] += n << f.shift }

// errNarrow is of a state that does not fit into a layout.
var errNarrow = errors.New("a state does not fit into the vectors of a search")

// errCounter is of more equal messages than a counter can count.
var errCounter = errors.New("a counter of messages is too narrow")

// maxLog bounds the counters: 8 bits.
const maxLog = 3

// maxSpare bounds by how many bits a number of local states may grow before a layout is given up.
const maxSpare = 6

// newLayout returns a layout for what is in a table, with as much room for more as there is. It is
// nil if the vectors would be too long.
func newLayout[V space.Vector](c *Config, log uint) *layout[V] {
	if log > maxLog {
		return nil
	}
	locals, messages := c.Table.Numbers()
	l := &layout[V]{config: c}
	var widths, order []int
	for node, n := range locals {
		widths, order = append(widths, bits.Len(uint(max(n, 1)-1))), append(order, node)
	}
	// What is known has to fit.
	if !l.place(widths, log) || l.messages < messages {
		return nil
	}
	// A node with many local states is likely to have more.
	slices.SortStableFunc(order, func(a, b int) int { return locals[b] - locals[a] })
	for spare := 1; spare <= maxSpare; spare++ {
		for _, node := range order {
			if widths[node]++; !l.place(widths, log) || l.messages < messages+spare*(2+messages/8) {
				widths[node]--
			}
		}
	}
	// The last try may have failed.
	l.place(widths, log)
	for m := range l.messages {
		add(l.counter(m), &l.counters, 1)
	}
	return l
}

// place gives each part its bits, and the rest to the messages. It is false if there is no room.
func (l *layout[V]) place(widths []int, log uint) bool {
	l.shape = shape{log: log, locals: make([]field, len(widths))}
	at := 0
	next := func(width int) field {
		if at%64+width > 64 {
			at += 64 - at%64
		}
		f := field{uint8(at / 64), uint8(at % 64), 1<<width - 1}
		at += width
		return f
	}
	for node, width := range widths {
		l.locals[node] = next(width)
	}
	bounds := l.config.Faults
	for i, n := range [faults]int{bounds.Drops, bounds.Duplicates, bounds.Crashes} {
		if n > 0 {
			l.left[i] = next(bits.Len(uint(n)))
		}
	}
	width := 1 << log
	l.base = (at + width - 1) &^ (width - 1)
	l.messages = (64*len(l.counters) - l.base) >> log
	return l.base <= 64*len(l.counters)
}

// counter is the place of a message's counter.
func (s *shape) counter(m int) field {
	at := s.base + m<<s.log
	return field{uint8(at / 64), uint8(at % 64), 1<<(1<<s.log) - 1}
}

// encode makes a vector of a state.
func (l *layout[V]) encode(s *state) (v V, err error) {
	for node, local := range s.locals {
		if uint64(local) > l.locals[node].most {
			return v, errNarrow
		}
		add(l.locals[node], &v, uint64(local))
	}
	for i, n := range [faults]int{s.left.Drops, s.left.Duplicates, s.left.Crashes} {
		if l.left[i].most != 0 {
			add(l.left[i], &v, uint64(n))
		}
	}
	for _, m := range s.messages {
		if int(m) >= l.messages {
			return v, errNarrow
		}
		f := l.counter(int(m))
		if get(f, &v) == f.most {
			return v, errCounter
		}
		add(f, &v, 1)
	}
	return v, nil
}

// decode is the reverse of encode. The state is overwritten.
func (l *layout[V]) decode(s *state, v *V) {
	l.decodeLocals(s, v)
	s.left, s.cut, s.messages = l.config.Faults, 0, s.messages[:0]
	for i, left := range []*int{&s.left.Drops, &s.left.Duplicates, &s.left.Crashes} {
		if l.left[i].most != 0 {
			*left = int(get(l.left[i], v))
		}
	}
	for word := range len(*v) {
		for rest := l.present(v, word); rest != 0; rest &= rest - 1 {
			m := l.message(word, rest)
			for range get(l.counter(int(m)), v) {
				s.messages = append(s.messages, m)
			}
		}
	}
}

// decodeLocals reads the local states only.
func (l *layout[V]) decodeLocals(s *state, v *V) {
	s.locals = s.locals[:0]
	for _, f := range l.locals {
		s.locals = append(s.locals, table.Local(get(f, v)))
	}
}

// present has the lowest bit of each counter of a word that is not zero.
func (l *layout[V]) present(v *V, word int) uint64 {
	x := (*v)[word]
	// What is shifted in from another counter does not come down to the lowest bit.
	for i := range l.log {
		x |= x >> (1 << i)
	}
	return x & l.counters[word]
}

// message is that of the lowest counter among some of a word.
func (l *layout[V]) message(word int, counters uint64) table.Message {
	return table.Message((word*64 + bits.TrailingZeros64(counters) - l.base) >> l.log)
}
