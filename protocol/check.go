package protocol

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/apart"
	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/local"
	"github.com/tandem-mc/tandem/protocol/internal/meter"
	"github.com/tandem-mc/tandem/protocol/internal/page"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Options say how a model is searched, and how far. The zero value is breadth-first, without a
// bound but for memory.
type Options struct {
	// Search is BreadthFirst if it is not set. BestFirst, AStar and IDAStar have one worker.
	Search Search
	// Estimate is what BestFirst, AStar and IDAStar follow (NewEstimate). Others ignore it.
	Estimate Estimate
	// Reduce leaves out orders of steps that make no difference: partial-order reduction by
	// stubborn sets. Verdicts stay the same; runs need not be shortest any more. What is
	// independent of what follows from the local search, which comes first. Local is reduced
	// anyway. If that search is too large, nothing is left out (Result.Whole). Several processes
	// leave out less where runs may go on for ever.
	Reduce bool
	// Without leaves out parts of the reduction, to see what they are worth.
	Without Split
	// Depth bounds the steps of a run, States how many states there are, Time how long the search
	// takes. Zero is no bound. With Local, Depth bounds the chains of events of which each needs
	// the one before, so a run that is found may have more steps; States is that of each search for
	// a run.
	Depth, States int
	Time          time.Duration
	// Memory bounds the bytes that the whole program takes. Zero is DefaultMemory.
	Memory uint64
	// External is a directory for states that Memory has no room for: the search goes on there,
	// with the same result. It must be there already; files in it are removed when the search ends.
	// If it is empty, the search ends at the bound of Memory. Only a breadth-first search goes on.
	// Disk bounds the bytes of these files; zero is no bound. Of several processes each has files
	// of its own. If these reduce, all runs have to end.
	External string
	Disk     uint64
	// Workers is how many goroutines search; zero is one for each processor. With more than one it
	// may vary which of several shortest runs is shown.
	Workers int
	// Resume is a file in which the search is kept: now and then, and when it ends at a bound. If
	// the file is there, the search goes on from it, so a check that was interrupted or has ended
	// at a bound loses little. It is removed when the search is complete, or has met a violation.
	// Only a breadth-first search that is not reduced, of a model without Alike, can go on. If the
	// model has changed meanwhile, that is an error.
	Resume string
	// Partial has Test accept a search that has ended at a bound.
	Partial bool
	// HTML is a file to which the chart of a violation is written as a page (Violation.HTML). If it
	// is empty, none is written.
	HTML string
	// Output is where it is told how far the search is: on a terminal in a line that is rewritten,
	// else in lines that become rarer. If it is nil, Test logs such lines, and Check says nothing.
	Output io.Writer
	// Progress is called about each second; nil: it is not.
	Progress func(Progress)

	log        func(format string, args ...any) // of the test
	keepAlways bool                             // a search is kept at each level, for tests
	onDisk     func(*global.Disk)               // changes sizes of an external search, for tests
	session    *apart.Session                   // of a search by several processes, for tests
}

// Split is a way in which Reduce tells transitions apart (Bokor et al., section V). With each of
// them fewer transitions depend on each other.
type Split uint8

// The splits.
const (
	// ReplySplit: a transition is told apart by the message that it consumes. So an answer depends
	// on its question, and not on all else that the node could do.
	ReplySplit Split = 1 << iota
	// QuorumSplit: a quorum transition is told apart by the set of messages that it consumes.
	QuorumSplit
)

// Search is a way to search.
type Search uint8

// The searches. All of them have the same verdicts.
const (
	// BreadthFirst goes through global states level by level. Runs are shortest.
	BreadthFirst Search = iota
	// DepthFirst goes through global states with a stack. It is for large models with a violation
	// that is far from the start; runs are not the shortest.
	DepthFirst
	// Local goes through the local states of each node, over one network that only grows (LMC,
	// section 4). Where their combinations could violate a property, it searches for a run. It is
	// for models whose properties have small views: then few combinations are left, or none. It
	// knows no Eventually. Where the number of a node's local states has no bound over that
	// network, the search is BreadthFirst after all (Result.Whole).
	Local
	// BestFirst goes to the state that is nearest to a violation by the Estimate. It finds one
	// fast, and the run may be long.
	BestFirst
	// AStar also counts the steps so far: A* (Hart, Nilsson, Raphael: "A Formal Basis for the
	// Heuristic Determination of Minimum Cost Paths", IEEE Transactions on Systems Science and
	// Cybernetics 1968). If the Estimate is admissible, the run that is shown is a shortest one
	// (Theorem 1 there), unless a bound has ended the search.
	AStar
	// IDAStar does so depth first, within a bound on the sum, which is raised: IDA* (Korf:
	// "Depth-First Iterative-Deepening", Artificial Intelligence 1985). If the Estimate is
	// admissible, the run is a shortest one. There is no open list. States are remembered in a
	// third of the memory, and what has no room is repeated. It is for models that are violated:
	// where all holds, it visits all states for each bound.
	IDAStar
)

func (s Search) String() string {
	names := [...]string{BreadthFirst: "breadth-first", DepthFirst: "depth-first", Local: "local",
		BestFirst: "best-first", AStar: "A*", IDAStar: "IDA*"}
	if int(s) >= len(names) {
		return fmt.Sprintf("search %d", uint8(s))
	}
	return names[s]
}

// DefaultMemory is the bound on memory, in bytes, if none is given.
const DefaultMemory = 4 << 30

// Progress is how far a search is.
type Progress struct {
	States, Depth int
	// Frontier is how many states have been reached and not been expanded yet.
	Frontier    int
	Transitions int64
	Bytes       int64 // of the states, without what they are made of
	// Disk is the bytes of an external search in files; of a result, what they were at most.
	Disk int64
	// Events is how many events have been executed so far in the fixpoint with which Local and
	// Reduce begin; zero afterwards.
	Events  int
	Elapsed time.Duration
}

// Verdict is what a search has come to.
type Verdict uint8

// The verdicts.
const (
	// Unknown: the search has ended at a bound, and has met no violation.
	Unknown Verdict = iota
	// Holds: every run within the faults of the model was explored, and all properties hold.
	Holds
	// Violated: a property does not hold.
	Violated
)

func (v Verdict) String() string { return [...]string{"unknown", "holds", "violated"}[v] }

// Result is what a search has found.
type Result struct {
	Verdict Verdict
	// Reason says why the verdict is unknown.
	Reason string
	// Whole says why the search was breadth-first or not reduced after all, and went through all
	// global states; empty if it did as it was told.
	Whole string
	// Violation is a run to what is wrong; nil if there is none, and of properties that no run has
	// reached.
	Violation *Violation
	// Unreached are the properties made by Sometimes that no state has reached. If the search was
	// complete, the verdict is Violated.
	Unreached []string
	Progress
	// Locals and Messages are how many local states and messages there are, Handlers how often a
	// handler had to run: once for each local state and event.
	Locals, Messages, Handlers int
	// Combinations is how many combinations of views a local search has judged, Searches how often
	// it has looked for a run. States and Transitions are those of these searches.
	Combinations, Searches int
	// Shares says what each of several processes has done, and what they have sent to each other;
	// empty if there was one.
	Shares string
}

// String is the result in one line.
func (r *Result) String() string {
	var b strings.Builder
	b.WriteString(r.Verdict.String())
	switch {
	case r.Violation != nil:
		b.WriteString(": " + r.Violation.What)
	case r.Verdict == Violated:
		b.WriteString(": no run reaches " + strings.Join(r.Unreached, ", "))
	case r.Reason != "":
		b.WriteString(": " + r.Reason)
	}
	fmt.Fprintf(&b, "; %d states, %d transitions, depth %d, %d handlers run, %v", r.States, r.Transitions,
		r.Depth, r.Handlers, r.Elapsed.Round(time.Millisecond))
	if r.Whole != "" {
		b.WriteString("; not reduced: " + r.Whole)
	}
	return b.String()
}

// Violation is a run that violates a property.
type Violation struct {
	// What is wrong: the name of the property, or what a handler has panicked with.
	What string
	// Steps is how long the run is. Breadth-first it is a shortest one.
	Steps int
	// Run is the run as a text for Replay.
	Run string
	// Chart is a message sequence chart of the run. One of more than 50 lines is folded: each step
	// takes two lines at most, and what is long in them is cut. Details is the whole chart.
	Chart, Details string

	page *page.Chart // nil before the first step
}

// Check searches all behaviours of a model. An error is about the model: a state that has no image,
// a handler that is not deterministic. It may be called from several goroutines.
func Check(m *Model, o Options) (*Result, error) {
	r, err := check(m, o)
	// Of several processes, the one that leads has what is drawn.
	if err == nil && r.Violation != nil && o.HTML != "" &&
		(r.Violation.page != nil || r.Violation.Steps == 0) {
		err = r.Violation.writeHTML(o.HTML)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// check is Check without a page.
func check(m *Model, o Options) (*Result, error) {
	machine, err := newMachine(m)
	if err == nil && o.session == nil {
		o.session, err = apart.Environment()
	}
	if err != nil {
		return nil, err
	}
	start := time.Now()
	whole := ""
	switch {
	case o.Search > IDAStar:
		return nil, fmt.Errorf("there is no %v: choose one of the constants", o.Search)
	case o.session != nil:
		return checkApart(machine, o, start)
	case o.External != "" && o.Search != BreadthFirst:
		return nil, errNotExternal
	case o.Resume != "" && o.Search >= Local:
		return nil, errNotKept
	case o.Search >= BestFirst:
		return checkDirected(machine, o, start)
	case o.Search == Local:
		r, err := checkLocally(machine, o, start)
		if err != nil || r.Reason != local.Endless {
			return r, err
		}
		whole = local.Endless
	}
	bounds := newBounds(o, start)
	defer bounds.teller.Close()
	c := newSearch(machine, o, bounds)
	if o.Reduce && whole == "" {
		var reason string
		if reason, whole, err = reduce(machine, &c, o, bounds); err != nil || reason != "" {
			return &Result{Reason: reason}, err
		}
	}
	if o.External != "" {
		if c.Disk, err = newDisk(o, bounds.Memory); err != nil {
			return nil, err
		}
		defer meter.Hold(bounds.Memory, uint64(c.Disk.Sizes.Table))()
	}
	var k *keeper
	if o.Resume != "" {
		if k, err = newKeeper(machine, o, &c); err != nil {
			return nil, err
		}
	}
	found, err := global.Search(c)
	if err != nil {
		return nil, explainError(machine, k, err)
	}
	r, err := newResult(machine, c, found, whole, start)
	if err == nil && k != nil {
		err = k.end(r)
	}
	return r, errors.Join(err, found.Release(r == nil || r.Reason != ""))
}

// newResult is what a search has found.
func newResult(machine *machine, c global.Config, found *global.Result, whole string,
	start time.Time) (*Result, error) {
	r := &Result{Progress: progress(found.Progress, start), Reason: found.Reason, Whole: whole}
	r.Locals, r.Messages, r.Handlers = c.Table.Sizes()
	r.Unreached = machine.judge.unreached(found.Reached)
	if found.Violation != nil {
		var err error
		if r.Violation, err = machine.explain(c, found.Violation); err != nil {
			return nil, err
		}
	}
	r.conclude()
	return r, nil
}

// explainError says of an error what can be done.
func explainError(m *machine, k *keeper, err error) error {
	var damaged *external.DamagedError
	var full *external.WriteError
	switch {
	case errors.Is(err, global.ErrKept):
		return k.file.Damaged()
	case k != nil && (errors.As(err, &damaged) || errors.Is(err, global.ErrStates)):
		return fmt.Errorf("%w; remove %s to begin again", err, k.file)
	case k != nil && k.isSaved && errors.As(err, &full):
		return fmt.Errorf("%w; then the next check goes on from %s", err, k.file)
	}
	return likeness{m}.explainAsymmetry(err)
}

// errAlike is of searches that know no symmetry.
var errAlike = errors.New("a local or reduced search knows no alike nodes: leave out Reduce or Local, or " +
	"Alike of the model")

// conclude sets the verdict.
func (r *Result) conclude() {
	switch {
	case r.Violation != nil, r.Reason == "" && len(r.Unreached) > 0:
		r.Verdict = Violated
	case r.Reason == "":
		r.Verdict = Holds
	}
}

// reduce has a search explore stubborn sets only. A reason says why the fixpoint was not complete.
// If it has no end, the search goes through all states, and whole says so.
func reduce(m *machine, c *global.Config, o Options, b *bounds) (reason, whole string, err error) {
	switch {
	case len(m.exchanges) > 0:
		return "", "", errAlike
	case c.Faults.Partitions != 0:
		return "", "", errors.New("a partition is dependent on all else: leave out Reduce, or partitions")
	}
	r, reason, err := local.NewReduction(&c.System, local.ReductionConfig{
		Judges:       m.judge.has(always, sometimes),
		WholeSenders: o.Without&ReplySplit != 0, WholeQuorums: o.Without&QuorumSplit != 0,
		Stop: b.stopEvents,
	})
	if reason == local.Endless {
		// What no run reaches is forgotten.
		*c = newSearch(m, o, b)
		return "", reason, err
	}
	if r != nil {
		c.Select, c.Proviso = r.Select, r.Proviso
	}
	return reason, "", err
}

// newSearch is a search through all global states.
func newSearch(m *machine, o Options, b *bounds) global.Config {
	c := newConfig(m)
	c.DepthFirst, c.Depth, c.Workers, c.Stop = o.Search == DepthFirst, o.Depth, o.Workers, b.stop
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	// A stack is that of one.
	if c.DepthFirst {
		c.Workers = 1
	}
	c.Alike = likeness{m}.alikeConfig(c.Table)
	return c
}

// newConfig is a search without bounds.
func newConfig(m *machine) global.Config {
	c := global.Config{System: system.System{
		Table: table.New(len(m.model.Nodes), m.model.Network == Ordered, m), Nodes: len(m.model.Nodes),
		Ordered: m.model.Network == Ordered, Duplicating: m.model.Network == Duplicating,
		Faults: system.Faults(m.model.Faults),
	}, Workers: 1}
	if m.judge.has(always, sometimes) {
		c.Judge = m.judge.state
	}
	if m.judge.has(eventually) {
		c.JudgeEnd = m.judge.end
	}
	return c
}

// unreached are properties made by Sometimes that have no bit.
func (j *judge) unreached(reached uint64) (names []string) {
	for i, p := range j.properties {
		if p.kind == sometimes && reached>>i&1 == 0 {
			names = append(names, p.name)
		}
	}
	return names
}

// progress is that of a search as others see it.
func progress(p global.Progress, start time.Time) Progress {
	return Progress{States: p.States, Depth: p.Depth, Transitions: p.Transitions, Bytes: p.Bytes,
		Disk: p.Disk, Frontier: max(0, p.States-p.Expanded), Elapsed: time.Since(start)}
}
