package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
)

// newSearch makes the search that the flags ask for.
func (f *checkFlags) newSearch(b configs.Bounds) (explore.Search, error) {
	var s explore.Search
	switch f.search {
	case "dpor":
		if s = explore.DPOR(); b.Delays != nil {
			s = explore.DFS() // see assumed
		}
	case "dfs":
		s = explore.DFS()
	case "random":
		s = explore.Random(b.Executions, f.seed)
	case "pct":
		if f.pctDepth < 1 || f.pctDepth > explore.MaxDepth {
			return nil, fmt.Errorf("--pct-depth %d is not allowed: give a number from 1 to %d", f.pctDepth, explore.MaxDepth)
		}
		s = explore.PCT(b.Executions, f.pctDepth, f.seed)
	default:
		return nil, fmt.Errorf("--search %s: there is no such search: choose dpor, dfs, random or pct", f.search)
	}
	return f.bounded(s, b), nil
}

// ownWorkers is how many workers a search gets when nobody says. Peers there are only once: several
// workers would have them go back and forth between what each of them asks for.
func ownWorkers(config configs.Config) int {
	if config.Group != nil {
		return 1
	}
	return runtime.NumCPU()
}

// leavesOut reports whether bounds leave executions out for what is picked in them.
func leavesOut(b configs.Bounds) bool { return b.Preemptions != nil || b.Delays != nil }

// assumed is what a verdict rests on by its bounds, for reports.
func (f *checkFlags) assumed(b configs.Bounds) []string {
	if !leavesOut(b) {
		return nil
	}
	var bounds []string
	if n := b.Preemptions; n != nil {
		bounds = append(bounds, fmt.Sprintf("preemptions in an execution: at most %d", *n))
	}
	if n := b.Delays; n != nil {
		bounds = append(bounds, fmt.Sprintf("delays in an execution: at most %d", *n))
	}
	line := strings.Join(bounds, "; ")
	if f.search == "dpor" && b.Delays != nil {
		line += " (dfs instead of dpor: within a bound on delays every schedule is run)"
	}
	return []string{line}
}

// bounded ends a search after a number of executions and a time, which begins with
// the first of them: what has to be built before does not count. What the run took
// before it was resumed does.
func (f *checkFlags) bounded(s explore.Search, b configs.Bounds) explore.Search {
	if b.Preemptions != nil {
		s = explore.MaxPreemptions(s, *b.Preemptions)
	}
	if b.Delays != nil {
		s = explore.MaxDelays(s, *b.Delays)
	}
	var deadline time.Time
	return explore.Until(explore.MaxExecutions(s, b.Executions), func(explore.Verdict) string {
		now := time.Now()
		if deadline.IsZero() {
			deadline = now.Add(b.Time - f.elapsed)
		}
		if now.Before(deadline) {
			return ""
		}
		return fmt.Sprintf("the time of %v is over", b.Time)
	})
}
