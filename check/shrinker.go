package check

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/tandem-mc/tandem/internal/model"
)

// shrinker looks for a simpler execution that shows the same violation: with fewer
// preemptions, then with fewer transitions, then with earlier alternatives of
// data choices, then with fewer switches. It is greedy. It changes the schedule in one of the
// ways below, has the result executed as far as it can be followed (a lenient
// schedule), and goes on from there if that is simpler. When no change helps any
// more, it is done; so, from where it ends, it ends there again. Putting blocks together is as in
// Jalbert and Sen, A Trace Simplification Technique for Effective Debugging of
// Concurrent Programs (FSE 2010); leaving out ever smaller parts as in Zeller and
// Hildebrandt, Simplifying and Isolating Failure-Inducing Input (TSE 2002).
type shrinker struct {
	best  []transition
	cost  cost
	limit int // of executions; there are no others after it
	tried int
	seen  map[uint64]bool
	// execute runs a schedule and returns what it did, if that is less than what it
	// may cost and shows the violation; else nil. An error ends the shrinking.
	execute func(candidate []model.Action, below cost) ([]transition, error)
	err     error
}

func newShrinker(steps []transition, limit int, execute func([]model.Action, cost) ([]transition, error)) *shrinker {
	return &shrinker{best: steps, cost: costOf(steps), limit: limit, seen: map[uint64]bool{}, execute: execute}
}

// run shrinks until nothing helps any more, or the limit is reached.
func (s *shrinker) run() error {
	for improved := true; improved && !s.done(); {
		improved = false
		for _, pass := range []func() bool{s.serialize, s.unpreempt, s.cutOff, s.leaveOut, s.cutTails, s.choose, s.join} {
			if pass() {
				improved = true
			}
		}
	}
	return s.err
}

func (s *shrinker) done() bool { return s.err != nil || s.tried >= s.limit }

// try executes a schedule, if it has not been yet, and keeps it if it is better.
func (s *shrinker) try(candidate []model.Action) bool {
	if s.done() || len(candidate) == 0 {
		return false
	}
	key := hashOf(candidate)
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	s.tried++
	steps, err := s.execute(candidate, s.cost)
	if s.err = err; err != nil || steps == nil {
		return false
	}
	s.best, s.cost = steps, costOf(steps)
	return true
}

func hashOf(candidate []model.Action) uint64 {
	h := fnv.New64a()
	var b [16]byte
	for _, c := range candidate {
		binary.LittleEndian.PutUint64(b[:], uint64(c.Goroutine))
		binary.LittleEndian.PutUint64(b[8:], uint64(c.Choice))
		h.Write(b[:])
	}
	return h.Sum64()
}

// parts tries change with ever smaller parts of what there are count of: all, halves,
// quarters, down to each by itself. Where a change helps, what follows moves up.
func (s *shrinker) parts(count func() int, change func(from, to int) []model.Action) (improved bool) {
	for size := count(); size > 0 && !s.done(); size /= 2 {
		for from := 0; from < count() && !s.done(); {
			if s.try(change(from, min(from+size, count()))) {
				improved = true
			} else {
				from += size
			}
		}
	}
	return improved
}

// choices is a schedule made of parts of the best execution.
func (s *shrinker) choices(blocks ...block) []model.Action {
	var list []model.Action
	for _, b := range blocks {
		for _, x := range s.best[b.from:b.to] {
			list = append(list, x.Action)
		}
	}
	return list
}
