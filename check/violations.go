package check

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// MaxViolations is the greatest number of distinct violations that a search keeps.
const MaxViolations = 100

// untilEnough ends a search when as many violations are found as are looked for.
func (r *run) untilEnough(s explore.Search) explore.Search {
	if r.options.Violations <= 1 {
		return explore.UntilViolation(s)
	}
	limit := min(r.options.Violations, MaxViolations)
	return explore.Until(s, func(explore.Verdict) string {
		if len(r.violations) < limit {
			return ""
		}
		return fmt.Sprintf("the search stopped at %d distinct violations", limit)
	})
}

// collect keeps a violation that is not the same as one that has been kept.
func (r *run) collect(log *sut.Log, isViolation bool) error {
	switch {
	case !isViolation:
		return nil
	case r.options.Violations <= 1:
		if len(r.violations) == 0 {
			r.violations = append(r.violations, r.keep(log))
		}
		return nil
	}
	return r.collectAs(r.keep(log), 1) // what is kept outlives the log, if the signature needs the worker
}

// collectAs notes that executions more executions ended with a violation, and keeps it
// if it is a new one.
func (r *run) collectAs(found *violation, executions int) error {
	s, err := r.signature(&found.log)
	if err != nil {
		return fmt.Errorf("telling the violations apart: %w", err)
	}
	known := r.distinct[s.key]
	if known == nil {
		if r.distinct == nil {
			r.distinct = map[string]*violation{}
		}
		known, r.distinct[s.key] = found, found
		r.violations = append(r.violations, found)
	}
	known.executions += executions
	return nil
}

// signature tells what violation an execution is. A data race takes another run, in which the
// earlier access is watched; the log is not valid any more after it.
func (r *run) signature(log *sut.Log) (signature, error) {
	if log.Race == nil || len(log.Race.Earlier.Stack) > 0 {
		return signatureOf(r.options.Program, log), nil
	}
	counts := r.counts
	defer func() { r.counts = counts }()
	schedule := r.violating(choices(log.Events))
	schedule.Watch = log.Race.First()
	watched, err := r.worker.Run(schedule, r.answers())
	if err != nil {
		return signature{}, err
	}
	return signatureOf(r.options.Program, watched), nil
}

// summary is the signature in the words of a report.
func (s signature) summary() report.Violation {
	lines := strings.Split(s.message, "\n")
	message := lines[0]
	if s.outcome == sut.Exited.String() {
		message = lines[len(lines)-1] // what it was about is printed last
	}
	for _, prefix := range []string{"panic: ", "fatal error: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	return report.Violation{Outcome: s.outcome, Message: message, Places: s.places}
}
