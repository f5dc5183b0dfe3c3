package states

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Trials are executions that have ended at a known state and are run again, and further. Some are
// to find livelocks (see states.go), and a sample is there to test the promise. Each two states
// that follow each other in them must have done so in executions of the search, too. For what
// follows a state depends on it only, and the search has explored all of that. The same is true of
// the last state and how the execution ends. What the search has seen is known only when it has
// ended, so the trials are judged then.

// trials are what is known of them.
type trials struct {
	due    *trial // to be run, or under way; nil: there is none
	tested int    // that were run
	open   []link // that the search has not shown, when they were run
	broken *core.Broken
}

// trial is an execution that is to go on.
type trial struct {
	execution int
	prefix    []core.Action
	from      core.NamedState
	named     []core.NamedState // since then
	seed      uint64            // 0: it goes on as a search would
	round     bool              // it is to go on until it ends by itself, or is no livelock
	over      bool              // it is none: not known before it is run
}

// link is what followed a state in a trial: another state, or the end.
type link struct {
	edge uint64
	core.Broken
}

// Which of the executions are run further, and how far. The first of all is one.
const (
	trialShare = 64
	maxNamed   = 64
	maxOpen    = 1 << 16
	// maxPrefix keeps what is saved of a trial small.
	maxPrefix = 1 << 16
)

// sample has an execution that has ended at a known state run further, if it is one of the sample
// or may be a livelock.
func (t *Table) sample(execution int, e *core.Execution) {
	last := t.path.list[len(t.path.list)-1]
	at, known := t.known[last.Key]
	round := t.round && !at.round
	if !round && ((t.ends-1)%trialShare != 0 || len(e.Transitions) > maxPrefix) {
		return
	}
	d := &trial{execution: execution, from: last, round: round}
	if round && known {
		at.round = true
		t.known[last.Key] = at
	} else if !round {
		d.seed = uint64(t.ends / trialShare)
	}
	for i := range e.Transitions {
		d.prefix = append(d.prefix, e.Transitions[i].Action)
	}
	t.due = d
}

// Trial is the schedule of an execution that is to be run next, to test the promise; false if there
// is none. It is not one of the search, and is to be reported with ReportTrial.
func (t *Table) Trial() (core.Schedule, bool) {
	d := t.due
	if d == nil {
		return core.Schedule{}, false
	}
	d.named, d.over = d.named[:0], false
	return core.Schedule{Prefix: d.prefix, Seed: d.seed, New: len(d.prefix), States: d}, true
}

// Named implements model.States. A trial has an end after some states. One that looks for a
// livelock goes on as long as nothing has happened that a livelock could not do.
func (d *trial) Named(s core.NamedState) bool {
	if len(d.named) < maxNamed {
		d.named = append(d.named, s)
	}
	d.over = d.over || !d.round || s.Effect > d.from.Step && s.Turn > d.from.Step
	return len(d.named) == maxNamed && d.over
}

// ReportTrial takes the execution of a trial.
func (t *Table) ReportTrial(e *core.Execution) error {
	d := t.due
	t.due = nil
	t.tested++
	if err := core.CheckActions(d.prefix, e.Transitions); err != nil {
		return err
	}
	at := d.from
	for _, s := range d.named {
		t.link(d, &at, s.Key, core.Broken{})
		at = s
	}
	// What goes round for ever is not seen to end in the search.
	if len(d.named) < maxNamed && ends(e.Outcome) && !d.round {
		t.link(d, &at, endOf(e.Outcome), core.Broken{Ends: true, Outcome: e.Outcome})
	}
	return nil
}

// link notes that something has followed a state in a trial.
func (t *Table) link(d *trial, from *core.NamedState, to core.StateKey, b core.Broken) {
	e := edge(from.Key, to)
	if _, shown := t.edges[e]; shown || len(t.open) > maxOpen {
		return
	}
	first := t.known[from.Key]
	b.PC, b.Step, b.Execution = from.PC, from.Step, d.execution
	b.First, b.FirstStep = int(first.execution), int(first.step)
	_, b.Known = t.known[to]
	t.open = append(t.open, link{e, b})
}

// Judge is called when the search has explored everything. If something has followed a state that
// does not follow it, as far as the search has seen, the promise is broken. Where the table was
// full, nothing is known.
func (t *Table) Judge() {
	t.open = slices.DeleteFunc(t.open, func(l link) bool {
		_, shown := t.edges[l.edge]
		return shown
	})
	if len(t.open) > 0 && t.broken == nil && !t.full {
		t.broken = &t.open[0].Broken
	}
}
