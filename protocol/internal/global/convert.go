package global

import (
	"errors"
	"runtime"
	"sync"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/vector"
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
func isNarrow(err error) bool {
	return errors.Is(err, vector.ErrNarrow) || errors.Is(err, vector.ErrCounter)
}

// widerForm returns a form that is not too narrow for a reason.
func widerForm(s *search, reason error) form {
	if errors.Is(reason, vector.ErrCounter) {
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
	// places are where states are now, by shard and number; None if they are not there yet. Nil:
	// all are where they were.
	places [][]space.Ref
	state  system.State
}

// convert takes all visited states to a form that is wide enough.
func convert(s *search, reason error) (c *conversion, err error) {
	c = &conversion{from: s.form, to: widerForm(s, reason)}
	from, _ := c.from.(ofWords)
	if to, ok := c.to.(ofWords); ok && from != nil {
		err = recodeAll(from, to)
	} else {
		err = c.takeAll(s)
	}
	if err != nil {
		return nil, err
	}
	s.form = c.to
	return c, nil
}

// release gives back the form that states were taken from. Nobody may ask any more where one is.
func (c *conversion) release() {
	_, bytes := c.from.Size()
	c.from = nil
	if bytes > muchGarbage {
		runtime.GC()
	}
}

// now is where a state is now.
func (c *conversion) now(at space.Ref) space.Ref {
	if c.places == nil {
		return at
	}
	shard, n := c.from.Split(at)
	return c.places[shard][n]
}

// takeAll takes one state after the other. States before the present level, those of the level, and
// those of the next stay apart. With one shard all stay in their order.
func (c *conversion) takeAll(s *search) error {
	ends := make([]uint64, c.from.Shards())
	for shard := range ends {
		ends[shard] = s.form.End(shard)
		c.places = append(c.places, make([]space.Ref, ends[shard]))
		for i := range c.places[shard] {
			c.places[shard][i] = space.None
		}
	}
	// Where a part begins is where the one before it has ended.
	from := make([]uint64, len(ends))
	isDepthFirst := s.levelEnd == nil
	levels := append(s.before, s.levelEnd, ends)
	for i, end := range levels {
		// A depth-first search has no levels.
		for shard := range end {
			for n := from[shard]; n < end[shard]; n++ {
				if _, err := c.place(c.from.Join(shard, n)); err != nil {
					return err
				}
			}
		}
		copy(from, end)
		levels[i] = nil
		for shard := range c.to.Shards() {
			levels[i] = append(levels[i], c.to.End(shard))
		}
	}
	if isDepthFirst {
		return nil
	}
	// The present level begins where the one before it ends.
	last := len(s.before)
	s.before, s.levelEnd = levels[:last:last], levels[last]
	s.levelStart = make([]uint64, c.to.Shards())
	if last > 0 {
		copy(s.levelStart, s.before[last-1])
	}
	return nil
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

// take takes one state.
func (c *conversion) take(at, parent space.Ref) (now space.Ref, err error) {
	c.from.look(at, &c.state)
	now, _, err = c.to.add(&c.state, parent)
	return now, err
}

// ofWords is a form of vectors, of whatever width.
type ofWords interface {
	form
	shapeOf() *vector.Shape
	width() int // in words
	Reserve(states int)
	Release()
	// read reads states of a shard, from a place on.
	read(list []visited, shard int, from uint64)
	// put adds such states, which are all new, to a shard. Goroutines may call it for a shard each.
	put(list []visited, shard int) error
	// adopt takes all states from a form that is as wide, in place. It is false of other forms.
	adopt(from ofWords) bool
}

// release gives the memory of a form back that nobody uses any more. That of other forms is the
// collector's.
func release(f form) {
	if words, ok := f.(ofWords); ok {
		words.Release()
	}
}

// visitedTogether is how many states are read at once, and put in.
const visitedTogether = 64

// visited is a state with where it comes from.
type visited struct {
	words  space.Widest
	parent space.Ref
	node   uint8
}

// recodeAll takes all states from one form of vectors to another. Vectors are not taken apart, and
// all states stay where they are.
func recodeAll(from, to ofWords) error {
	if to.adopt(from) {
		return nil
	}
	defer from.Release()
	states, _ := from.Size()
	to.Reserve(states)
	errs := make([]error, from.Shards())
	var done sync.WaitGroup
	for shard := range errs {
		done.Go(func() { errs[shard] = recodeShard(from, to, shard) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// recodeShard takes the states of one shard.
func recodeShard(from, to ofWords, shard int) error {
	list := make([]visited, visitedTogether)
	a, b := from.shapeOf(), to.shapeOf()
	for n, end := uint64(0), from.End(shard); n < end; n += uint64(len(list)) {
		list = list[:min(uint64(len(list)), end-n)]
		from.read(list, shard, n)
		for i := range list {
			list[i].words = vector.Recode(a, b, &list[i].words)
		}
		if err := to.put(list, shard); err != nil {
			return err
		}
	}
	return nil
}
