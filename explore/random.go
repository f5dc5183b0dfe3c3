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
	before   seeds // those before the last one
	listed   int   // by Ahead, of those that come next
	foreseen seeds // after them

	probes probes
	by     *priorities // nil: whatever can be picked is as likely as anything else
	drawn  Priorities  // last
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
	if r.left <= 0 {
		return r.end()
	}
	r.left--
	r.listed = max(r.listed-1, 0)
	r.before = r.seeds
	seed := r.seed()
	return Schedule{Seed: seed, Priorities: r.by.draw(seed, &r.drawn)}, true
}

// ahead lists what comes next: it does not depend on what is reported.
func (r *random) ahead(n int) (list []Schedule) {
	if r.listed == 0 {
		r.foreseen = r.seeds
	}
	for ; len(list) < n && r.listed < r.left; r.listed++ {
		seed := r.foreseen.seed()
		list = append(list, Schedule{Seed: seed, Priorities: r.by.draw(seed, &Priorities{})})
	}
	return list
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

func (r *random) Report(e Execution) error {
	if err := r.take(e); err != nil {
		return err
	}
	r.probes.add(e.Weight)
	r.by.measure(e)
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
