// Package shrink looks for a simpler execution that shows the same as another one: with fewer
// preemptions, then with fewer transitions.
package shrink

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/model"
)

// Shrinker looks for a simpler execution that shows the same violation: with fewer preemptions,
// then with fewer transitions, then with earlier alternatives of data choices, then with fewer
// switches. It is greedy. It changes the schedule in one of the ways below, has the result executed
// as far as it can be followed (a lenient schedule), and goes on from there if that is simpler.
// When no change helps any more, it is done; so, from where it ends, it ends there again. Putting
// blocks together is as in Jalbert and Sen, A Trace Simplification Technique for Effective
// Debugging of Concurrent Programs (FSE 2010); leaving out ever smaller parts as in Zeller and
// Hildebrandt, Simplifying and Isolating Failure-Inducing Input (TSE 2002).
type Shrinker struct {
	best  []translate.Step
	Cost  Cost // of the best
	limit int  // of executions; there are no others after it
	Tried int  // executions
	// Tell is told before each execution how many there were, and how many there are at most; nil:
	// nobody is.
	Tell    func(tried, limit int)
	seen    map[uint64]bool
	execute Execute
	err     error
}

// Default is how many executions a violation is shrunk in, if nobody asks for another number. It
// suffices for schedules of some hundred transitions.
const Default = 400

// Time bounds how long a violation is shrunk. It is for executions that take unusually long: what
// comes out after it depends on the machine.
const Time = 30 * time.Second

// Limit is how many executions there are to shrink a violation of so many transitions: as many as
// were asked for. The default is fewer for long ones, so that these take seconds, too. Some are
// worth their time however long they are.
func Limit(asked, transitions int) int {
	const some, all = 20, 200_000 // all: transitions of these executions together
	if asked != Default {
		return asked
	}
	return min(asked, max(some, all/max(1, transitions)))
}

// Execute runs a schedule and returns what it did, if that is less than what it may cost and shows
// the same; else nil. An error ends the shrinking. The steps that it returns become the shrinker's.
type Execute func(candidate []model.Action, below Cost) ([]translate.Step, error)

// New returns a shrinker that begins with an execution, and runs at most so many others.
func New(steps []translate.Step, limit int, execute Execute) *Shrinker {
	return &Shrinker{
		best: steps, Cost: CostOf(steps), limit: limit, seen: map[uint64]bool{}, execute: execute,
	}
}

// Run shrinks until nothing helps any more, or the limit is reached. It ends, since each
// improvement lowers the cost and executions are limited.
func (s *Shrinker) Run() error {
	for improved := true; improved && !s.done(); {
		improved = false
		passes := []func() bool{
			s.serialize, s.unpreempt, s.cutOff, s.leaveOut, s.cutTails, s.choose, s.join,
		}
		for _, pass := range passes {
			if pass() {
				improved = true
			}
		}
	}
	return s.err
}

// done also stops passes in their middle.
func (s *Shrinker) done() bool { return s.err != nil || s.Tried >= s.limit }

// try executes a schedule, if it has not been yet, and keeps it if it is better.
func (s *Shrinker) try(candidate []model.Action) bool {
	if s.done() || len(candidate) == 0 {
		return false
	}
	key := hashOf(candidate)
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	if s.Tell != nil {
		s.Tell(s.Tried, s.limit)
	}
	s.Tried++
	steps, err := s.execute(candidate, s.Cost)
	if s.err = err; err != nil || steps == nil {
		return false
	}
	s.best, s.Cost = steps, CostOf(steps)
	return true
}

// hashOf tells schedules apart. Two with the same hash are taken for one, and then a schedule that
// might help is not tried: that does no harm.
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

// parts tries change with ever smaller parts of what there are count of: all, halves, quarters,
// down to each by itself. Where a change helps, what follows moves up. count is called again after
// each change, since an improvement changes the number.
func (s *Shrinker) parts(count func() int, change func(from, to int) []model.Action) (improved bool) {
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

// choices is a schedule made of parts of the best execution. Blocks refer to the best execution by
// index, so they are valid until it changes.
func (s *Shrinker) choices(blocks ...block) []model.Action {
	var list []model.Action
	for _, b := range blocks {
		for _, x := range s.best[b.from:b.to] {
			list = append(list, x.Action)
		}
	}
	return list
}

// Cost is what shrinking makes less, the most important first: preemptions, transitions, the sum of
// the alternatives taken, switches. Costs are compared from the first element on.
type Cost [4]int

// CostOf is what an execution costs.
func CostOf(steps []translate.Step) (c Cost) {
	for i, s := range steps {
		if s.Preempts {
			c[0]++
		}
		c[1] += 1 + s.Ticks
		c[2] += s.Choice
		if i > 0 && s.Goroutine != steps[i-1].Goroutine {
			c[3]++
		}
	}
	return c
}

// Less compares costs.
func (c Cost) Less(than Cost) bool { return slices.Compare(c[:], than[:]) < 0 }

// block is what one goroutine does in a row: steps from to to-1.
type block struct {
	goroutine model.GoroutineID
	from, to  int
	preempted bool // it ends although the goroutine could have gone on
}

// blocksOf cuts an execution where another goroutine goes on. The clock and signals are blocks,
// too, but preempt nobody. Blocks of the environment do not end the turn of a goroutine: a
// preemption is blamed on the last one.
func blocksOf(steps []translate.Step) []block {
	var blocks []block
	last := -1 // block of a goroutine of the program
	for i, s := range steps {
		if i > 0 && s.Goroutine == steps[i-1].Goroutine {
			blocks[len(blocks)-1].to++
			continue
		}
		if s.Preempts {
			blocks[last].preempted = true
		}
		if !s.Environment {
			last = len(blocks)
		}
		blocks = append(blocks, block{goroutine: s.Goroutine, from: i, to: i + 1})
	}
	return blocks
}
