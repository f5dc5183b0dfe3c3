package gotest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
)

// TestSuite: serial subtests are searched before their parent, each by itself, and what a group
// shows is told of each of its tests.
func TestSuite(t *testing.T) {
	executions := map[string]string{
		"^TestA$": "@=== RUN   TestA\n@=== RUN   TestA/x\n@--- PASS: TestA/x (0.00s)\n" +
			"@=== RUN   TestA/y\n@--- FAIL: TestA/y (0.00s)\n@--- FAIL: TestA (0.00s)\n",
		"^TestA$/^x$": "@=== RUN   TestA\n@=== RUN   TestA/x\n@--- SKIP: TestA/x (0.00s)\n" +
			"@--- PASS: TestA (0.00s)\n",
		"^TestA$/^y$": "@=== RUN   TestA\n@=== RUN   TestA/y\n@--- FAIL: TestA/y (0.00s)\n" +
			"@--- FAIL: TestA (0.00s)\n",
		"^TestA$ but ^TestA$/^x$|^TestA$/^y$": "@=== RUN   TestA\n@--- PASS: TestA (0.00s)\n",
		"^TestB$":                             "@=== RUN   TestB\n@--- PASS: TestB (0.00s)\n",
	}
	var searched, told []string
	s := &Suite{
		Search: func(_ context.Context, g *Group, flags []string) (Found, error) {
			name := strings.TrimPrefix(strings.Join(flags, " but "), "-test.run=")
			name = strings.Replace(name, "-test.skip=", "", 1)
			searched = append(searched, name)
			if name == "^TestC$" {
				return Found{}, errors.New("it sends a signal")
			}
			stdout := output(executions[name])
			isViolation := strings.Contains(executions[name], "FAIL")
			failed, err := g.Judge(stdout, isViolation, "")
			found := Found{Verdict: explore.Verdict{Executions: 1, Complete: !isViolation}}
			for range min(len(failed), 1) {
				shown := Violation{Counterexample: &report.Counterexample{}}
				found.Violations = append(found.Violations, shown)
			}
			return found, err
		},
		Tell: func(v Verdict) error {
			text := fmt.Sprintf("%s %s", v.Name, v.Verdict)
			if v.Skipped {
				text += ", skipped"
			}
			if v.Counterexample != nil {
				text += ", shown"
			}
			told = append(told, text)
			return nil
		},
	}
	functions := []string{"TestA", "TestB", "TestC", "TestOther"}
	matched, err := s.Check(t.Context(), functions, mustParse(t, "[ABC]$"))
	if err != nil || !matched {
		t.Errorf("matched %v, %v", matched, err)
	}
	// The whole is asked for once more, since a part of it fails at once.
	want := []string{"^TestA$", "^TestA$/^x$", "^TestA$/^y$", "^TestA$",
		"^TestA$ but ^TestA$/^x$|^TestA$/^y$", "^TestB$", "^TestC$"}
	if diff := cmp.Diff(want, searched); diff != "" {
		t.Errorf("searched (-want +got):\n%s", diff)
	}
	want = []string{"TestA/x holds, skipped", "TestA/y violated, shown", "TestA violated",
		"TestB holds", "TestC error"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestSuiteEnds: after an interrupt every test that matches is unknown, an error of Tell ends it
// all, and the subtests that a refused execution has shown are searched by themselves.
func TestSuiteEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var searched, told []string
	s := &Suite{
		Search: func(_ context.Context, g *Group, flags []string) (Found, error) {
			searched = append(searched, flags...)
			if len(searched) == 1 {
				return Found{Refused: output("@=== RUN   TestA\n@=== RUN   TestA/x\n")}, errors.New("refused")
			}
			cancel()
			return Found{Interrupted: true}, context.Canceled
		},
		Tell: func(v Verdict) error {
			told = append(told, fmt.Sprintf("%s %s", v.Name, v.Verdict))
			return nil
		},
	}
	all := []string{"TestA", "TestB", "Other"}
	if matched, err := s.Check(ctx, all, mustParse(t, "Test")); err != nil || !matched {
		t.Errorf("matched %v, %v", matched, err)
	}
	if want := []string{"-test.run=^TestA$", "-test.run=^TestA$/^x$"}; !slices.Equal(searched, want) {
		t.Errorf("searched %q, want %q", searched, want)
	}
	if want := []string{"TestA unknown", "TestB unknown"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if matched, err := s.Check(t.Context(), all, mustParse(t, "Nothing")); err != nil || matched {
		t.Errorf("matched %v, %v", matched, err)
	}
	full := errors.New("the disk is full")
	s.Tell = func(Verdict) error { return full }
	if _, err := s.Check(ctx, all, mustParse(t, "")); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
}

// TestSuiteParallel: parallel subtests are searched by themselves, unless they are to be together.
// Tests that are to be skipped are not searched, and their subtests are left to the test binary.
func TestSuiteParallel(t *testing.T) {
	const one = "@=== RUN   TestA/x\n@=== PAUSE TestA/x\n@=== CONT  TestA/x\n@--- PASS: TestA/x (0.00s)\n"
	const two = "@=== RUN   TestA/y\n@=== PAUSE TestA/y\n@=== CONT  TestA/y\n@--- PASS: TestA/y (0.00s)\n"
	const begin, end = "@=== RUN   TestA\n", "@--- PASS: TestA (0.00s)\n"
	executions := map[string]string{
		"^TestA$ but B|A/z":                         begin + one + two + end,
		"^TestA$/^x$ but B|A/z":                     begin + one + end,
		"^TestA$/^y$ but B|A/z":                     begin + two + end,
		"^TestA$ but B|A/z|^TestA$/^x$|^TestA$/^y$": begin + end,
	}
	for _, together := range []bool{false, true} {
		var searched, told []string
		s := &Suite{
			Together: together, Skip: "B|A/z",
			Search: func(_ context.Context, g *Group, flags []string) (Found, error) {
				name := strings.ReplaceAll(strings.Join(flags, " but "), "-test.run=", "")
				name = strings.ReplaceAll(name, "-test.skip=", "")
				searched = append(searched, name)
				_, err := g.Judge(output(executions[name]), false, "")
				return Found{Verdict: explore.Verdict{Executions: 1, Complete: true}}, err
			},
			Tell: func(v Verdict) error {
				told = append(told, fmt.Sprintf("%s %s", v.Name, v.Verdict))
				return nil
			},
		}
		matched, err := s.Check(t.Context(), []string{"TestA", "TestB"}, mustParse(t, ""))
		if err != nil || !matched {
			t.Errorf("matched %v, %v", matched, err)
		}
		want := []string{"^TestA$ but B|A/z"}
		if !together {
			want = append(want, "^TestA$/^x$ but B|A/z", "^TestA$/^y$ but B|A/z",
				"^TestA$ but B|A/z|^TestA$/^x$|^TestA$/^y$")
		}
		if diff := cmp.Diff(want, searched); diff != "" {
			t.Errorf("together %v, searched (-want +got):\n%s", together, diff)
		}
		want = []string{"TestA/x holds", "TestA/y holds", "TestA holds"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("together %v, told (-want +got):\n%s", together, diff)
		}
	}
}

// TestSeveralViolations: of each test as many violations are kept as are looked for, of which no
// two have the same signature; then the search has found enough.
func TestSeveralViolations(t *testing.T) {
	fails := output("@=== RUN   TestA\n@--- FAIL: TestA (0.00s)\n")
	g := &Group{name: "TestA", most: 2}
	for i, c := range []struct {
		signature string
		kept      int
		enough    bool
	}{{"a", 1, false}, {"a", 1, false}, {"b", 2, true}, {"c", 2, true}} {
		if _, err := g.Judge(fails, true, c.signature); err != nil {
			t.Fatal(err)
		}
		if reason := g.Enough(explore.Verdict{}); g.kept != c.kept || (reason != "") != c.enough {
			t.Errorf("after %d violations: %d kept, enough: %q", i+1, g.kept, reason)
		}
	}
	found := Found{Violations: []Violation{
		{Counterexample: &report.Counterexample{}, Summary: report.Violation{Message: "a"}},
		{Counterexample: &report.Counterexample{}, Summary: report.Violation{Message: "b"}},
	}}
	list := g.verdicts(found, nil, report.Holds, 0)
	if len(list) != 1 || len(list[0].All) != 2 || list[0].All[1].Summary.Message != "b" ||
		list[0].Counterexample != found.Violations[0].Counterexample {
		t.Errorf("%+v", list)
	}
}

func mustParse(t *testing.T, text string) Pattern {
	t.Helper()
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestParsePattern: what is no regular expression is an error.
func TestParsePattern(t *testing.T) {
	if _, err := ParsePattern("A/b|Test("); err == nil {
		t.Error("an open parenthesis is no error")
	}
}
