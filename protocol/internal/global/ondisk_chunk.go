package global

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// chunk is what is expanded at a time.
type chunk struct {
	states uint64 // how many there are; zero if none are loaded, or what they reach was collected
	// end is where the states of the chunk, and those that they were reached from, end, by shard.
	end []uint64
	// parents are the places in the level before of states that others were reached from. Numbers
	// are their numbers by place, from the moment on when they do not ascend.
	parents []uint64
	numbers map[uint64]int
	// inLevel are the places in the level of the states of a second pass, candidates those of what
	// a first one has reached among the candidates.
	inLevel    []uint64
	candidates forms.Places
	state      system.State
	packed     []byte
	growth     float64 // how many states come of one
}

// next chooses how many states a chunk is to have, of which some have room with all that they
// reach.
func (c *chunk) next(room, states, all, now uint64) uint64 {
	// Levels become narrower and wider slowly.
	c.growth = max(float64(all)/float64(states), c.growth*0.9)
	wanted := max(1, uint64(float64(room)/c.growth))
	if states < now {
		return min(now, wanted) // it was the rest of a level
	}
	return min(4*now, wanted)
}

// number is that of a parent by its place.
func (c *chunk) number(place uint64) int {
	n := len(c.parents)
	switch {
	case n > 0 && c.parents[n-1] == place:
		return n - 1
	case n > 0 && place < c.parents[n-1] && c.numbers == nil:
		// They ascend, but for levels that several workers have made.
		c.numbers = map[uint64]int{}
		for i, place := range c.parents {
			c.numbers[place] = i
		}
	}
	if c.numbers != nil {
		if i, ok := c.numbers[place]; ok {
			return i
		}
		c.numbers[place] = n
	}
	c.parents = append(c.parents, place)
	return n
}

// load loads the next states of a level. Behind them come those that they were reached from, for
// steps that commute (expandNodes). Neither were reached by this chunk, which begins behind them.
func (d *onDisk) load(frontier *external.Reader, states uint64) error {
	c := &d.chunkOf
	d.form.Reset()
	for _, w := range d.workers {
		w.reset()
		w.noted().reset()
	}
	c.states, c.parents, c.numbers, d.isSingle = states, c.parents[:0], nil, states == 1
	c.inLevel, c.candidates = c.inLevel[:0], make(forms.Places, d.form.Shards())
	d.known = d.Known()
	// A selection does not ask which steps commute.
	_, hasParents := d.form.(forms.OfWords)
	hasParents = hasParents && d.Select == nil
	for place := range states {
		if err := d.read(frontier); err != nil {
			return err
		}
		if d.pass == secondPass {
			c.inLevel = append(c.inLevel, frontier.Value)
		}
		parent := space.None
		at, node := d.originOf(frontier.Value)
		// Below the first node there is none.
		if hasParents && node > 1 && len(d.levels) > 1 {
			parent = d.form.Join(0, states+uint64(c.number(at)))
		} else {
			node = 0
		}
		_, isNew, err := d.form.Load(&c.state, place, parent, node)
		if err == nil && !isNew {
			err = ErrStates
		}
		if err != nil {
			return err
		}
	}
	d.levelStart, d.levelEnd = make([]uint64, d.form.Shards()), d.ends()
	if err := d.loadParents(); err != nil {
		return err
	}
	c.end = d.ends()
	return nil
}

// ErrStates is of files that have something else than what was written, and the right checksums.
var ErrStates = errors.New("external search: a file has states that this search cannot have")

// next goes on to the next state of a level.
func (d *onDisk) next(r *external.Reader) error {
	ok, err := r.Next()
	if err == nil && (!ok || !d.IsState(d.known, r.Key)) {
		err = ErrStates
	}
	return err
}

// read reads the next state of a level.
func (d *onDisk) read(r *external.Reader) error {
	err := d.next(r)
	if err == nil {
		d.Unpack(&d.chunkOf.state, r.Key)
	}
	return err
}

// ends are where the next states will be, by shard.
func (d *onDisk) ends() []uint64 {
	ends := make([]uint64, d.form.Shards())
	for shard := range ends {
		ends[shard] = d.form.End(shard)
	}
	return ends
}

// loadParents loads the states of the level before that some were reached from. They lie mostly
// side by side there. The numbers that they get are those that were given to their children before.
func (d *onDisk) loadParents() error {
	c := &d.chunkOf
	if len(c.parents) == 0 {
		return nil
	}
	before := external.NewSeeker(d.levels[len(d.levels)-2], true)
	for i, place := range c.parents {
		if err := before.Seek(place); err != nil {
			return err
		}
		if !d.IsState(d.known, before.Key) {
			return ErrStates
		}
		d.Unpack(&c.state, before.Key)
		at, isNew, err := d.form.Add(&c.state, space.None)
		if err != nil {
			return err
		}
		if !isNew || at != d.form.Join(0, c.states+uint64(i)) {
			return ErrStates
		}
	}
	return nil
}

// placeInLevel is the place in the present level of a state that was loaded, or of the one that
// another state was reached from.
func (d *onDisk) placeInLevel(at space.Ref) (place uint64, isLoaded bool) {
	shard, n := d.form.Split(at)
	if isLoaded = n < d.levelEnd[shard]; !isLoaded {
		at = d.form.Parent(at)
	}
	if place = d.form.PlaceOf(at); d.pass == secondPass {
		return d.chunkOf.inLevel[place], isLoaded
	}
	return d.place + place, isLoaded
}

// collect makes candidates of what the chunk has reached.
func (d *onDisk) collect() error {
	before := d.fresh.Bytes()
	if words, ok := d.form.(forms.OfWords); ok {
		if err := d.collectWords(words); err != nil {
			return err
		}
	} else {
		for shard := range d.form.Shards() {
			for at := range d.form.Each(shard, d.chunkOf.end[shard], d.form.End(shard)) {
				if err := d.candidate(at); err != nil {
					return err
				}
			}
		}
	}
	if err := d.collectDoubts(); err != nil {
		return err
	}
	// A section for each chunk, so that it can be kept.
	_, err := d.fresh.Sections()
	d.last = d.fresh.Bytes() - before
	d.chunkOf.states = 0
	return err
}

// collectWords goes through the arenas side by side, in the order of the parents. One worker has
// reached the states in this order.
func (d *onDisk) collectWords(form forms.OfWords) error {
	next := append([]uint64(nil), d.chunkOf.end...)
	for {
		best, least := -1, ^uint64(0)
		for shard, n := range next {
			if n == form.End(shard) {
				continue
			}
			// One arena needs no comparison.
			if place := form.PlaceOf(form.Parent(form.Join(shard, n))); best < 0 || place < least {
				best, least = shard, place
			}
		}
		if best < 0 {
			return nil
		}
		if err := d.candidate(form.Join(best, next[best])); err != nil {
			return err
		}
		next[best]++
	}
}

// candidate adds a state to the candidates, in the form that does not depend on how many local
// states and messages there are.
func (d *onDisk) candidate(at space.Ref) error {
	c := &d.chunkOf
	if d.pass == firstPass {
		shard, _ := d.form.Split(at)
		c.candidates.Add(shard, at, d.fresh.Count)
	}
	place, _ := d.placeInLevel(at)
	d.form.Look(at, &c.state)
	c.packed = d.Pack(c.packed[:0], &c.state)
	return d.fresh.Add(c.packed, d.originValue(place, d.form.Node(at)))
}

// collectDoubts writes the doubts of all workers down, in the order of the level.
func (d *onDisk) collectDoubts() error {
	type doubt struct {
		place   uint64
		reached []space.Ref
	}
	var all []doubt
	for _, w := range d.workers {
		l, from := w.noted(), 0
		for _, s := range l.states {
			place, _ := d.placeInLevel(s.at)
			all = append(all, doubt{place, l.reached[from:s.end]})
			from = s.end
		}
	}
	slices.SortFunc(all, func(a, b doubt) int { return cmp.Compare(a.place, b.place) })
	var candidates []uint64
	for _, s := range all {
		candidates = candidates[:0]
		for _, at := range s.reached {
			shard, _ := d.form.Split(at)
			candidates = append(candidates, d.chunkOf.candidates.Of(shard, at))
		}
		if err := d.doubts.Add(s.place, candidates); err != nil {
			return err
		}
	}
	return nil
}
