// Package batch does numbered jobs by several crews at the same time.
package batch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Do has crews do jobs, which are numbered from 0 on: each crew one job after the other. It returns
// the results in the order of the jobs. A job may say that nobody needs those after it: then no
// more are begun, and the results end with the last one that was.
func Do[R any](crews, jobs int, do func(crew, job int) (result R, last bool)) []R {
	return Share(crews, jobs, do, nil)
}

// Away are those who do jobs elsewhere: so many at a time, and only those that May says. Do may
// fail. Then the job is done by a crew, and nobody elsewhere is asked again. Its context ends when
// the result is known otherwise.
type Away[R any] struct {
	Most int
	May  func(job int) bool
	Do   func(ctx context.Context, job int) (result R, last, done bool)
	// Patience is how long a crew with nothing else to do waits for a job that is away. Then it
	// does the job, too, and the first result counts: both are the same.
	Patience time.Duration
}

// Share is Do with help from elsewhere; nil: there is none. Crews have the first jobs. The results
// end before the first job that was not begun.
func Share[R any](crews, jobs int, do func(crew, job int) (result R, last bool), away *Away[R]) []R {
	s := &sharing[R]{results: make([]R, jobs), list: make([]progress, jobs), end: jobs}
	s.change.L = &s.mu
	if away == nil {
		away = &Away[R]{}
	}
	var group sync.WaitGroup
	for crew := range min(crews, jobs) {
		group.Go(func() {
			for job := s.next(away.Patience); job < jobs; job = s.next(away.Patience) {
				result, last := do(crew, job)
				s.finish(job, result, last)
			}
		})
	}
	for range min(away.Most, jobs-crews) {
		group.Go(func() {
			for job, ctx := s.nextAway(away.May); job < jobs; job, ctx = s.nextAway(away.May) {
				result, last, done := away.Do(ctx, job)
				if !done {
					s.giveBack(job)
					return
				}
				s.finish(job, result, last)
			}
		})
	}
	group.Wait()
	begun := slices.IndexFunc(s.list, func(p progress) bool { return p.state == waits })
	if begun < 0 {
		begun = jobs
	}
	return s.results[:begun]
}

// sharing are jobs that are shared.
type sharing[R any] struct {
	results []R

	mu     sync.Mutex // guards what follows
	change sync.Cond  // something was done or given back, or a crew has waited for long
	list   []progress
	end    int // no job from here on is begun
}

// progress is how far a job is.
type progress struct {
	state state
	since time.Time          // when it went away
	end   context.CancelFunc // of one that is away, or both
}

// state is where a job is.
type state int

const (
	waits state = iota
	isHere
	isAway
	isBoth
	isDone
)

// next begins the first job that waits, for a crew; without any, it is how many there are. A crew
// waits for what is away: it may come back.
func (s *sharing[R]) next(patience time.Duration) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		oldest := -1
		for job := range s.end {
			switch p := &s.list[job]; {
			case p.state == waits:
				p.state = isHere
				return job
			case p.state == isAway && (oldest < 0 || p.since.Before(s.list[oldest].since)):
				oldest = job
			}
		}
		if oldest < 0 {
			return len(s.list)
		}
		left := time.Until(s.list[oldest].since.Add(patience))
		if left <= 0 {
			s.list[oldest].state = isBoth
			return oldest
		}
		woken := time.AfterFunc(left, s.wake)
		s.change.Wait()
		woken.Stop()
	}
}

// wake has crews look again.
func (s *sharing[R]) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change.Broadcast()
}

// nextAway begins the first job that waits and may be away. Without any, it is how many there are.
func (s *sharing[R]) nextAway(may func(job int) bool) (int, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for job := range s.end {
		if p := &s.list[job]; p.state == waits && may(job) {
			ctx, end := context.WithCancel(context.Background())
			*p = progress{isAway, time.Now(), end}
			return job, ctx
		}
	}
	return len(s.list), nil
}

// finish takes a result, if there is none yet.
func (s *sharing[R]) finish(job int, result R, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.list[job]
	if p.end != nil {
		p.end()
	}
	if p.state == isDone {
		return
	}
	if s.results[job], p.state = result, isDone; last {
		s.end = min(s.end, job+1)
	}
	s.change.Broadcast()
}

// giveBack has a job wait again that was not done elsewhere, unless a crew does it.
func (s *sharing[R]) giveBack(job int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.list[job]
	p.end()
	switch p.state {
	case isAway:
		p.state = waits
	case isBoth:
		p.state = isHere
	}
	s.change.Broadcast()
}

// End is how many jobs there are up to the end of the batch in which job done+1 is. All jobs of a
// batch know the same of earlier ones, however many crews there are. The first batches are small,
// since a little is soon worth knowing.
func End(done uint64) uint64 {
	size := uint64(1)
	for size < Most && done >= 8*size {
		size *= 2
	}
	return (done/size + 1) * size
}

// Most is how large a batch is at most. More crews than that would have nothing to do.
const Most = 8
