package main

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
	"github.com/tandem-mc/tandem/sut/suttest"
)

// The bounds of each search. No search of the gallery needs as many executions:
// that it ends by itself is a part of what is tested.
const (
	maxExecutions = 20_000
	maxDepth      = 2_000
)

// TestGallery searches all programs of the gallery. In those with a bug it has to
// find that bug and no other; the fixed ones have to hold, in all executions.
func TestGallery(t *testing.T) {
	program := build(t)
	findings := map[string]finding{}
	for _, b := range bugs() {
		t.Run(b.Name, func(t *testing.T) {
			var f finding
			var buggy, fixed *check.Result
			buggy, f.buggy = search(t, program, b.Shows == bug.Leak, b.Name)
			fixed, f.fixed = search(t, program, true, b.Name, "-fixed")
			if got := violation(buggy); got != b.Shows {
				t.Errorf("the program with the bug: %q after %d executions (%s), want %q", got, f.buggy,
					buggy.Verdict.Reason, b.Shows)
			}
			if fixed.Verdict.Kind != explore.Holds {
				t.Errorf("the fixed program: %v after %d executions (%s), %s", fixed.Verdict.Kind, f.fixed,
					fixed.Verdict.Reason, violation(fixed))
			}
			t.Logf("%s: %d executions with the bug, %d without it", b.Name, f.buggy, f.fixed)
			findings[b.Name] = f
		})
	}
	if !t.Failed() && len(findings) == len(bugs()) {
		compareTables(t, program.Version, findings)
	}
}

// TestNames: the gallery can be asked for each exhibit by its name.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range bugs() {
		if b.Name == "" || b.Class == "" || b.Doc == "" || b.Shows == "" || b.Buggy == nil || b.Fixed == nil {
			t.Errorf("%q is not complete", b.Name)
		}
		if seen[b.Name] {
			t.Errorf("%s is there twice", b.Name)
		}
		seen[b.Name] = true
	}
	if len(seen) < 60 {
		t.Errorf("the gallery has %d bugs, it is to have 60 at least", len(seen))
	}
	for _, args := range [][]string{nil, {"-fixed"}, {"no-such-bug"}, {"ab-ba", "philosophers"},
		{"-unknown"}} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("arguments %q: error %v, want one that says how a name is given", args, err)
		}
	}
}

func build(t *testing.T) *sut.Program {
	t.Helper()
	return suttest.Build(t, sut.BuildOptions{Dir: ".", Package: ".", Races: []string{sut.RacesMain}})
}

// search checks a program of the gallery, leaks included.
func search(t *testing.T, program *sut.Program, leaks bool, args ...string,
) (result *check.Result, executions int) {
	t.Helper()
	result = explored(t, program, explore.DPOR, maxExecutions, leaks, args...)
	return result, result.Verdict.Executions
}

func explored(t *testing.T, program *sut.Program, a explore.Algorithm, most int, leaks bool,
	args ...string) *check.Result {
	t.Helper()
	s, err := explore.New(explore.Config{Algorithm: a})
	if err != nil {
		t.Fatal(err)
	}
	s.Until(explore.MaxExecutions(most))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := check.Run(ctx, check.Options{
		Program: program, Package: "./examples/gallery", Args: args,
		Search: s, Depth: maxDepth, Leaks: leaks, SelfCheck: 10,
		PeerOptions: check.PeerOptions{Strategy: strategy.Never{}, StrategyName: "never"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

var deep = flag.Bool("deep", false, "run more cases, as `make deep` does")

// TestReductionAgrees enumerates the schedules of all programs that have few. The
// verdict is that of the reduced search.
func TestReductionAgrees(t *testing.T) {
	program := build(t)
	enumerated, most := 0, 60
	if *deep {
		most = 500
	}
	for _, b := range bugs() {
		for _, args := range [][]string{{b.Name}, {b.Name, "-fixed"}} {
			leaks := len(args) > 1 || b.Shows == bug.Leak
			all := explored(t, program, explore.DFS, most, leaks, args...).Verdict
			if all.Kind == explore.Unknown {
				continue
			}
			enumerated++
			if v := explored(t, program, explore.DPOR, maxExecutions, leaks,
				args...).Verdict; v.Kind != all.Kind {
				t.Errorf("%v: %v (%s), and by the enumeration of its schedules %v", args, v.Kind, v.Reason,
					all.Kind)
			}
		}
	}
	t.Logf("%d of %d programs have at most %d schedules, or a bug in one of the first %[3]d", enumerated,
		2*len(bugs()), most)
	if enumerated < len(bugs()) {
		t.Error("too few programs were compared")
	}
}

// violation is how the last execution of a search ended, in the gallery's words.
func violation(r *check.Result) bug.Violation {
	if r.Recording == nil {
		return ""
	}
	if r.Recording.Expect.Outcome == sut.Fatal.String() {
		return bug.Panic
	}
	return bug.Violation(r.Recording.Expect.Outcome)
}
