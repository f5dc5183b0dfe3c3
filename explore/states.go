package explore

import (
	"fmt"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/states"
	"github.com/tandem-mc/tandem/internal/model"
)

// What a search knows of the states that a program names.
type (
	States      = model.States
	StateCounts = core.StateCounts
	Broken      = core.Broken
)

// MaxStates is how many states a search remembers. Later ones are taken for new ones.
const MaxStates = states.Most

// naming is what a search does with the states that the program names.
type naming struct {
	possible bool          // executions may end at known states, and nothing is missed
	states   *states.Table // nil: they do not
	trial    bool          // the execution that was asked for is none of the core
	covers   bool          // it is one that may end at a known state
	deepest  int           // transitions of the longest execution that may do so
	trials   core.Tally    // of those that were none of the core
	judged   bool
}

// leastAside is how many transitions an execution may have in any case that the search learns
// nothing for certain from.
const leastAside = 1000

// canNameStates reports whether it is sound to end executions at known states: see package states.
func (c *Config) canNameStates() bool {
	return c.Preemptions == nil && c.Delays == nil &&
		(c.Algorithm == DPOR || c.Algorithm == DFS || c.Algorithm == Auto)
}

// begin has executions end at known states, of which so many are remembered.
func (n *naming) begin(most int) {
	if n.possible && n.states == nil {
		n.states = states.New(most)
	}
}

// next is the next schedule: a trial, if there may be one, or that of the core.
func (n *naming) next(search core.Search, trials bool) (Schedule, bool) {
	if n.states == nil {
		return search.Next()
	}
	if trials {
		var schedule Schedule
		if schedule, n.trial = n.states.Trial(); n.trial {
			n.trials.Expect()
			return schedule, true
		}
	}
	schedule, more := search.Next()
	switch n.covers = more && schedule.Covers; {
	case n.covers:
		n.states.Begin(schedule.New)
		schedule.States = n.states
	case more: // it might go on for ever, and shows little then
		schedule.Most = max(leastAside, 2*n.deepest)
	case !n.judged && search.Counted().Complete:
		n.judged = true
		n.states.Judge()
	}
	return schedule, more
}

// report takes the log of a trial, or of an execution of the core after so many others.
func (n *naming) report(search core.Search, e Execution, others int) error {
	switch {
	case n.states == nil:
	case n.trial:
		n.trial = false
		if err := n.trials.Count(e); err != nil {
			return err
		}
		return n.states.ReportTrial(&e)
	case n.covers:
		n.deepest = max(n.deepest, len(e.Transitions))
		if err := n.states.Report(others+1, &e); err != nil {
			return err
		}
	}
	return search.Report(e)
}

// explain adds to a verdict what trials have counted, and what it rests on. Where the promise is
// broken, what was ended might have gone on to anything.
func (n *naming) explain(v *Verdict) {
	if n.states == nil {
		return
	}
	counts := n.trials.Counts
	v.Add(counts)
	v.Limited -= counts.Limited // what they came to was covered
	v.States = n.states.Counts()
	if v.States.Ended > 0 {
		v.Estimate = core.Estimate{} // it is of all executions, and most of what is left will be known
	}
	switch {
	case counts.Violations > 0:
		v.Kind, v.Complete = Violated, false
		v.Reason = fmt.Sprintf("%d of %d executions are violations", v.Violations, v.Executions)
		v.States.Broken = nil // the search did not see how that goes on, and the violation is enough
	case v.Kind == Holds && v.States.Broken != nil:
		v.Kind, v.Complete = Unknown, false
		v.Reason = "the promise of tandem.State is broken"
	}
}

// save writes what is known; the trial or execution under way is left out.
func (n *naming) save(e *codec.Encoder) {
	if n.states != nil {
		e.Count(n.deepest)
		n.trials.SaveCounts(e, "trials")
		n.states.Save(e)
	}
}

// resume reads what save wrote.
func (n *naming) resume(d *codec.Decoder) {
	if n.states != nil && d.Problem == "" {
		n.deepest = d.Count(core.MaxTransitions)
		n.trials.ResumeCounts(d, "trials")
		n.states.Resume(d)
	}
}
