package local

import (
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Reduction is what a search of global states needs to leave out orders of steps.
type Reduction struct {
	// Select says which nodes' transitions are enough to explore in a state (Stubborn.Select).
	Select func(locals []table.Local, messages []table.Message, canArrive func(i int) bool) uint64
	// Proviso: there may be cycles of states, in which something could be put off for ever. So the
	// search has to see to it that some state of each is expanded in full.
	Proviso bool
}

// ReductionConfig says what a reduction is for.
type ReductionConfig struct {
	// Judges: properties look at all states, and not only at the ends of runs. No reduction loses
	// an end.
	Judges bool
	// WholeSenders leaves out the reply split, WholeQuorums the quorum split.
	WholeSenders, WholeQuorums bool
	// Stop is that of Config.
	Stop func(events int) (reason string)
}

// NewReduction computes the fixpoint of a system, and what follows from it. A reason says why the
// fixpoint is not complete; then there is no reduction. Nothing else may have used the table before
// or uses it meanwhile. So numbers, and what is selected, are the same in each process, as long as
// handlers do the same.
func NewReduction(y *system.System, c ReductionConfig) (r *Reduction, reason string, err error) {
	f, reason, err := Explore(Config{Table: y.Table, Nodes: y.Nodes, Crashes: y.Faults.Crashes != 0,
		Stop: c.Stop})
	if err != nil || reason != "" {
		return nil, reason, err
	}
	isVisible := func(node int, from, to table.Local) bool {
		was, is := y.Table.State(node, from), y.Table.State(node, to)
		return c.Judges && was.Class != is.Class || is.Failure != ""
	}
	s := NewStubborn(f, y.Table.Senders(), StubbornConfig{Drops: y.Faults.Drops != 0,
		WholeSenders: c.WholeSenders, WholeQuorums: c.WholeQuorums, IsVisible: isVisible})
	// What can be done again and again changes nothing that would run out.
	isEndless := y.Duplicating || y.Faults.Duplicates < 0 || !f.Ends(y.Faults.Crashes >= 0)
	return &Reduction{Select: s.Select, Proviso: isEndless}, "", nil
}
