package explore

import (
	"fmt"
	"math"
)

// PCT returns a search that runs n executions with random priorities (Burckhardt,
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
func PCT(n, depth int, seed uint64) Search {
	return &pct{seeds: seeds{seed}, left: n, depth: max(depth, 1), seen: map[GoroutineID]bool{}}
}

// Guarantee is what PCT promises: each execution shows a bug of a certain depth with a
// probability of at least 1/(n k^(depth-1)), n and k being the greatest numbers of
// goroutines and of transitions of any execution. The greatest that have been seen stand for them, so the promise is one
// about bugs that show in executions of that size. It is about schedules:
// where a bug needs certain alternatives too (Choose, select), their probability is a
// factor. A goroutine that had 256 transitions in a row, or goes round in a
// loop that waits, has to let the others go on, and the promise is one about executions in
// which no other goes on for longer.
type Guarantee struct {
	Depth       int
	Goroutines  int     // n
	Transitions int     // k
	Drawn       int     // executions whose change points come from 1 ... k
	Choices     bool    // there were alternatives that a bug could need
	Each        float64 // probability of one execution
	All         float64 // that one of those drawn shows the bug
}

// String says it in words.
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

type pct struct {
	tally
	seeds
	left, depth int
	// What executions have had, at most; 0 before the first, which is only to find out.
	goroutines, transitions int
	drawn                   int // executions since transitions was as it is
	choices                 bool
	priorities              Priorities
	seen                    map[GoroutineID]bool // in the present execution
}

func (p *pct) Next() (Schedule, bool) {
	p.ask()
	if p.left <= 0 {
		return p.end()
	}
	p.left--
	seed := p.seed()
	p.priorities.Changes = p.priorities.Changes[:0]
	for i := 1; i < p.depth && p.transitions > 0; i++ {
		at := 1 + mix(seed+uint64(i))%uint64(p.transitions)
		p.priorities.Changes = append(p.priorities.Changes, int(at))
	}
	return Schedule{Seed: seed, Priorities: &p.priorities}, true
}

func (p *pct) Report(e Execution) error {
	if err := p.take(e); err != nil {
		return err
	}
	clear(p.seen)
	transitions := 0
	for i := range e.Transitions {
		x := &e.Transitions[i]
		p.choices = p.choices || x.Choices > 1
		if x.Goroutine == 0 {
			continue // the clock advances by itself
		}
		transitions++
		p.seen[x.Goroutine] = true
		for _, g := range x.Starts {
			p.seen[g] = true
		}
	}
	if transitions <= p.transitions {
		p.drawn++
	} else {
		p.transitions, p.drawn = transitions, 0
	}
	p.goroutines = max(p.goroutines, len(p.seen))
	return nil
}

func (p *pct) Verdict() Verdict {
	v := p.verdict(fmt.Sprintf("%d schedules of PCT make nothing certain about the others", p.counts.Executions))
	if p.drawn > 0 && p.transitions > 0 {
		each := 1 / (float64(p.goroutines) * math.Pow(float64(p.transitions), float64(p.depth-1)))
		v.Guarantee = Guarantee{
			Depth: p.depth, Goroutines: p.goroutines, Transitions: p.transitions, Drawn: p.drawn, Choices: p.choices,
			Each: each, All: -math.Expm1(float64(p.drawn) * math.Log1p(-each)),
		}
	}
	return v
}
