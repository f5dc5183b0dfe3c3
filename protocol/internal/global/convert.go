package global

import (
	"errors"
	"runtime"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/vector"
)

// widerForm returns a form that is not too narrow for a reason.
func widerForm(s *search, reason error) forms.Form {
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
	from, to forms.Form
	// places are where states are now, by shard and number; None if they are not there yet. Nil:
	// all are where they were.
	places [][]space.Ref
	state  system.State
}

// convert takes all visited states to a form that is wide enough.
func convert(s *search, reason error) (c *conversion, err error) {
	c = &conversion{from: s.form, to: widerForm(s, reason)}
	from, _ := c.from.(forms.OfWords)
	if to, ok := c.to.(forms.OfWords); ok && from != nil {
		err = forms.RecodeAll(from, to)
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
	c.from.Look(at, &c.state)
	now, _, err = c.to.Add(&c.state, parent)
	return now, err
}

// newForm returns the narrowest form that will do. Log is that of the bits of a counter, to base 2.
func newForm(c *Config, log uint) forms.Form {
	return forms.New(forms.Config{System: &c.System, Workers: c.Workers, Shards: c.shards(),
		IsRenamed: c.Alike != nil, Log: log})
}
