// Package global searches the global states of a protocol: the local state of each node, and the
// messages under way. It walks the table of what handlers do, so a transition costs look-ups.
// Breadth first it finds a shortest run to a violation.
package global

import (
	"bufio"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Result is what a search has found.
type Result struct {
	Progress // of files, those that there were at most
	Reached  uint64
	// Violation is nil if there is none.
	Violation *Violation
	// Reason says why the search has ended before it was complete; empty if it was.
	Reason string

	files outer
}

// Release removes what the search has in files, or, if it is to go on later, only closes them.
func (r *Result) Release(goesOn bool) error {
	if r.files == nil {
		return nil
	}
	return r.files.release(goesOn)
}

// Violation is a run that violates something.
type Violation struct {
	// Property is the number of the property, or negative: then Failure says what is wrong.
	Property int
	Failure  string
	First    []table.Local // the local states at the start
	Start    []byte        // the state at the start; nil if a node fails before
	Steps    []system.Step
}

// search is a search under way.
type search struct {
	*Config
	form   forms.Form
	log    uint        // of the bits of a counter, to base 2, if states are vectors
	starts []space.Ref // where a run may begin
	// levelStart and levelEnd are those of the level that is expanded, by shard.
	levelStart, levelEnd []uint64
	before               [][]uint64 // ends of the levels before, that of the last being levelStart
	boundary             boundary
	transitions          atomic.Int64
	expandings           atomic.Int64
	reached              atomic.Uint64
	depth                int
	isSingle             bool  // only one state is expanded at a time
	disk                 outer // nil: all states are in memory
	filing

	mu     sync.Mutex
	found  *finding
	err    error
	reason string
	ended  atomic.Bool
}

// filing goes on with the states in files, or where a search was that had them there.
type filing struct {
	spill  func(s *search) error
	reopen func(s *search, in *bufio.Reader) error
	// expander has a worker expand states of a form.
	expander func(f forms.Form, w *worker) expands
	pass     pass // through the present level
}

// finding is a violation that was met: the state where a run ends, or the step after it.
type finding struct {
	Violation
	at   space.Ref
	step *system.Step // nil if the state itself is wrong
	// isLonger says that the run is one step longer than others that may still be found: those that
	// end in a state of the present level.
	isLonger bool
	// states are those of the run, the last one first; nil: the search still has them.
	states [][]byte
}

// outer is a search whose states are not in memory.
type outer interface {
	breadthFirst() error
	progress() Progress
	// finish completes a result, before the run to a violation is looked for.
	finish(r *Result)
	// statesBefore are the states before one of those in memory, up to the start.
	statesBefore(at space.Ref) ([][]byte, error)
	// release removes all files, or, if the search is to go on and was saved, only closes them.
	release(goesOn bool) error
}

// ErrFull is of states that take more memory than they may.
var ErrFull = errors.New("memory has no room for the states")

// isMended says whether a search goes on after an error.
func isMended(err error) bool { return forms.IsNarrow(err) || errors.Is(err, ErrFull) }

// isFull says whether the states take too much memory, with some bytes that belong to them. One is
// expanded whatever it takes.
func (s *search) isFull(others int64) bool {
	if s.Disk == nil || s.isSingle {
		return false
	}
	_, bytes := s.form.Size()
	return bytes+others > s.Disk.Sizes.Table
}

// errEnded unwinds a worker when the search is over.
var errEnded = errors.New("the search has ended")

// expands expands states, for one goroutine.
type expands interface {
	// expandRange expands a part of a level. Successors are known to be new or not after settle.
	expandRange(p forms.Part) error
	settle() error
	// expandOne expands one state.
	expandOne(at space.Ref) error
	// expandShared is expandOne without settle, of a state that was reached from one that is not
	// among the visited ones: before.
	expandShared(at space.Ref, before *system.State) error
	// reset forgets what depends on the places of states.
	reset()
	// noted is what it has in doubt.
	noted() *late
}

// begin visits the states in which a run may begin. The reason is why it has to begin again.
func (s *search) begin(reason error) (*worker, error) {
	s.form, s.starts = widerForm(s, reason), nil
	w := s.newWorker(0)
	err := w.first()
	if err == nil && s.From != nil {
		err = s.From(s.restore)
	}
	return w, err
}

// result is what the search has found.
func (s *search) result(w *worker, err error) (*Result, error) {
	if err == nil || errors.Is(err, errEnded) {
		err = s.err
	}
	if err != nil {
		return nil, err
	}
	r := &Result{Progress: s.progress(), Reached: s.reached.Load(), Reason: s.reason, files: s.disk}
	if s.disk != nil {
		s.disk.finish(r)
	}
	if s.found != nil {
		r.Violation, err = w.run(s.found)
	}
	return r, err
}

// progress is how far the search is, but for transitions that workers have not told of yet.
func (s *search) progress() Progress {
	if s.disk != nil {
		return s.disk.progress()
	}
	states, bytes := s.form.Size()
	return Progress{States: states, Expanded: int(s.expandings.Load()), Transitions: s.transitions.Load(),
		Depth: s.depth, Bytes: bytes}
}

// end ends the search for the first of the reasons that are given. If a violation was noted before,
// only a shorter run is another reason, and what is mended: then the search goes on.
func (s *search) end(found *finding, reason string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// What has too little room is mended, and then nobody would come upon a violation again.
	if isMended(s.err) && !errors.Is(err, errEnded) {
		s.err = nil
	}
	switch {
	case s.reason != "" || s.err != nil:
	case s.found == nil:
		s.found, s.reason, s.err = found, reason, err
	case s.found.isLonger && found != nil:
		s.found = found
	case s.found.isLonger && isMended(err):
		s.err = err
	}
	s.ended.Store(true)
	return errEnded
}

// note notes a violation of the next level, which ends the search when the present level is done.
func (s *search) note(found *finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil && s.reason == "" {
		found.isLonger = true
		s.found = found
	}
}

// breadthFirst goes level by level, so that each state is reached by as few steps as possible. The
// states of a level are expanded by all workers; what they reach is the next level.
func (s *search) breadthFirst() error {
	if s.disk != nil {
		return s.disk.breadthFirst()
	}
	if s.levelEnd == nil {
		s.levelStart, s.levelEnd = make([]uint64, s.form.Shards()), make([]uint64, s.form.Shards())
		s.beginLevel()
	}
	for workers := s.newWorkers(); ; s.depth++ {
		level := s.parts()
		if len(level) == 0 {
			s.depth--
			return nil
		}
		s.boundary = boundary{s.transitions.Load(), s.expandings.Load(), s.reached.Load()}
		if s.Depth > 0 && s.depth >= s.Depth {
			err := s.end(nil, reasonDepth, nil)
			s.keep(true)
			return err
		}
		s.keep(false)
		if s.isFull(0) {
			return s.spill(s)
		}
		s.expandLevel(workers, level)
		if s.ended.Load() && !isMended(s.err) {
			if s.reason != "" {
				s.keep(true)
			}
			return errEnded
		}
		if s.err == nil && s.found != nil {
			return errEnded
		}
		if s.err == nil {
			s.nextLevel()
			continue
		}
		// The level begins again. What it has reached stays.
		reason := s.beginAgain()
		if errors.Is(reason, ErrFull) {
			return s.spill(s)
		}
		s.depth--
		c, err := convert(s, reason)
		if err != nil {
			return err
		}
		if s.found != nil {
			s.found.at = c.now(s.found.at)
		}
		c.release()
		workers = s.newWorkers()
	}
}

// beginAgain goes back to the boundary, and returns the reason. It is one that can be mended.
func (s *search) beginAgain() (reason error) {
	s.transitions.Store(s.boundary.transitions)
	s.expandings.Store(s.boundary.expandings)
	reason, s.err = s.err, nil
	s.ended.Store(false)
	return reason
}

// parts are those of the present level.
func (s *search) parts() (level []forms.Part) {
	for shard, start := range s.levelStart {
		if end := s.levelEnd[shard]; start < end {
			level = s.form.Cut(level, forms.Part{Shard: shard, From: start, End: end})
		}
	}
	return level
}

// nextLevel begins a level with all that was reached, and keeps where the one before has ended.
func (s *search) nextLevel() {
	s.before = append(s.before, slices.Clone(s.levelEnd))
	s.beginLevel()
}

// beginLevel begins a level.
func (s *search) beginLevel() {
	for shard, end := range s.levelEnd {
		s.levelStart[shard], s.levelEnd[shard] = end, s.form.End(shard)
	}
}

// newWorker returns a worker that has seen nothing of the table.
func (s *search) newWorker(number int) *worker {
	w := &worker{search: s, number: number}
	w.Expander = system.NewExpander(&s.System, table.NewReader(s.Table))
	w.arrivable = w.CanArrive
	if s.Alike != nil {
		w.alike = newChosen(w)
	}
	return w
}

// newWorkers are those of a search breadth first.
func (s *search) newWorkers() []expands {
	workers := make([]expands, s.Workers)
	for i := range workers {
		workers[i] = s.expander(s.form, s.newWorker(i))
	}
	return workers
}

// reasonDepth is why a search ends at the bound on the depth.
const reasonDepth = "the bound on the depth was reached"

// expandLevel has the workers expand parts until none is left.
func (s *search) expandLevel(workers []expands, level []forms.Part) {
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
	// One worker needs no goroutine, and a level with few states is not worth one.
	workers = workers[:min(len(workers), len(level))]
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
