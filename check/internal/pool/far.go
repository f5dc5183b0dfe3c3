package pool

import (
	"context"
	"errors"
	"time"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
)

// Far is an executor that has parts explored in another process. It is given nothing else to run:
// to send each execution there and back would take longer than to run it.
type Far interface {
	Lifecycle
	// ExploreFar has a part explored until it has ended, as far as the bounds, or soon after
	// wanted is closed. The part has taken over what was explored. An error that is ErrUnexplored
	// says that nothing came of it; after any other error the executor is not used again. The
	// search then explores the part itself.
	ExploreFar(p *explore.Subtree, b Bounds, wanted <-chan struct{}, known func(kind string) bool) (
		*Explored, error)
}

// Bounds say when a part rests.
type Bounds struct {
	Executions int
	Time       time.Duration
	Forecast   bool // the executor wants to know what to expect
}

// ErrUnexplored is the error of a part that nobody has explored.
var ErrUnexplored = errors.New("nobody has explored it")

// Explored is what was found in a part.
type Explored struct {
	Executions int
	Outcomes   map[explore.Outcome]int
	Counts     execution.Counts    // of executions without a result
	Ended      execution.Ends      // of these
	Results    []*execution.Result // in order
}

// exploreFar has a part explored in another process.
func (p *Pool) exploreFar(m *member, t *part) error {
	// Several of these wait at the same time, and none of them takes up a processor.
	x, err := m.far.ExploreFar(t.Subtree, Bounds{t.most, t.time, p.config.Forecast}, t.wanted, p.reported)
	if err != nil {
		if err = p.fail(t, err); errors.Is(err, ErrUnexplored) {
			return nil
		}
		return err
	}
	// As if it had been explored here: it is merged in the same way.
	t.executions, t.outcomes, t.counts, t.results = x.Executions, x.Outcomes, x.Counts, x.Results
	t.ended = x.Ended
	return nil
}

// Explore has an executor explore a part of a search that another process has, until the part has
// ended, as far as the bounds, or soon after stop says so.
func Explore(ctx context.Context, x Executor, s *explore.Subtree, b Bounds, stop func() bool,
	known func(kind string) bool) (*Explored, error) {
	t := newPart(s, b.Executions, b.Time)
	// The first execution makes the trace of the path to the part, so it takes longer than others.
	for end := time.Now().Add(b.Time); !stop() && t.executions < t.most && ctx.Err() == nil; {
		schedule, more := s.Next()
		if !more {
			break
		}
		if b.Forecast {
			x.Expect(s.Forecast())
		}
		execution, found, err := x.Execute(schedule, false, known)
		if err == nil {
			err = s.Report(execution)
		}
		// What fails here is explored by the search itself, and fails there if it is to.
		if err != nil {
			return nil, err
		}
		if t.note(execution.Outcome, found) || time.Now().After(end) {
			break
		}
	}
	return &Explored{t.executions, t.outcomes, t.counts, t.ended, t.results}, nil
}
