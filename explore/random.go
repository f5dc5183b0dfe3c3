package explore

import "fmt"

// Random returns a search that runs n executions with pseudo-random schedules,
// the same ones for the same seed. It can find violations but not exclude them.
func Random(n int, seed uint64) Search {
	return &random{left: n, state: seed}
}

type random struct {
	tally
	left  int
	state uint64
}

func (r *random) Next() (Schedule, bool) {
	r.ask()
	if r.left <= 0 {
		return r.end()
	}
	r.left--
	return Schedule{Seed: r.seed()}, true
}

// seed returns the next seed; never 0, which would mean that there is none.
func (r *random) seed() uint64 {
	for {
		r.state += 0x9e3779b97f4a7c15
		if s := mix(r.state); s != 0 {
			return s
		}
	}
}

func (r *random) Report(e Execution) error {
	return r.take(e)
}

func (r *random) Verdict() Verdict {
	return r.verdict(fmt.Sprintf("%d random schedules show nothing about the others", r.counts.Executions))
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014), a permutation of the 64-bit words.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
