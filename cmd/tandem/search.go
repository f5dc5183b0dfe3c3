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
func (f *checkFlags) newSearch(b configs.Bounds) (*explore.Search, error) {
	c := explore.Config{
		Executions: b.Executions, Seed: f.seed, Depth: f.pctDepth, Preemptions: b.Preemptions, Delays: b.Delays,
	}
	switch f.search {
	case "dpor":
		if c.Algorithm = explore.DPOR; b.Delays != nil {
			c.Algorithm = explore.DFS // see assumed
		}
	case "dfs":
		c.Algorithm = explore.DFS
	case "random":
		c.Algorithm = explore.Random
	case "pct":
		if f.pctDepth < 1 || f.pctDepth > explore.MaxDepth {
			return nil, fmt.Errorf("--pct-depth %d is not allowed: give a number from 1 to %d", f.pctDepth, explore.MaxDepth)
		}
		c.Algorithm = explore.PCT
	default:
		return nil, fmt.Errorf("--search %s: there is no such search: choose dpor, dfs, random or pct", f.search)
	}
	s, err := explore.New(c)
	if err != nil {
		return nil, err
	}
	s.Until(explore.MaxExecutions(b.Executions))
	s.Until(f.outOfTime(b.Time))
	return s, nil
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

// outOfTime ends a search after a time, which begins with the first execution: what has to be built
// before does not count. What the run took before it was resumed does.
func (f *checkFlags) outOfTime(most time.Duration) explore.Stop {
	var deadline time.Time
	return func(explore.Verdict) string {
		now := time.Now()
		if deadline.IsZero() {
			deadline = now.Add(most - f.elapsed)
		}
		if now.Before(deadline) {
			return ""
		}
		return fmt.Sprintf("the time of %v is over", most)
	}
}
