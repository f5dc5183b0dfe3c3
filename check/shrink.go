package check

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/shrink"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

var errShrinkTime = errors.New("the time for shrinking is over")

// shrink replaces a violation by a simpler one that shows the same, if it finds one. Whatever goes
// wrong while it looks, what has been found so far is left.
func (e *explainer) shrink(v *violation) {
	if e.options.Shrink <= 0 || e.ctx.Err() != nil {
		return
	}
	s := &shrinking{explainer: e, best: v, early: v.Log.EarlyTimers, deadline: time.Now().Add(shrink.Time)}
	first, err := s.begin()
	if err == nil && first != nil {
		before := shrink.CostOf(first)
		looking := shrink.New(first, shrink.Limit(e.options.Shrink, len(first)), s.execute)
		looking.Tell = e.tell
		err = looking.Run()
		v.shrunk = &report.Shrinking{Executions: looking.Tried, Before: sizeOf(before),
			After: sizeOf(looking.Cost)}
	}
	if err != nil && err != errShrinkTime {
		e.executor.Renew()
	}
}

func sizeOf(c shrink.Cost) report.Size { return report.Size{Preemptions: c[0], Transitions: c[1]} }

// shrinking connects a shrinker with the worker.
type shrinking struct {
	*explainer
	best      *violation
	signature narrate.Signature
	// In the violation as it was found a peer has died. That says more than how the program then
	// ends, so it stays.
	died      bool
	exchanges []driver.Exchange // of the last execution
	early     int               // how often the clock may advance early
	deadline  time.Time
}

// begin runs the violation as it was found. There are no transitions if its log is too long to say
// what could have been picked.
func (s *shrinking) begin() ([]translate.Step, error) {
	log, err := s.log(s.best.Prefix, false)
	if err != nil || narrate.FirstDifference(s.best.Events, narrate.WithoutEnabled(log.Events)) >= 0 {
		return nil, err
	}
	steps := translate.Steps(log.Events)
	s.died = narrate.PeerDied(s.exchanges) != ""
	if s.signature, err = s.executor.Signature(log); err != nil {
		return nil, err
	}
	return s.withoutEarlyTimers(steps)
}

// withoutEarlyTimers takes back what the schedule has allowed beyond what the check allows, if the
// violation shows all the same.
func (s *shrinking) withoutEarlyTimers(steps []translate.Step) ([]translate.Step, error) {
	allowed := s.options.World.EarlyTimers
	if s.early <= allowed {
		return steps, nil
	}
	s.early = allowed
	without, err := s.execute(s.best.Prefix, shrink.Cost{math.MaxInt})
	if without == nil {
		s.early = s.best.Log.EarlyTimers
		return steps, err
	}
	return without, nil
}

// log runs a schedule.
func (s *shrinking) log(prefix []model.Action, lenient bool) (*sut.Log, error) {
	schedule := s.config.Violating(prefix, s.early)
	schedule.Lenient, schedule.WantEnabled = lenient, true
	if lenient {
		schedule.Rounds = executor.MaxRounds
	}
	s.exchanges = nil
	defer s.executor.Watch(func(x driver.Exchange) { s.exchanges = append(s.exchanges, x) })()
	return s.executor.Run(schedule)
}

// execute runs a candidate, as shrink.New asks for it.
func (s *shrinking) execute(candidate []model.Action, below shrink.Cost) ([]translate.Step, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if time.Now().After(s.deadline) {
		return nil, errShrinkTime
	}
	log, err := s.log(candidate, true)
	if err != nil || log.Outcome != s.best.Log.Outcome {
		return nil, err
	}
	steps := translate.Steps(log.Events)
	if !shrink.CostOf(steps).Less(below) || !s.blames(log, s.best.tests) ||
		s.died && narrate.PeerDied(s.exchanges) == "" {
		return nil, nil
	}
	found := s.executor.Keep(log) // signature may need the worker
	if got, err := s.executor.Signature(&found.Log); err != nil || !got.Same(s.signature) {
		return nil, err
	}
	*s.best.Kept = *found
	return steps, nil
}

// blames reports whether the tests fail in an execution.
func (e *explainer) blames(log *sut.Log, tests []string) bool {
	if tests == nil {
		return true
	}
	blamed := e.blame(log)
	return !slices.ContainsFunc(tests, func(name string) bool { return !slices.Contains(blamed, name) })
}
