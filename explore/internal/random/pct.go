package random

import "github.com/tandem-mc/tandem/explore/internal/core"

// NewPCT returns a search that runs n executions with random priorities (Burckhardt, Kothari,
// Musuvathi, Nagarakatte: A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs,
// ASPLOS 2010), the same ones for the same seed. Of the goroutines that can go on, the one of the
// highest priority does; at depth-1 random transitions its priority becomes lower than all that
// goroutines began with.
//
// A bug has depth d if d orders between two transitions suffice for it to show. A deadlock by two
// locks has 2, and what shows when one operation comes before another has 1. Verdict.Guarantee is
// what the search promises.
//
// Goroutines that are created on the way need no extra care: a priority is a hash of the seed and
// of the place in the spawn tree, so that any order of those that there are is as likely as any
// other.
func NewPCT(n, depth int, seed uint64, b core.Bounds) *Search {
	return newSampling("pct", n, seed, &priorities{depth: depth}, b)
}

// MaxDepth is the greatest depth of a search by PCT.
const MaxDepth = 64

// priorities is how a random search picks by priority, and what it has seen. Its methods
// do nothing without it.
type priorities struct {
	depth  int
	length int // transitions among which priorities change; 0: none is known yet
	sizes  maxima
	seen   map[core.GoroutineID]bool
}

// maxima is what executions have had at most.
type maxima struct {
	goroutines, transitions int
	choices                 bool // any alternatives at all
}

func (s *maxima) merge(other maxima) {
	s.goroutines, s.transitions = max(s.goroutines, other.goroutines), max(s.transitions, other.transitions)
	s.choices = s.choices || other.choices
}

// anew is the same, with nothing seen.
func (b *priorities) anew() *priorities {
	if b == nil {
		return nil
	}
	return &priorities{depth: b.depth, length: b.length}
}

// draw makes p the priorities of the schedule with a seed.
func (b *priorities) draw(seed uint64, p *core.Priorities) *core.Priorities {
	if b == nil {
		return nil
	}
	p.Changes = p.Changes[:0]
	for i := 1; i < b.depth && b.length > 0; i++ {
		p.Changes = append(p.Changes, 1+int(core.Mix(seed+uint64(i))%uint64(b.length)))
	}
	return p
}

// measure looks at an execution.
func (b *priorities) measure(e core.Execution) {
	if b == nil {
		return
	}
	if b.seen == nil {
		b.seen = map[core.GoroutineID]bool{}
	}
	clear(b.seen)
	s := maxima{}
	for i := range e.Transitions {
		x := &e.Transitions[i]
		s.choices = s.choices || x.Choices > 1
		if x.Goroutine == 0 {
			continue // the clock advances by itself
		}
		s.transitions++
		b.seen[x.Goroutine] = true
		for _, g := range x.Starts {
			b.seen[g] = true
		}
	}
	s.goroutines = len(b.seen)
	b.sizes.merge(s)
}
