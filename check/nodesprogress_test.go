package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestTellNodes: who waits for nodes is told how far they are, also while a violation is made
// simpler, and nothing after the end.
func TestTellNodes(t *testing.T) {
	told := make(chan Progress)
	var c nodes.Config
	ended := make(chan struct{})
	end := tellNodes(&c, Listener{Progress: func(p Progress) {
		select {
		case told <- p:
		case <-ended:
		}
	}}, time.Now().Add(-time.Hour))
	c.Progress.Ran(7)
	c.Progress.Simpler(3, 400)
	p := <-told
	for p.Limit == 0 { // it was before the calls
		p = <-told
	}
	if p.Verdict.Executions != 7 || p.Tried != 3 || p.Limit != 400 || p.Counts.Elapsed < time.Hour {
		t.Errorf("it is told %+v", p)
	}
	close(ended)
	end()
	tellNodes(&c, Listener{}, time.Now())() // nobody waits
}

// TestTellSimpler: what is told while a violation is made simpler has the counts of the search, and
// is not told for each execution.
func TestTellSimpler(t *testing.T) {
	var told []Progress
	r := run{clock: clock{started: time.Now()}}
	r.tellSimpler(1, 400) // nobody waits
	r.options.Progress = func(p Progress) { told = append(told, p) }
	r.done.Verdict = explore.Verdict{Executions: 12}
	r.tellSimpler(2, 400)
	r.clock.told = time.Now().Add(time.Hour)
	r.tellSimpler(3, 400)
	if len(told) != 1 || told[0].Tried != 2 || told[0].Limit != 400 || told[0].Verdict.Executions != 12 {
		t.Errorf("it is told %+v", told)
	}
}

// TestPhasesOf: a search that is no portfolio has no line; numbers have commas.
func TestPhasesOf(t *testing.T) {
	p := explore.Phases{}
	if got := phasesOf(p); got != "" {
		t.Errorf("%q of a search that has done nothing", got)
	}
	p.Systematic, p.Aimed, p.Sampled, p.At = 134227, 1, 2000, 3000
	const want = "search auto: 134,227 systematic, 1 aimed and 2,000 sampled executions; the first " +
		"violation was execution 3,000, which was systematic"
	if got := phasesOf(p); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNodesAssumed: a verdict on nodes names what it rests on, where it is no violation.
func TestNodesAssumed(t *testing.T) {
	p := &sut.Program{}
	p.Races = []string{"main"}
	c := nodes.Config{Nodes: []nodes.Node{{Name: "a", Program: p}, {Name: "b", Program: p}},
		Crash: given.Crash{Pauses: []int{0, 1}, PauseLimit: 2}, Leaks: true}
	c.Worker.Environment.Start = 86400
	for verdict, want := range map[model.Verdict]bool{model.Holds: true, model.Unknown: true,
		model.Violated: false} {
		got := nodesRun(c, &nodes.Result{Verdict: verdict}).Assumptions.Other
		for _, line := range []string{"data races are looked for in: main", "goroutine leaks are looked for",
			"the clock of the nodes starts at 1970-01-02 00:00:00 UTC", "a write never waits for who reads"} {
			if slices.Contains(got, line) != want {
				t.Errorf("%v: %q is assumed: %t, want %t", verdict, line, !want, want)
			}
		}
		if text := strings.Join(got, "\n"); strings.Contains(text, "a, b is paused at most 2 times") != want {
			t.Errorf("%v: of pauses is said %q", verdict, text)
		}
	}
	c.Leaks, p.Races = false, nil
	if got := nodesAssumed(&c); got[0] != "there are no data races: they are not looked for" ||
		got[1] != "goroutine leaks are not looked for" {
		t.Errorf("it is assumed %q", got)
	}
	if report.Verdict(model.Unknown.String()) != report.Unknown {
		t.Error("verdicts have other names in reports")
	}
}
