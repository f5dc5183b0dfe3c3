// Package check runs one check: the search chooses schedules, a worker executes them, and the cache
// answers for the peers. What it cannot answer is asked of the peers, which are first brought to
// the cursor. It is the only room that knows the others.
package check

import (
	"context"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/iocache"
)

// Run checks a program. An error means that nothing more can be said about it: the program does
// what cannot be checked, a process that takes part has died, or the peers contradicted themselves.
// Violations that were found before the error are in the result, which is nil if there are none.
// When ctx ends, the verdict is Unknown, or Violated if there are violations.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Audited { // it may begin anew, with the same workers
		defer o.Distribution.Keep()()
	}
	result, err := runIn(ctx, o)
	if !o.Audited || !audit.Contradicts(err) {
		return result, err
	}
	// The answers in the saved run are those that contradict each other. A resumed check must not
	// begin with them.
	if o.Saving != nil {
		if err := o.Saving.Run.Forget(); err != nil {
			return nil, err
		}
	}
	if o.Contradicted != nil {
		o.Contradicted(err)
	}
	return runIn(ctx, o.inGroupScope(err))
}

// runIn checks a program in the scope that is asked for.
func runIn(ctx context.Context, o Options) (*Result, error) {
	// A resumed check skips the scope that was found wrong before the interruption.
	if o.resumes() && o.Saving.Run.State().Contradiction != "" {
		o.Scope, o.Audited, o.contradiction = iocache.Group, false, o.Saving.Run.State().Contradiction
	}
	r, err := newRun(ctx, o, interest{})
	if err != nil {
		return nil, err
	}
	if o.Saving != nil {
		if err := r.startSaving(*o.Saving); err != nil {
			// From here on finish closes the executor, in every case.
			r.executor.Close()
			r.end(err)
			return nil, err
		}
	}
	return r.finish()
}
