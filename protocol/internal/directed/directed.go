// Package directed searches the global states of a protocol in the order of an estimate: how many
// steps a state is from a violation. It has the searches of StEAM (Edelkamp, Jabbar, Sulewski:
// "Distributed Verification of Multi-threaded C++ Programs", PDMC 2007): best-first search, A* and
// IDA*. A state is kept once, as bytes; what a search knows of it is of constant size.
//
// Package global finds the steps: its walk goes from a state to those behind it, in any model. This
// package has what orders them, and what remembers them. So it knows of neither networks nor
// faults. Only one goroutine searches: which state is best depends on all that came before.
package directed

import (
	"bytes"
	"errors"
	"runtime"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Algorithm is a directed search.
type Algorithm uint8

// The algorithms.
const (
	// BestFirst expands the state with the lowest estimate.
	BestFirst Algorithm = iota
	// AStar expands the state with the lowest sum of depth and estimate.
	AStar
	// IDAStar goes depth first through states whose sum is within a bound, which is raised.
	IDAStar
)

// Config says what to search. Global has neither a reduction nor alike nodes nor files.
type Config struct {
	Global    global.Config
	Algorithm Algorithm
	// View is what the estimate knows of a local state, and Body what it knows of a message. Each
	// is asked once. Estimate gets those of all nodes and of all messages under way; the lists are
	// overwritten when it has returned.
	View     func(node int, l table.Local) (any, error)
	Body     func(m table.Message) (any, error)
	Estimate func(views, bodies []any) int
	// Room is how many bytes the states of IDAStar may take. What comes later is not remembered,
	// and may be visited many times.
	Room int64
}

// search is a search under way.
type search struct {
	Config
	evaluator
	walk     *global.Walk
	store    *store
	bad      map[uint32]verdict // states that violate something
	found    *finding
	progress global.Progress
	reached  uint64 // properties
	reason   string
	queued   int64 // bytes
	asked    int64 // transitions when Stop was asked last
	// Of IDAStar.
	bound, next int      // of the sums: the present one, and the least beyond
	round       uint32   // of the bound
	path        [][]byte // the states from the start to the present one
	hasLost     bool     // a state was not remembered
}

// A violation may be of three kinds: a state, a state in which nothing can happen any more, or a
// step. A run ends there, so what lies behind it is not searched.

// verdict is what is wrong with a state, or with a step from it.
type verdict struct {
	property int // negative: the failure says what is wrong
	failure  string
}

// finding is a violation that was met.
type finding struct {
	verdict
	length int
	at     uint32       // where the run ends, unless it is the path
	path   [][]byte     // of IDAStar
	step   *system.Step // after that, if the step itself fails
}

// errEnded unwinds a search that has found something or has come to a bound. It is not an error of
// the model.
var errEnded = errors.New("the search has ended")

// stopEvery is after how many transitions Stop is asked.
const stopEvery = 1 << 12

// Search searches. The result is that of a search in package global. Its run is a shortest one with
// AStar and IDAStar, if no estimate is too large and no bound has ended the search.
func Search(c Config) (*global.Result, error) {
	stop := c.Global.Stop
	walked := c.Global
	// The walk only finds the steps.
	walked.Judge, walked.JudgeEnd, walked.Stop = nil, nil, nil
	s := &search{Config: c, evaluator: newEvaluator(&c), walk: global.NewWalk(walked),
		store: newStore(), bad: map[uint32]verdict{}}
	if s.Global.Stop = stop; stop == nil {
		s.Global.Stop = func(global.Progress) string { return "" }
	}
	// A node that fails when it starts leaves no state to begin with.
	first, err := s.startFailure()
	if err != nil || first != nil {
		return &global.Result{Violation: first}, err
	}
	if c.Algorithm == IDAStar {
		err = s.deepen()
	} else {
		err = s.bestFirst()
	}
	if err != nil && !errors.Is(err, errEnded) {
		return nil, err
	}
	// Whatever has ended the search, a violation that was met is shown.
	r := &global.Result{Progress: s.measure(), Reached: s.reached, Reason: s.reason}
	if s.found != nil {
		r.Reason = ""
		r.Violation, err = s.run()
		return r, err
	}
	return r, nil
}

// startFailure is a violation before the first state: a node that fails when it starts.
func (s *search) startFailure() (*global.Violation, error) {
	var first []table.Local
	for node := range s.Global.Nodes {
		e, err := s.Global.Table.Start(node)
		if err != nil {
			return nil, err
		}
		for _, o := range e.Outcomes {
			failure := o.Failure
			if failure == "" {
				failure = s.reader.State(node, o.Next).Failure
			}
			if failure != "" {
				return &global.Violation{Property: -1, Failure: failure, First: append(first, o.Next)}, nil
			}
		}
		first = append(first, e.Outcomes[0].Next)
	}
	return nil, nil
}

// measure is how far the search is.
func (s *search) measure() global.Progress {
	s.progress.States, s.progress.Bytes = s.store.count, s.store.size()+s.queued
	return s.progress
}

// pause is called for each state that is expanded. Now and then it asks whether to go on.
func (s *search) pause() error {
	if s.progress.Transitions-s.asked < stopEvery && s.progress.Expanded%stopEvery != 0 {
		return nil
	}
	s.asked = s.progress.Transitions
	runtime.Gosched()
	if s.reason = s.Global.Stop(s.measure()); s.reason != "" {
		return errEnded
	}
	return nil
}

// judge says what is wrong with a state; nil if nothing is. Was are the local states before the
// step of a node, or nil at the start. What holds of the same classes was judged there.
func (s *search) judge(locals, was []table.Local, node int) *verdict {
	if was != nil {
		before, here := s.reader.State(node, was[node]), s.reader.State(node, locals[node])
		if here.Failure != "" {
			return &verdict{-1, here.Failure}
		}
		if before.Class == here.Class {
			return nil
		}
	}
	if s.Global.Judge == nil {
		return nil
	}
	// Properties that are to be reached are noted on the way.
	j := s.Global.Judge(s.classesOf(locals))
	s.reached |= j.Reached
	if j.Violated >= 0 {
		return &verdict{property: j.Violated}
	}
	return nil
}

// judgeEnd says what is wrong with a state in which nothing can happen; nil if nothing is.
func (s *search) judgeEnd(locals []table.Local) *verdict {
	if s.Global.JudgeEnd == nil {
		return nil
	}
	if p := s.Global.JudgeEnd(s.classesOf(locals)); p >= 0 {
		return &verdict{property: p}
	}
	return nil
}

// run is the run to what was found. States know what they were reached from; which step it was is
// found by expanding that state once more.
func (s *search) run() (*global.Violation, error) {
	f := s.found
	if f.path == nil {
		for at := f.at; at != none; at = s.store.at(at).parent {
			f.path = append(f.path, s.store.state(at))
		}
		slices.Reverse(f.path)
	}
	v := &global.Violation{Property: f.property, Failure: f.failure, Start: f.path[0]}
	v.First, _ = s.walk.Look(f.path[0])
	for i, to := range f.path[1:] {
		// Several steps may lead there. A step that fails leads to no state.
		steps, states, err := s.walk.Steps(f.path[i])
		if err != nil {
			return nil, err
		}
		k := 0
		for k < len(steps) && (fails(steps[k]) || !bytes.Equal(states[k], to)) {
			k++
		}
		if k == len(steps) {
			return nil, errors.New("a state is not reached from the one that is said to come before it")
		}
		v.Steps = append(v.Steps, steps[k])
	}
	if f.step != nil {
		v.Steps = append(v.Steps, *f.step)
	}
	return v, nil
}

// fails says whether a step ends a run.
func fails(s system.Step) bool { return s.Outcome != nil && s.Outcome.Failure != "" }

// isCut says whether something is left that was not expanded. When a search has gone through all
// that it may, only the bound on the depth leaves something. A state that was too deep may have
// been reached by fewer steps later, and then it counts as expanded. What is not remembered may
// have been too deep, so nothing is promised then.
func (s *search) isCut() bool {
	if s.hasLost && s.Global.Depth > 0 {
		return true
	}
	return s.progress.Expanded < s.store.count
}

// reasonDepth is why a search ends that has gone as deep as it may.
const reasonDepth = "the bound on the depth was reached"
