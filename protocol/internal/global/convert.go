package global

import (
	"errors"
	"runtime"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
)

// newForm returns the narrowest form that will do: vectors, or else bytes. Log is that of the bits
// of a counter, to base 2.
func newForm(c *Config, log uint) form {
	// Channels are no sets. A partition changes all nodes at once, and so do other names of nodes.
	if c.Ordered || c.Faults.Partitions != 0 || c.Alike != nil {
		return newByteForm(c)
	}
	for _, newForm := range []func(*Config, uint) (form, bool){newVectorForm[[1]uint64],
		newVectorForm[[2]uint64], newVectorForm[[3]uint64], newVectorForm[[4]uint64]} {
		if f, fits := newForm(c, log); fits {
			return f
		}
	}
	return newByteForm(c)
}

// isNarrow says whether a search can go on with a wider form.
func isNarrow(err error) bool { return errors.Is(err, errNarrow) || errors.Is(err, errCounter) }

// widerForm returns a form that is not too narrow for a reason.
func widerForm(s *search, reason error) form {
	if errors.Is(reason, errCounter) {
		s.log++
	}
	return newForm(s.Config, s.log)
}

// muchGarbage is how many bytes are worth a collection at once. Later they would count when memory
// is measured.
const muchGarbage = 64 << 20

// conversion takes states from one form to another.
type conversion struct {
	from, to form
	// places are where states are now, by shard and number; None if they are not there yet.
	places [][]space.Ref
	state  state
}

// convert takes all visited states to a form that is wide enough. States before the present level,
// those of the level, and those of the next stay apart. With one shard all stay in their order.
func convert(s *search, reason error) (*conversion, error) {
	c := &conversion{from: s.form, to: widerForm(s, reason)}
	if to, ok := c.to.(ofWords); ok {
		states, _ := c.from.Size()
		to.Reserve(states)
	}
	shards := s.form.Shards()
	ends := make([]uint64, shards)
	for shard := range ends {
		ends[shard] = s.form.End(shard)
		c.places = append(c.places, make([]space.Ref, ends[shard]))
		for i := range c.places[shard] {
			c.places[shard][i] = space.None
		}
	}
	// Where a part begins is where the one before it has ended.
	from := make([]uint64, shards)
	levels := append(slices.Clone(s.before), s.levelEnd, ends)
	for i, end := range levels {
		// A depth-first search has no levels.
		for shard := range end {
			for n := from[shard]; n < end[shard]; n++ {
				if _, err := c.place(s.form.Join(shard, n)); err != nil {
					return nil, err
				}
			}
		}
		for shard := range end {
			from[shard], end[shard] = end[shard], c.to.End(shard)
		}
		if i == len(s.before)-1 { // that is where the present level begins
			copy(s.levelStart, end)
		}
	}
	s.form = c.to
	if _, bytes := c.from.Size(); bytes > muchGarbage {
		c.from = nil
		runtime.GC()
	}
	return c, nil
}

// place returns where a state is now. The state that it was reached from is taken before it.
func (c *conversion) place(at space.Ref) (space.Ref, error) {
	if at == space.None {
		return at, nil
	}
	shard, n := c.from.Split(at)
	if now := c.places[shard][n]; now != space.None {
		return now, nil
	}
	parent, err := c.place(c.from.Parent(at))
	if err != nil {
		return parent, err
	}
	now, err := c.take(at, parent)
	c.places[shard][n] = now
	return now, err
}

// take takes one state. Vectors are not taken apart.
func (c *conversion) take(at, parent space.Ref) (now space.Ref, err error) {
	from, _ := c.from.(ofWords)
	if to, ok := c.to.(ofWords); ok {
		v, node := from.words(at)
		v = recode(from.shapeOf(), to.shapeOf(), &v)
		return to.addWords(&v, parent, node)
	}
	c.from.look(at, &c.state)
	now, _, err = c.to.add(&c.state, parent)
	return now, err
}

// ofWords is a form of vectors, of whatever width.
type ofWords interface {
	shapeOf() *shape
	Reserve(states int)
	// words returns a state, and which node has led to it.
	words(at space.Ref) (v widest, node uint8)
	addWords(v *widest, parent space.Ref, node uint8) (space.Ref, error)
}

// widest is a vector of any width; words that it does not have are zero.
type widest = [4]uint64

// recode makes a vector of one shape one of another, in which all its numbers fit.
func recode(from, to *shape, v *widest) (u widest) {
	for node, f := range from.locals {
		add(to.locals[node], &u, get(f, v))
	}
	for i, f := range from.left {
		if f.most != 0 {
			add(to.left[i], &u, get(f, v))
		}
	}
	// Counters that one of the shapes lacks are zero.
	messages := min(from.messages, to.messages)
	if from.log != to.log {
		for m := range messages {
			add(to.counter(m), &u, get(from.counter(m), v))
		}
		return u
	}
	// The counters are one string of bits.
	for done, all := 0, messages<<from.log; done < all; {
		a, b := from.base+done, to.base+done
		size := min(64-a%64, 64-b%64, all-done)
		part := v[a/64] >> (a % 64) & (^uint64(0) >> (64 - size))
		u[b/64] |= part << (b % 64)
		done += size
	}
	return u
}
