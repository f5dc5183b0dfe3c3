package portfolio

import (
	"math"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/random"
)

// samples are those of several random searches in turn.
type samples struct {
	searches []*random.Search // in the order of their turns
	early    int              // how often the clock may advance early, in some of them
	begun    int              // the last one may not have been reported
	listed   int              // by prefetch or before
}

func newSamples(seed uint64, early int, b core.Bounds) samples {
	seeds := random.NewSeeds(seed)
	const all = math.MaxInt32 // more than there will be
	return samples{early: early, searches: []*random.Search{
		random.NewPOS(all, seeds.Seed(), b),
		random.NewPCT(all, 3, seeds.Seed(), b),
		random.NewSURW(all, seeds.Seed(), b),
		random.New(all, seeds.Seed(), b),
		random.NewPCT(all, 2, seeds.Seed(), b),
	}}
}

// learn has all begin with what the first execution has shown.
func (s *samples) learn(e core.Execution) {
	for _, search := range s.searches {
		search.Learn(e)
	}
}

func (s *samples) at(i int) *random.Search { return s.searches[i%len(s.searches)] }

// passes reports whether time may pass early in a sample: in two of five.
func (s *samples) passes(i int) bool { return i%len(s.searches)%2 == 1 }

// next is the next sample: there always is one. If onlyEarly, it is one in which time may pass
// early.
func (s *samples) next(onlyEarly bool) core.Schedule {
	for onlyEarly && !s.passes(s.begun) {
		s.begun++
	}
	schedule, _ := s.at(s.begun).Next()
	if s.passes(s.begun) {
		schedule.EarlyTimers = s.early
	}
	s.begun++
	s.listed = max(s.listed, s.begun)
	return schedule
}

func (s *samples) report(e core.Execution) error { return s.at(s.begun - 1).Report(e) }

// prefetch lists the next samples, as far as all of them are known.
func (s *samples) prefetch(n int) (list []core.Schedule) {
	for len(list) < n {
		next := s.at(s.listed).Prefetch(1)
		if len(next) == 0 {
			break
		}
		if s.passes(s.listed) {
			next[0].EarlyTimers = s.early
		}
		list = append(list, next...)
		s.listed++
	}
	return list
}

func (s *samples) save(e *codec.Encoder, waiting bool) {
	begun := s.begun
	if waiting {
		begun--
	}
	e.Count(begun)
	for _, search := range s.searches {
		search.Save(e)
	}
}

func (s *samples) resume(d *codec.Decoder) {
	s.begun = d.Count(core.MaxCount)
	s.listed = s.begun
	for _, search := range s.searches {
		search.Resume(d)
	}
}
