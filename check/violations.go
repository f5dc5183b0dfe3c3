package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// interest says which executions somebody wants to see.
type interest struct {
	// enough ends the search although there is more to explore. With nil, as many violations as are
	// looked for do.
	enough explore.Stop
	// kind says which executions are alike: the first of each kind is judged, those of kind "" are
	// not. With nil, violations are told apart as far as they are looked for.
	kind func(*sut.Log, explore.Outcome) string
	// judge returns the tests that a violation is one of, if it is to be kept. With nil distinct
	// violations are, as many as are looked for.
	judge func(log *sut.Log, isViolation bool, signature string) (tests []string, err error)
	blame func(log *sut.Log) (tests []string) // that a violation is one of
}

// violation is an execution that should not be.
type violation struct {
	*execution.Kept
	tests []string
	// executions: how many ended with it; known only if several violations are looked for.
	executions int
	shrunk     *report.Shrinking // nil if it was not
}

// collector has what a check has found so far, in the order of the search.
type collector struct {
	most      int // how many distinct violations are looked for; 0 and 1 are the same
	judge     func(log *sut.Log, isViolation bool, signature string) (tests []string, err error)
	blame     func(log *sut.Log) (tests []string)
	list      []*violation
	distinct  map[string]*violation // by kind, if several are looked for
	unclaimed []*execution.Result   // violations that were run ahead of the search
	limited   string                // Result.CutOff
	summaries []report.Violation    // of the first ones of list, which were told
}

// enough is the reason to stop when as many violations are found as are looked for.
func (f *collector) enough(v explore.Verdict) string {
	if f.most <= 1 {
		return explore.AtViolation(v)
	}
	limit := min(f.most, MaxViolations)
	if len(f.list) < limit {
		return ""
	}
	return fmt.Sprintf("the search stopped at %d distinct violations", limit)
}

// account takes an execution over into the result, in the order of the search.
func (f *collector) account(r *execution.Result) error {
	f.noteLimit(r)
	switch {
	case r.Kind == "":
	case f.judge == nil:
		f.collect(r.Kind, r.Kept, 1)
	case r.Kept != nil:
		tests, err := f.judge(&r.Kept.Log, r.Violation, r.Signature)
		if err != nil || len(tests) == 0 {
			return err
		}
		f.list = append(f.list, &violation{Kept: r.Kept, tests: tests})
	}
	return nil
}

// noteLimit takes over which limit cut an execution off, unless one of the same kind has.
func (f *collector) noteLimit(r *execution.Result) {
	if r.Limit == "" || strings.Contains(f.limited, r.Limit) {
		return
	}
	if f.limited != "" {
		f.limited += "\n"
	}
	f.limited += r.Limited
}

// collect keeps a violation, if none of its kind has been; then it returns it.
func (f *collector) collect(kind string, kept *execution.Kept, executions int) *violation {
	if f.most <= 1 {
		if len(f.list) > 0 {
			return nil
		}
		return f.add(kept)
	}
	known := f.distinct[kind]
	if known != nil {
		known.executions += executions
		return nil
	}
	if f.distinct == nil {
		f.distinct = map[string]*violation{}
	}
	added := f.add(kept)
	f.distinct[kind], added.executions = added, executions
	return added
}

// add keeps an execution as the next violation. Its tests and its number are filled in by the
// caller, which knows why it is kept.
func (f *collector) add(kept *execution.Kept) *violation {
	v := &violation{Kept: kept}
	f.list = append(f.list, v)
	return v
}

// told are the distinct violations, if several are looked for, for people who wait for the end.
// Each is described once. What was told is not changed later, so it may be read at any time.
func (f *collector) told(p *sut.Program) []report.Violation {
	if f.most <= 1 || f.judge != nil {
		return nil
	}
	for _, v := range f.list[len(f.summaries):] {
		summary := narrate.SignatureOf(p, &v.Log).Summary()
		// The stack of the earlier access is known only when the violation is explained.
		if v.Log.Race != nil && len(v.Log.Race.Earlier.Stack) == 0 {
			summary.Places, summary.Functions = nil, nil
		}
		f.summaries = append(f.summaries, summary)
	}
	return f.summaries
}

// keepUnclaimed takes what was run ahead of the search, when it was interrupted.
func (f *collector) keepUnclaimed(left []*execution.Result) {
	for _, r := range left {
		if r.Violation && r.Kept != nil && f.judge == nil {
			f.unclaimed = append(f.unclaimed, r)
		}
	}
}

// withUnclaimed are the violations of the search and, as far as others are looked for, those that
// were run ahead of it.
func (f *collector) withUnclaimed() []*violation {
	list, known := slices.Clone(f.list), map[string]bool{}
	for _, r := range f.unclaimed {
		if len(list) < max(f.most, 1) && !known[r.Kind] && f.distinct[r.Kind] == nil {
			list, known[r.Kind] = append(list, &violation{Kept: r.Kept}), true
		}
	}
	return list
}
