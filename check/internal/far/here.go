package far

import (
	"context"
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/model"
)

// What a worker has found is looked at where the check is led, before it is taken over: an
// execution that somebody may want to see is run again, and a sample of all is audited. The audits
// take peers of their own, which a worker does not have.

// here is an executor for that. Several slots may use it, one at a time.
type here struct {
	ctx    context.Context // of the check
	config *executor.Config

	mu sync.Mutex         // guards what follows, and is held while it is used
	x  *executor.Executor // nil until it is needed
}

// use calls f with the executor, which is interrupted when the context ends. After an error there
// is another one the next time: the workers of this one may be gone.
func (h *here) use(ctx context.Context, f func(*executor.Executor) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	// It may have taken long until it was this one's turn.
	if err := ctx.Err(); err != nil {
		return err
	}
	// Most searches find nothing, so it is started when it is needed first.
	if h.x == nil {
		// It runs beside the executors of the search, on any processor.
		x, err := executor.New(h.ctx, h.config, -1)
		if err != nil {
			x.Close()
			return err
		}
		h.x = x
	}
	stop := context.AfterFunc(ctx, h.x.Interrupt)
	err := f(h.x)
	if !stop() || err != nil {
		h.x.Close()
		h.x = nil
	}
	return err
}

// close ends the executor.
func (h *here) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.x != nil {
		h.x.Close()
	}
}

// again implements repeater.
func (s *Slot) again(prefix []model.Action, earlyTimers int) (kept *execution.Kept, err error) {
	here := &s.leader.here
	err = here.use(s.ctx, func(x *executor.Executor) error {
		log, err := x.Run(here.config.Violating(prefix, earlyTimers))
		if err != nil {
			return err
		}
		outcome, err := translate.Outcome(log)
		// What fails there and not here is a difference of the machines, and no violation.
		if err == nil && !outcome.Violation() {
			err = fmt.Errorf("here it ended as %q", outcome)
		}
		if err == nil {
			kept = executor.Keep(log)
		}
		return err
	})
	return kept, err
}

// audit implements repeater. An audit that was left out is an error, so nothing that was to be
// audited is taken over without it.
func (s *Slot) audit(sample *execution.Sample) (c execution.Counts, err error) {
	err = s.leader.here.use(s.ctx, func(x *executor.Executor) error {
		c, err = x.AuditFor(sample)
		return err
	})
	return c, err
}
