package check

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/far"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
)

// Searches are the names of the searches that a request can ask for. Messages list them in this
// order, the default first.
func Searches() []string {
	return []string{"auto", "dpor", "dfs", "random", "pct", "pos", "surw", "directed"}
}

// SearchRequest names a search.
type SearchRequest struct {
	Name     string // one of Searches
	Seed     uint64 // of auto, random, pct, pos and surw
	PCTDepth int    // of pct: how many orders of two operations the bugs need that it looks for
	// Punctual has auto run no execution in which timers fire early, unless the environment allows
	// that in all.
	Punctual bool
}

// Distribution says which workers in other processes help with a check.
type Distribution = far.Options

// Distributed is what there is to know of a NATS server: the check that is led there, and workers.
type Distributed = far.Status

// Work and StatusOf are what tandem worker and tandem status do.
var Work, StatusOf = far.Work, far.StatusOf

// earlyTimers is how often timers fire early in some of the executions of auto.
const earlyTimers = 2

// newSearch makes the search that is asked for, within bounds. Before says how much of the time is
// used up already, by a run that goes on.
func (q SearchRequest) newSearch(b configs.Bounds, before time.Duration) (*explore.Search, error) {
	c := explore.Config{
		Executions: b.Executions, Seed: q.Seed, Depth: q.PCTDepth,
		Preemptions: b.Preemptions, Delays: b.Delays,
	}
	switch q.Name {
	case "auto":
		if c.Algorithm = explore.Auto; !q.Punctual {
			c.EarlyTimers = earlyTimers
		}
	case "dpor":
		if c.Algorithm = explore.DPOR; b.Delays != nil {
			c.Algorithm = explore.DFS // see assumed
		}
	case "dfs":
		c.Algorithm = explore.DFS
	case "random":
		c.Algorithm = explore.Random
	case "pct":
		if q.PCTDepth < 1 || q.PCTDepth > explore.MaxDepth {
			return nil, fmt.Errorf("--pct-depth %d is not allowed: give a number from 1 to %d",
				q.PCTDepth, explore.MaxDepth)
		}
		c.Algorithm = explore.PCT
	case "pos":
		c.Algorithm = explore.POS
	case "surw":
		c.Algorithm = explore.SURW
	case "directed":
		c.Algorithm = explore.Directed
	default:
		last := len(Searches()) - 1
		return nil, fmt.Errorf("--search %s: there is no such search: choose %s or %s",
			q.Name, strings.Join(Searches()[:last], ", "), Searches()[last])
	}
	s, err := explore.New(c)
	if err != nil {
		return nil, err
	}
	s.Until(explore.MaxExecutions(b.Executions))
	s.Until(outOfTime(b.Time, before))
	return s, nil
}

// outOfTime ends a search after a time, which begins with the first execution: what has to be built
// before does not count.
func outOfTime(most, before time.Duration) explore.Stop {
	var deadline time.Time
	return func(explore.Verdict) string {
		now := time.Now()
		if deadline.IsZero() {
			deadline = now.Add(most - before)
		}
		if now.Before(deadline) {
			return ""
		}
		return fmt.Sprintf("the time of %v is over", most)
	}
}

// assumed is what a verdict rests on because of its bounds, for reports.
func (q SearchRequest) assumed(b configs.Bounds) []string {
	var bounds []string
	if n := b.Preemptions; n != nil {
		bounds = append(bounds, fmt.Sprintf("preemptions in an execution: at most %d", *n))
	}
	if n := b.Delays; n != nil {
		bounds = append(bounds, fmt.Sprintf("delays in an execution: at most %d", *n))
	}
	if len(bounds) == 0 {
		return nil
	}
	line := strings.Join(bounds, "; ")
	if (q.Name == "dpor" || q.Name == "auto") && b.Delays != nil {
		line += " (dfs instead of dpor: within a bound on delays every schedule is run)"
	}
	return []string{line}
}

// usefulWorkers is how many workers a search gets: so many as are asked for, or one with a group
// of peers, of which several would ask for different things by turns. Otherwise each processor
// gets one that the process may use, in a container as many as its limit on processor time is
// worth: that is what GOMAXPROCS is, unless somebody has set it.
func usefulWorkers(config configs.Config) int {
	if config.Workers > 0 || config.Group != nil {
		return max(config.Workers, 1)
	}
	return runtime.GOMAXPROCS(0)
}

// raised are the flags with which a search that a bound has ended gets further: ten times as far.
func raised(b configs.Bounds, result *Result) string {
	return raisedBy(b, result.Verdict.Executions, result.Counts.Elapsed)
}

// raisedBy is raised for a check that has come so far.
func raisedBy(b configs.Bounds, executions int, elapsed time.Duration) string {
	const by = 10
	switch {
	case executions >= b.Executions && b.Executions < configs.MaxExecutions:
		return fmt.Sprint(" --executions ", min(by*b.Executions, configs.MaxExecutions))
	case elapsed >= b.Time && b.Time < configs.MaxTime:
		return fmt.Sprint(" --time ", min(by*b.Time, configs.MaxTime))
	}
	return ""
}
