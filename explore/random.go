package explore

import "fmt"

// Random returns a search that runs n executions with pseudo-random schedules,
// the same ones for the same seed. It can find violations but not exclude them.
func Random(n int, seed uint64) Search {
	return &random{all: n, stretch: stretch{left: n, seeds: seeds{seed}}}
}

type random struct {
	tally
	all int // schedules, of the whole search
	stretch
	before seeds   // those before the last one
	parts  []*Part // what comes after it, in this order
	rest   stretch // and after them

	probes probes
	by     *priorities // nil: whatever can be picked is as likely as anything else
}

// stretch is a number of schedules, one after the other.
type stretch struct {
	seeds
	left int
}

// seeds is a sequence of seeds.
type seeds struct{ state uint64 }

// seed returns the next one; never 0, which would mean that there is none.
func (s *seeds) seed() uint64 {
	for {
		s.state += 0x9e3779b97f4a7c15
		if seed := mix(s.state); seed != 0 {
			return seed
		}
	}
}

func (r *random) Next() (Schedule, bool) {
	r.ask()
	r.goOn()
	switch {
	case r.left > 0:
	case len(r.parts) > 0:
		return r.follow(r.parts[0])
	default:
		return r.end()
	}
	r.left--
	r.before = r.seeds
	seed := r.seed()
	return Schedule{Seed: seed, Priorities: r.by.draw(seed)}, true
}

// goOn begins with the rest when all before it is done.
func (r *random) goOn() {
	if r.left <= 0 && len(r.parts) == 0 {
		r.stretch, r.rest = r.rest, stretch{}
	}
}

// split takes the first n schedules away from a stretch.
func (s *stretch) split(n int) stretch {
	first := stretch{left: n, seeds: s.seeds}
	s.left -= n
	for range n {
		s.seed()
	}
	return first
}

// partLength is how many schedules a part has. Parts are small and near, so that the
// first violation is found sooner, too.
const partLength = 128

func (r *random) divide() (*Part, bool) {
	if r.goOn(); len(r.parts) == 0 && r.rest.left == 0 {
		r.rest = r.stretch
		r.stretch = r.rest.split(min(partLength, (r.left+1)/2))
	}
	if r.rest.left <= 0 {
		return nil, false
	}
	part := &random{stretch: r.rest.split(min(partLength, r.rest.left)), by: r.by.anew()}
	p := &Part{Search: part, random: part}
	r.parts = append(r.parts, p)
	return p, true
}

func (r *random) Report(e Execution) error {
	if err := r.take(e); err != nil {
		return err
	}
	switch {
	case r.part == nil:
		r.probes.add(e.Weight)
		r.by.measure(e)
	case e.Last:
		r.probes.join(&r.part.random.probes)
		r.by.join(r.part.random.by)
		r.parts = r.parts[1:]
	}
	return nil
}

func (r *random) Verdict() Verdict {
	v := r.verdict(fmt.Sprintf("%d random schedules show nothing about the others", r.counts.Executions))
	v.Estimate = r.probes.estimate()
	return v
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014), a permutation of the 64-bit words.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
