// Package execution has the results of an execution: its outcome, its counts, and the record that
// is kept if a report may show it.
package execution

import (
	"github.com/tandem-mc/tandem/check/internal/dials"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/sut"
)

// Result is what somebody may want to know of an execution, beside that it was.
// Its zero value says that there is nothing to report or count.
type Result struct {
	Kind      string       // what is to be judged; "" if nothing is
	Kept      *Kept        // the execution, unless one of its kind has been reported
	Violation bool         // it is one
	Signature string       // what tells the violation apart, if both that and Kind are asked for
	Limit     string       // that cut it off, unless another was reported that it had cut off
	Limited   string       // the same, and where it was then
	Checked   bool         // it was run twice more
	Counts    Counts       // of work with the peers
	Dialled   *dials.Notes // if they were news when it ran; else nil
	Ends      *Ends        // where it has ended in the I/O cache; nil if there are no peers
	Sample    *Sample      // if its audits are run by somebody else; else nil
}

// Sample is all that the audits of an execution follow from. So they are the same ones, whoever
// runs them.
type Sample struct {
	Seed        uint64 // of its schedule
	Transitions int
	Connections int
	Drawn       bool // it is one of those that are audited, whichever was the first
}

// Ends are the places of the I/O cache where executions have ended: each in one, or in connection
// scope in one of each tree. All that is above was passed on the way. So this is enough to tell how
// often each input was given.
type Ends []iocache.NodeID

// LimitKind is the kind of the first execution that a limit cut off. No other kind is like it.
func LimitKind(limit string) string { return "cut off" + limit }

// Kept is an execution that outlives the next one of its worker: the schedule that it followed,
// written out, and what happened in it.
// All its memory is its own. It is not changed once it exists.
type Kept struct {
	Prefix []model.Action
	Events []sut.Event // without what else could have been picked
	Log    sut.Log     // with these events
	Hits   []bool      // for each input to the peers, whether the cache answered it
}
