package text

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report"
)

func TestGrouped(t *testing.T) {
	for _, c := range [][2][]string{
		{{"main", "a.b/c", "a.b/c/d"}, {"main", "a.b/c", "a.b/c/d"}},
		{{"main", "a.b/c/d", "a.b/c/e", "a.b/c", "a.b/c/d/e", "a.b/c/f", "a.b/cc"},
			{"main", "a.b/c, and 4 packages below it", "a.b/cc"}},
		// what is above is not among them
		{{"a.b/c/1", "a.b/c/2", "a.b/c/3", "a.b/c/4"}, {"a.b/c/1", "a.b/c/2", "a.b/c/3", "a.b/c/4"}},
		{{"a/...", "/", "", "."}, {"a/...", "/", "", "."}},
	} {
		if diff := cmp.Diff(c[1], grouped(c[0])); diff != "" {
			t.Errorf("%q:\n%s", c[0], diff)
		}
	}
}

// TestEveryCountIsShown: what a search with peers has counted is in its summary, and what is none
// is not.
func TestEveryCountIsShown(t *testing.T) {
	run := report.Run{
		Package: "./x", Verdict: report.Unknown, Reason: "the time of 1s is over",
		Details: []string{"about 3 of 4 schedules"}, CutOff: "depth at main.go:3\ntime",
		Counts: report.Counts{
			Executions: 1234, Limited: 2, Redundant: 30, Transitions: 56789, SelfChecked: 1,
			Elapsed:   2 * time.Second,
			CacheHits: 900, CacheMisses: 1100, ReadInputs: 1, Reads: "web: time 2",
			Uninstrumented: []string{"/bin/static"},
			Waits:          5, Cuts: 10, CutTime: 10 * time.Millisecond, Quiescence: "ebpf",
			CheckpointCounts: report.CheckpointCounts{
				Checkpoints: 7, InMemory: 6, Refusal: "peer 7 has a child", Unstored: 1,
				WhyUnstored: "the disk is full",
				MadeRoom:    2, Room: 64 << 20, Skipped: 3, WhySkipped: "a connection waited", Killed: 1,
				WhyKilled: "signal 9", Disturbed: 1, Restores: 8, Replayed: 9,
			},
		},
		Assumptions: report.Assumptions{
			Strategy: "after-io", Scope: "group", Backend: "auto", Preemptible: []string{"a.b/c"},
			Other: []string{"no faults"},
		},
		ResumeCommand: "tandem check --resume x",
	}
	var full, empty strings.Builder
	if err := WriteSummary(&full, run, report.Options{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "summary_full.txt", full.String())
	run.Counts = report.Counts{Executions: 1, Elapsed: time.Millisecond}
	if err := WriteSummary(&empty, run, report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"redundant", "executions/s", "made room", "lost", "given again",
		"not known"} {
		if strings.Contains(empty.String(), absent) {
			t.Errorf("%q is said of a search without peers:\n%s", absent, empty.String())
		}
	}
}

// TestWhyLost: what is known of lost peers is their first line, and all of it if more is wanted.
func TestWhyLost(t *testing.T) {
	lost := report.CheckpointCounts{Killed: 1, WhyKilled: "no reply\nits goroutines are in f"}
	run := report.Run{Package: "./x", Verdict: report.Holds,
		Counts:      report.Counts{Executions: 1, CacheMisses: 1, CheckpointCounts: lost},
		Assumptions: report.Assumptions{Strategy: "after-io", Scope: "group", Backend: "auto"}}
	for verbose, want := range map[bool]string{
		false: "    the first time: no reply (--verbose says more)\n",
		true:  "    the first time: no reply\n      its goroutines are in f\n",
	} {
		var b strings.Builder
		if err := WriteSummary(&b, run, report.Options{Verbose: verbose}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, want) || strings.Contains(got, "goroutines") != verbose {
			t.Errorf("verbose %v:\n%s", verbose, got)
		}
	}
}

// TestBackends: it is said who took the checkpoints, if there were any.
func TestBackends(t *testing.T) {
	for want, c := range map[string]report.CheckpointCounts{
		"":                          {},
		" in memory":                {Checkpoints: 3, InMemory: 3},
		" by CRIU":                  {Checkpoints: 3},
		" (1 in memory, 2 by CRIU)": {Checkpoints: 3, InMemory: 1},
	} {
		if got := backends(report.Counts{CheckpointCounts: c}); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

// TestTracesOfPortfolio: only what the systematic search has run, and neither given up nor cut off,
// stands for a class of executions.
func TestTracesOfPortfolio(t *testing.T) {
	n := report.Counts{Executions: 100, Redundant: 3, Limited: 12,
		Phases: report.Phases{Systematic: 60, Aimed: 15, Sampled: 25, CutOff: 7}}
	want := " (50 traces; 3 redundant, 40 aimed or sampled, 12 cut off)"
	if got := notTraces(n); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
