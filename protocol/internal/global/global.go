// Package global searches the global states of a protocol: the local state of each node, and the
// messages under way. It walks the table of what handlers do, so a transition costs look-ups.
// Breadth first it finds a shortest run to a violation.
package global

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Config says what to search, and how far.
type Config struct {
	Table *table.Table
	Nodes int
	// Ordered: messages from one node to another arrive in the order in which they were sent. Else
	// they arrive in any order. Duplicating: a message that was sent stays, and may arrive at any
	// time again. Not both.
	Ordered, Duplicating bool
	Faults               Faults
	// Judge judges the local states of all nodes, by their classes. It may be called by several
	// goroutines at a time. Nil: there is nothing to judge.
	Judge func(classes []uint32) Judgement
	// JudgeEnd judges a state in which nothing can happen any more. It returns the property that is
	// violated, or a negative number. Nil: there is nothing to judge.
	JudgeEnd func(classes []uint32) int
	// Select says which nodes' transitions are enough to explore in a state, as bits. Within says
	// whether a state with this local state is of interest; others are left out. Nil: all.
	Select func(locals []table.Local, messages []table.Message, canArrive func(i int) bool) uint64
	Within func(node int, local table.Local) bool
	// Proviso: a state from which the selected transitions lead only to states that are expanded
	// already is expanded in full. So no transition is put off for ever in a cycle (Bosnacki,
	// Holzmann: "Improving Spin's Partial-Order Reduction for Breadth-First Search", SPIN 2005).
	Proviso bool
	// DepthFirst searches with a stack, with one worker.
	DepthFirst bool
	// Depth bounds the steps of a run. Zero is no bound.
	Depth   int
	Workers int // at least 1
	// Stop is called now and then, by several goroutines at a time. A reason ends the search.
	Stop func(Progress) (reason string)
}

// Judgement is what the local states of all nodes mean for the properties.
type Judgement struct {
	// Violated is the number of a property that does not hold here; negative if all do.
	Violated int
	// Reached has a bit for each property that is to be reached, and is here.
	Reached uint64
}

// Progress is how far a search is.
type Progress struct {
	States      int
	Transitions int64
	Depth       int   // of the states that are expanded now
	Bytes       int64 // of the visited states
}

// Result is what a search has found.
type Result struct {
	Progress
	Reached uint64
	// Violation is nil if there is none.
	Violation *Violation
	// Reason says why the search has ended before it was complete; empty if it was.
	Reason string
}

// Violation is a run that violates something.
type Violation struct {
	// Property is the number of the property, or negative: then Failure says what is wrong.
	Property int
	Failure  string
	First    []table.Local // the local states at the start
	Start    []byte        // the state at the start; nil if a node fails before
	Steps    []Step
}

// search is a search under way.
type search struct {
	*Config
	visited     visited
	set         *space.Set // visited, unless states are vectors
	levelEnd    []uint64   // by shard: states from there on are not expanded yet
	transitions atomic.Int64
	reached     atomic.Uint64
	depth       int

	mu     sync.Mutex
	found  *finding
	err    error
	reason string
	ended  atomic.Bool
}

// finding is a violation that was met: the state where a run ends, or the step after it.
type finding struct {
	Violation
	at   space.Ref
	step *Step // nil if the state itself is wrong
}

// errEnded unwinds a worker when the search is over.
var errEnded = errors.New("the search has ended")

// visited are the states that a search has visited.
type visited interface {
	Shards() int
	// End is where a shard's next state will be.
	End(shard int) uint64
	Size() (states int, bytes int64)
}

// expands is a worker of a search breadth first.
type expands interface {
	// expandRange expands the states of a shard that lie between two places.
	expandRange(r part) error
	// settle ends a level.
	settle() error
}

// part is a part of a level.
type part struct {
	shard     int
	from, end uint64
}

// Search runs a search. An error is about the model, such as a state without an image.
func Search(c Config) (*Result, error) {
	if r, err := searchVectors(&c); r != nil || err != nil {
		return r, err
	}
	s := &search{Config: &c, set: space.New(c.shards())}
	s.visited = s.set
	w := s.newWorker()
	err := w.first()
	switch {
	case err != nil:
	case c.DepthFirst:
		err = s.depthFirst(w)
	default:
		workers := make([]expands, s.Workers)
		for i := range workers {
			workers[i] = s.newWorker()
		}
		err = s.breadthFirst(workers)
	}
	return s.result(w, err, func(at space.Ref) ([]byte, space.Ref) {
		return s.set.State(at), s.set.Parent(at)
	})
}

// shards is into how many parts the visited states are divided.
func (c *Config) shards() int {
	if c.Workers > 1 {
		return 64
	}
	return 1
}

// result is what the search has found. Look returns a state, and the one that it was reached from.
func (s *search) result(w *worker, err error, look func(space.Ref) ([]byte, space.Ref)) (*Result, error) {
	if err == nil || errors.Is(err, errEnded) {
		err = s.err
	}
	if err != nil {
		return nil, err
	}
	r := &Result{Progress: s.progress(), Reached: s.reached.Load(), Reason: s.reason}
	if s.found != nil {
		r.Violation, err = w.run(s.found, look)
	}
	return r, err
}

// progress is how far the search is, but for transitions that workers have not told of yet.
func (s *search) progress() Progress {
	states, bytes := s.visited.Size()
	return Progress{States: states, Transitions: s.transitions.Load(), Depth: s.depth, Bytes: bytes}
}

// end ends the search for the first of the reasons that are given.
func (s *search) end(found *finding, reason string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil && s.reason == "" && s.err == nil {
		s.found, s.reason, s.err = found, reason, err
	}
	s.ended.Store(true)
	return errEnded
}

// breadthFirst goes level by level, so that each state is reached by as few steps as possible. The
// states of a level are expanded by all workers; what they reach is the next level.
func (s *search) breadthFirst(workers []expands) error {
	// From is where the next level begins in each shard. All that comes behind it is not expanded
	// yet.
	from := make([]uint64, s.visited.Shards())
	for {
		var level []part
		for shard := range from {
			end := s.visited.End(shard)
			if from[shard] < end {
				level = append(level, part{shard, from[shard], end})
			}
			from[shard] = end
		}
		s.levelEnd = from
		if len(level) == 0 {
			s.depth--
			return nil
		}
		if s.Depth > 0 && s.depth == s.Depth {
			return s.end(nil, reasonDepth, nil)
		}
		s.expandLevel(workers, level)
		if s.ended.Load() {
			return errEnded
		}
		s.depth++
	}
}

// reasonDepth is why a search ends at the bound on the depth.
const reasonDepth = "the bound on the depth was reached"

// expandLevel has the workers expand parts until none is left.
func (s *search) expandLevel(workers []expands, level []part) {
	var next atomic.Int64
	work := func(w expands) {
		for {
			var err error
			i := int(next.Add(1)) - 1
			isLast := i >= len(level) || s.ended.Load()
			if isLast {
				err = w.settle()
			} else {
				err = w.expandRange(level[i])
			}
			if err != nil {
				_ = s.end(nil, "", err)
			}
			if err != nil || isLast {
				return
			}
		}
	}
	// One worker needs no goroutine, and no lock of the set.
	if len(workers) == 1 {
		work(workers[0])
		return
	}
	var done sync.WaitGroup
	for _, w := range workers {
		done.Go(func() { work(w) })
	}
	done.Wait()
}
