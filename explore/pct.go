package explore

import "fmt"

// newPCT returns a search that runs n executions with random priorities (Burckhardt,
// Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with Probabilistic Guarantees
// of Finding Bugs, ASPLOS 2010), the same ones for the same seed. Of the goroutines that can go on,
// the one of the highest priority does; at depth-1 random transitions its priority
// becomes lower than all that goroutines began with.
//
// A bug has depth d if d orders between two transitions suffice for it to show. A deadlock by two locks has
// 2, and what shows when one operation comes before another has 1. Verdict.Guarantee
// is what the search promises.
//
// Goroutines that are created on the way need no extra care: a priority is a hash of the
// seed and of the place in the spawn tree, so that any order of those that there
// are is as likely as any other.
func newPCT(n, depth int, seed uint64, b bounds) *sampling {
	return newSampling("pct", n, seed, &priorities{depth: depth}, b)
}

// Guarantee is what PCT promises: each execution shows a bug of a certain depth with a
// probability of at least 1/(n k^(depth-1)), if it does so in executions of at most n goroutines and k
// transitions. These are the greatest numbers that had been seen when the executions were drawn. The promise
// is about schedules: where a bug needs certain alternatives too (Choose, select), their
// probability is a factor. A goroutine that had 256 transitions in a row, or goes round in a
// loop that waits, has to let the others go on, and the promise is one about executions in
// which no other goes on for longer.
type Guarantee struct {
	Depth       int
	Goroutines  int     // n
	Transitions int     // k
	Drawn       int     // executions whose changes of priority are at transitions 1 ... k
	Choices     bool    // there were alternatives that a bug could need
	Each        float64 // probability of one execution
	All         float64 // that one of those drawn shows the bug
}

// String says it in words; "" if nothing is promised.
func (g Guarantee) String() string {
	if g.Drawn == 0 {
		return ""
	}
	alternatives := ""
	if g.Choices {
		alternatives = ", times that of the alternatives that it needs"
	}
	return fmt.Sprintf("a bug of depth %d shows with probability 1/(%d x %d^%d) at least in each execution, %.2g in %d of them%s",
		g.Depth, g.Goroutines, g.Transitions, g.Depth-1, g.All, g.Drawn, alternatives)
}

// MaxDepth is the greatest depth of a search by PCT.
const MaxDepth = 64

// priorities is how a random search picks by priority, and what it has seen. Its methods
// do nothing without it.
type priorities struct {
	depth  int
	length int // transitions among which priorities change; 0: none is known yet
	sizes  sizes
	seen   map[GoroutineID]bool
}

// sizes is what executions have had at most.
type sizes struct {
	goroutines, transitions int
	choices                 bool // any alternatives at all
}

func (s *sizes) join(other sizes) {
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
func (b *priorities) draw(seed uint64, p *Priorities) *Priorities {
	if b == nil {
		return nil
	}
	p.Changes = p.Changes[:0]
	for i := 1; i < b.depth && b.length > 0; i++ {
		p.Changes = append(p.Changes, 1+int(mix(seed+uint64(i))%uint64(b.length)))
	}
	return p
}

// measure looks at an execution.
func (b *priorities) measure(e Execution) {
	if b == nil {
		return
	}
	if b.seen == nil {
		b.seen = map[GoroutineID]bool{}
	}
	clear(b.seen)
	s := sizes{}
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
	b.sizes.join(s)
}
