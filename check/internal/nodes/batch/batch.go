// Package batch does numbered jobs by several crews at the same time.
package batch

import (
	"slices"
	"sync"
)

// Do has crews do jobs, which are numbered from 0 on: each crew one job after the other. It returns
// the results in the order of the jobs. A job may say that nobody needs those after it: then no
// more are begun, and the results end with the last one that was.
func Do[R any](crews, jobs int, do func(crew, job int) (result R, last bool)) []R {
	return Share(crews, jobs, do, nil)
}

// Away are those who do jobs elsewhere: so many at a time, and only those that May says. Do may
// fail. Then the job is done by a crew, and nobody elsewhere is asked again.
type Away[R any] struct {
	Most int
	May  func(job int) bool
	Do   func(job int) (result R, last, done bool)
}

// Share is Do with help from elsewhere; nil: there is none. Crews have the first jobs. The results
// end before the first job that was not begun.
func Share[R any](crews, jobs int, do func(crew, job int) (result R, last bool), away *Away[R]) []R {
	s := &sharing[R]{results: make([]R, jobs), state: make([]state, jobs), end: jobs}
	s.change.L = &s.mu
	var group sync.WaitGroup
	for crew := range min(crews, jobs) {
		group.Go(func() {
			for job := s.next(nil); job < jobs; job = s.next(nil) {
				result, last := do(crew, job)
				s.finish(job, result, last)
			}
		})
	}
	for range min(s.most(away), jobs-crews) {
		group.Go(func() {
			for job := s.next(away.May); job < jobs; job = s.next(away.May) {
				result, last, done := away.Do(job)
				if !done {
					s.giveBack(job)
					return
				}
				s.finish(job, result, last)
			}
		})
	}
	group.Wait()
	begun := slices.Index(s.state, waits)
	if begun < 0 {
		begun = jobs
	}
	return s.results[:begun]
}

// sharing are jobs that are shared.
type sharing[R any] struct {
	results []R

	mu     sync.Mutex // guards what follows
	change sync.Cond  // something was done or given back
	state  []state
	end    int // no job from here on is begun
}

// state is how far a job is.
type state int

const (
	waits state = iota
	isHere
	isAway
	isDone
)

// most is how many do jobs elsewhere at a time.
func (s *sharing[R]) most(a *Away[R]) int {
	if a == nil {
		return 0
	}
	return a.Most
}

// next begins the first job that waits, or the first one that may be away; without any, it is how
// many there are. A crew waits for what is away: it may come back.
func (s *sharing[R]) next(may func(job int) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		someAway := false
		for job := range s.end {
			if s.state[job] == waits && (may == nil || may(job)) {
				if s.state[job] = isHere; may != nil {
					s.state[job] = isAway
				}
				return job
			}
			someAway = someAway || s.state[job] == isAway
		}
		if may != nil || !someAway {
			return len(s.state)
		}
		s.change.Wait()
	}
}

// finish takes a result.
func (s *sharing[R]) finish(job int, result R, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.results[job], s.state[job] = result, isDone; last {
		s.end = min(s.end, job+1)
	}
	s.change.Broadcast()
}

// giveBack has a job wait again.
func (s *sharing[R]) giveBack(job int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[job] = waits
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
