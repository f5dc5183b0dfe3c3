// Package explore decides which schedule a program under test runs next. It is
// given the log of every finished execution and answers with the next schedule
// or, in the end, with the verdict. It does no I/O, starts no goroutine, reads
// no clock, and knows nothing of sockets or processes.
package explore

import (
	"errors"
	"fmt"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/dfs"
	"github.com/tandem-mc/tandem/explore/internal/directed"
	"github.com/tandem-mc/tandem/explore/internal/dpor"
	"github.com/tandem-mc/tandem/explore/internal/portfolio"
	"github.com/tandem-mc/tandem/explore/internal/random"
	"github.com/tandem-mc/tandem/internal/invariant"
)

// Algorithm is a way to search through the executions of a program.
type Algorithm uint8

// The algorithms.
const (
	// DPOR runs one execution for each partial order: dynamic partial-order reduction with source
	// sets, sleep sets and wakeup trees (package dpor). Within a bound on preemptions it uses
	// another reduction, which repeats some partial orders.
	DPOR Algorithm = iota
	// DFS runs every execution, depth first. It is for small programs, and the twin against which
	// DPOR is tested.
	DFS
	// Random runs a number of executions with pseudo-random schedules. It finds violations, but
	// cannot exclude them.
	Random
	// PCT runs a number of executions with random priorities, and states with which probability
	// they show a bug (Guarantee).
	PCT
	// POS runs a number of executions by partial order sampling: with random priorities of pending
	// operations, which change where operations conflict.
	POS
	// SURW runs a number of executions by selectively uniform random walks: each has all orders of
	// the accesses to some objects equally likely.
	SURW
	// Replay runs one execution, which begins with given actions.
	Replay
	// Auto is a portfolio of searches (package portfolio): schedules aimed at what earlier
	// executions hint at, random ones, and DPOR, or what takes its place within bounds.
	Auto
	// Directed runs executions best first: it goes on where a state seems nearest to a violation.
	// It takes one execution for each partial order, and some that are cut off; within bounds it
	// takes every execution.
	Directed
	algorithms // their number
)

var algorithmNames = [algorithms]string{DPOR: "dpor", DFS: "dfs", Random: "random", PCT: "pct",
	POS: "pos", SURW: "surw", Replay: "replay", Auto: "auto", Directed: "directed"}

func (a Algorithm) String() string {
	if a >= algorithms {
		return fmt.Sprintf("algorithm %d", uint8(a))
	}
	return algorithmNames[a]
}

// Config says which executions a search runs. The zero value is DPOR without bounds.
type Config struct {
	Algorithm Algorithm
	// Executions is how many there are of Random, PCT, POS and SURW. Of Auto, it says how many
	// there may be, for a Stop to enforce: as long as DPOR can be expected to end within that, few
	// are run beside it. Zero: there is no bound.
	Executions int
	Seed       uint64   // of the same and of Auto: equal seeds give equal schedules
	Depth      int      // PCT: of the bugs that its guarantee is about, from 1 to MaxDepth
	Prefix     []Action // Replay: with what the execution begins
	// EarlyTimers is how often the clock may advance early: in the execution of Replay, or in some
	// of those that Auto runs beside DPOR's.
	EarlyTimers int
	// Preemptions bounds how often a goroutine that could go on is taken off in one execution
	// (Musuvathi and Qadeer: Iterative Context Bounding for Systematic Testing of Multithreaded
	// Programs, PLDI 2007). Nil is no bound. A replay cannot be bounded.
	Preemptions *int
	// Delays bounds how often the goroutine that comes next is passed over in one execution (Emmi,
	// Qadeer, Rakamaric: Delay-Bounded Scheduling, POPL 2011). Nil is no bound. No reduction is
	// known to be sound within it, so neither DPOR nor a replay can be bounded.
	Delays *int
}

// Search is a search through the executions of a program. Calls alternate: Next, one execution that
// follows the schedule, Report, Next, ... Instead of running the execution, Merge may take over
// what a Subtree has explored. A Search is used by one goroutine at a time.
type Search struct {
	core  core.Search
	tree  core.Tree     // core, if its executions form a tree; else nil: it cannot be split
	drawn core.Drawn    // core, if schedules are known beforehand; else nil
	saved core.Saveable // core, if its state can be saved; else nil

	naming naming

	bounds core.Bounds
	stops  []Stop
	ended  bool
	reason string // why a Stop has ended it
}

// New returns a search that has run nothing yet. The error says what is wrong with the
// configuration.
func New(c Config) (*Search, error) {
	b, err := c.bounds()
	if err != nil {
		return nil, err
	}
	s := &Search{bounds: b, naming: naming{possible: c.canNameStates()}}
	switch c.Algorithm {
	case DPOR:
		s.use(c.systematic(b))
	case DFS:
		s.use(dfs.New(b))
	case Random:
		s.use(random.New(c.Executions, c.Seed, b))
	case PCT:
		s.use(random.NewPCT(c.Executions, c.Depth, c.Seed, b))
	case POS:
		s.use(random.NewPOS(c.Executions, c.Seed, b))
	case SURW:
		s.use(random.NewSURW(c.Executions, c.Seed, b))
	case Replay:
		s.use(core.NewReplay(c.Prefix, c.EarlyTimers))
	case Auto:
		auto := portfolio.New(c.systematic(b), c.Seed, c.EarlyTimers, b)
		auto.Most = c.Executions
		s.use(auto)
	case Directed:
		s.use(directed.New(b))
	default:
		return nil, fmt.Errorf("there is no search of the kind %v", c.Algorithm)
	}
	return s, nil
}

// systematic is the search that says whether anything is left, with the best reduction that is
// sound within the bounds.
func (c *Config) systematic(b core.Bounds) core.Tree {
	switch {
	case c.Delays != nil:
		return dfs.New(b)
	case c.Preemptions != nil:
		return dfs.NewBounded(b)
	}
	return dpor.New()
}

// use takes a search, and notes what it can do besides.
func (s *Search) use(c core.Search) {
	s.core = c
	s.tree, _ = c.(core.Tree)
	s.drawn, _ = c.(core.Drawn)
	s.saved, _ = c.(core.Saveable)
}

// bounds checks a configuration, and returns its bounds.
func (c *Config) bounds() (core.Bounds, error) {
	limited := c.Preemptions != nil || c.Delays != nil
	switch {
	case c.Preemptions != nil && *c.Preemptions < 0 || c.Delays != nil && *c.Delays < 0:
		return core.Bounds{}, errors.New("a bound on preemptions or delays is negative")
	case c.Algorithm == Replay && limited:
		return core.Bounds{}, errors.New("a replay follows its schedule: it cannot be bounded")
	case c.Algorithm == DPOR && c.Delays != nil:
		return core.Bounds{}, errors.New("no reduction is sound within a bound on delays: use DFS instead " +
			"of DPOR")
	case c.Algorithm == PCT && (c.Depth < 1 || c.Depth > MaxDepth):
		return core.Bounds{}, fmt.Errorf("PCT has a depth from 1 to %d, and not %d", MaxDepth, c.Depth)
	}
	b := core.Bounds{Limits: Limits{Preemptions: c.Preemptions, Delays: c.Delays}}
	if n := c.Preemptions; n != nil {
		b.Within = append(b.Within, atMost(*n, "preemption"))
	}
	if n := c.Delays; n != nil {
		b.Within = append(b.Within, atMost(*n, "delay"))
	}
	return b, nil
}

// Next returns the schedule to run next, or false when the search has ended. The schedule is valid
// until the next call of Report. Next must not be called again before that.
func (s *Search) Next() (Schedule, bool) {
	if s.ended {
		return Schedule{}, false
	}
	reason := s.stoppedAt(s.counted())
	schedule, more := s.naming.next(s.core, reason == "")
	switch {
	case !more: // it has ended by itself, perhaps exactly where it was to stop
		s.ended = true
	case reason != "":
		s.ended, s.reason = true, reason
	default:
		return schedule, true
	}
	return Schedule{}, false
}

// Report takes the log of the execution that Next asked for and keeps no
// reference to it. An error means that the log contradicts the schedule or
// itself (DivergenceError, LogError); the search must not be used further.
func (s *Search) Report(e Execution) error {
	others := 0
	if s.naming.covers {
		others = s.counted().Executions
	}
	return s.naming.report(s.core, e, others)
}

// CanNameStates reports whether NameStates has an effect: it has none within bounds on preemptions
// or delays, and where the search draws its schedules or goes best first.
func (s *Search) CanNameStates() bool { return s.naming.possible }

// NameStates has executions end where the program comes to a state that it has named before
// (tandem.State). Then all schedules whose logs the search learns from for certain have States.
// Some executions that have ended so are run further: to find livelocks, and to test the promise of
// the program. The search is not split any more. NameStates is called before the search begins or
// is resumed.
func (s *Search) NameStates() { s.naming.begin(MaxStates) }

// NamesStates reports whether executions end at known states.
func (s *Search) NamesStates() bool { return s.naming.states != nil }

// Verdict tells what is known so far; after Next returned false it is final.
func (s *Search) Verdict() Verdict { return s.explain(s.core.Verdict()) }

func (s *Search) counted() Verdict { return s.explain(s.core.Counted()) }

func (s *Search) explain(v Verdict) Verdict {
	s.naming.explain(&v)
	if s.reason != "" && v.Kind != Holds { // what is covered stays covered
		v.Reason = s.reason
	}
	return v
}

// Forecast is how many more executions are expected to leave the previous one where the execution
// that Next asked for does: as many for each branch that is planned there as there were on average
// for those explored there. It may be called after Next. It is a guess for who weighs costs, and 0
// for a search that does not branch.
func (s *Search) Forecast() float64 {
	if s.tree == nil {
		return 0
	}
	return s.tree.Forecast()
}

// Prefetch lists at most n schedules that Next will return later, the next one first: others may
// run them meanwhile. It may be called after Next, before the execution is reported. It lists no
// schedule twice, and keeps no reference to them. Only searches whose schedules are drawn at random
// know them beforehand; others are split (Split). Directed lists its best branches, but better ones
// may come before them.
//
// The search does not depend on it: when it gets there, Next returns the schedule as if nobody had
// run it. If the search ends before that, the work was wasted, and nothing else.
func (s *Search) Prefetch(n int) []Schedule {
	if s.drawn == nil {
		return nil
	}
	return s.drawn.Prefetch(n)
}

// Split takes a branch out of what the search has still to explore; nil if there is none, or the
// search has no branches. The size says which, as far as can be told. Split may be called when Next
// may be, or after Next before the execution is reported.
func (s *Search) Split(size Size) *Subtree {
	if s.tree == nil || s.naming.states != nil {
		return nil
	}
	return s.tree.Split(size)
}

// Arrived is the subtree that the search has reached; nil if there is none. It may be called after
// Next: the execution that Next asked for is the first one of the subtree. Either Merge takes over
// what was explored there, or that execution is run and reported; then the search explores the
// branch itself, and the subtree is cancelled.
func (s *Search) Arrived() *Subtree {
	if s.tree == nil || s.naming.states != nil {
		return nil
	}
	return s.tree.Arrived()
}

// Merge takes over what was explored in the subtree that the search has reached, in place of the
// execution that Next asked for; now Next can be called again. The subtree must not be used any
// more. False means that it was not taken over: then the execution is to be run, and the subtree is
// cancelled.
func (s *Search) Merge(p *Subtree) bool {
	if s.tree == nil || p.Cancelled || p.Search.Counted().Executions == 0 {
		return false
	}
	v := s.counted()
	v.Add(p.Before)
	return s.stoppedAt(v) == "" && s.tree.Merge(p)
}

// Cancelled lists the subtrees that were cancelled since the last call: nobody needs to go on with
// them.
func (s *Search) Cancelled() []*Subtree {
	if s.tree == nil {
		return nil
	}
	return s.tree.Cancelled()
}

// Recycle gives the search the memory of a subtree that was cancelled or not merged. Nobody uses
// the subtree any more.
func (s *Search) Recycle(p *Subtree) {
	invariant.Check(s.tree != nil, "explore: a subtree is recycled in a search that has none")
	s.tree.Recycle(p)
}
