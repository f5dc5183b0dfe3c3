package check

import (
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
)

// PeerCounts says how much work with the peers was done.
type PeerCounts = execution.PeerCounts

// Counts says how much work was done beside the search itself.
type Counts = execution.Counts

// Result is what a check found.
type Result struct {
	Verdict explore.Verdict
	Counts  Counts
	// CutOff is which limits cut executions off, and where the first was of each, a line each.
	CutOff         string
	Counterexample *report.Counterexample // of the first violation
	Recording      *report.Recording      // the same, to be replayed
	Violations     []Violation            // all that were kept, the first included
	// Reads is what the peers have read of time and random numbers, and how often.
	Reads          string
	Uninstrumented []string // their processes of which that is not known
	Refusal        string   // why checkpoints were not kept in memory, if they were to be
	Unstored       string   // why the first of those that were not kept at all was not
	WhyKilled      string   // what is known of the first time that the peers were lost
	Skipped        string   // what the first of those that were not tried could not have held
	// Notes are lines that are shown with the verdict: which peers had no part in any execution,
	// which entries of absent had none, and what became of the schedule of tandem.Replay.
	Notes []string
	Scope string // of the I/O cache, and what is known about it, in words
	// Outcomes is how many executions ended in which way, since the check was begun or gone on
	// with.
	Outcomes map[explore.Outcome]int
	// Saved is the directory from which the check can go on; empty: it has ended, or is not saved.
	Saved  string
	Missed report.Missed // whom the program dialled, or waited for, and no peer is
	// Vacuous is why the verdict is unknown although every execution is covered: they missed all of
	// them. Empty: it is not for that.
	Vacuous string
	// Summary is the check as a whole in the words of reports, and ImportPath the path of what was
	// checked. They are known for jobs only.
	Summary    report.Run
	ImportPath string
}

// qualify takes back a verdict that says nothing: nobody was there whom the program talks to. Other
// verdicts stay. Vacuous is then cleared, so that a report does not mention it.
func (r *Result) qualify() {
	if r.Verdict.Kind == explore.Holds && r.Vacuous != "" {
		r.Verdict.Kind, r.Verdict.Reason = explore.Unknown, r.Vacuous
	} else {
		r.Vacuous = ""
	}
}

// Violation is an execution that should not be.
type Violation struct {
	Tests          []string // that fail in it; nil if the program is not made of tests
	Summary        report.Violation
	Counterexample *report.Counterexample
	Recording      *report.Recording
}
