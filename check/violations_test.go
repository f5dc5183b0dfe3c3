package check

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestDistinctViolations compares the violations that a search lists with those of all executions
// of random programs.
func TestDistinctViolations(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	several := 0
	for number := range uint64(40) {
		text := drawProgram("channels", number).String()
		want, ok := violationsOf(t, p, text, 1000)
		if !ok {
			continue
		}
		result := check(t, Options{Program: p, Args: []string{text}, Search: dfsSearch(),
			Violations: MaxViolations, Shrink: 50, Depth: 1000})
		got := map[string]int{}
		for _, v := range result.Violations {
			got[fmt.Sprint(v.Summary.Outcome, v.Summary.Message, v.Summary.Places)] = v.Summary.Executions
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-exist +found):\n%s", text, diff)
		}
		if len(got) > 1 {
			several++
		}
	}
	if several < 3 {
		t.Errorf("only %d programs have several violations", several)
	}
}

// TestFoundIsTold: what is told while a search runs is what its result lists, in the same order.
func TestFoundIsTold(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for number := range uint64(12) {
		text := drawProgram("channels", number).String()
		for _, most := range []int{1, 2, MaxViolations} {
			o := Options{Program: p, Args: []string{text}, Search: maxExecutions(dfsSearch(), 300),
				Violations: most, Depth: 1000}
			r, err := newRun(t.Context(), o, interest{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := r.finish()
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, v := range result.Violations {
				if most > 1 { // else the result follows at once
					want = append(want, fmt.Sprint(v.Summary.Outcome, v.Summary.Message, v.Summary.Places))
				}
			}
			first := r.found.told(p)
			for _, v := range r.found.told(p) {
				got = append(got, fmt.Sprint(v.Outcome, v.Message, v.Places))
			}
			if diff := cmp.Diff(want, got); diff != "" || len(first) != len(got) {
				t.Errorf("%s, at most %d (-listed +told):\n%s", text, most, diff)
			}
			total += len(got)
		}
	}
	if total < 3 {
		t.Errorf("only %d violations were told", total)
	}
}

// violationsOf counts the executions that show each violation of a program.
func violationsOf(t *testing.T, p *sut.Program, text string, limit int) (all map[string]int, ok bool) {
	t.Helper()
	all = map[string]int{}
	o := Options{Program: p, Args: []string{text}, Search: maxExecutions(dfsSearch(), limit), Depth: 1000}
	r, err := newRun(t.Context(), o, interest{enough: never,
		kind: func(log *sut.Log, outcome explore.Outcome) string {
			if outcome.Violation() {
				s := narrate.SignatureOf(p, log).Summary()
				all[fmt.Sprint(s.Outcome, s.Message, s.Places)]++
			}
			return ""
		}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	return all, result.Verdict.Complete
}

// TestViolationsAreBounded: the search ends when there are as many as are looked for.
func TestViolationsAreBounded(t *testing.T) {
	p := buildExample(t, "gallery")
	o := Options{Program: p, Args: []string{"ab-ba"}, Search: dporSearch(), Violations: 2}
	all := check(t, Options{Program: p, Args: []string{"ab-ba"}, Search: dporSearch(),
		Violations: MaxViolations})
	if n := len(all.Violations); n < 1 || !all.Verdict.Complete {
		t.Fatalf("%d violations, complete: %v", n, all.Verdict.Complete)
	}
	if some := check(t, o); len(some.Violations) != min(2, len(all.Violations)) {
		t.Errorf("%d violations", len(some.Violations))
	}
}

var errForTest = errors.New("an error for this test")

// fails fails the n-th execution, counted from the first violation on.
func fails(n int) func(explore.Execution) error {
	begun := false
	return func(x explore.Execution) error {
		if begun = begun || x.Outcome.Violation(); begun {
			n--
		}
		if begun && n == 0 {
			return errForTest
		}
		return nil
	}
}

// TestViolationsSurviveErrors: what was found before the search fails is not lost.
func TestViolationsSurviveErrors(t *testing.T) {
	p := buildExample(t, "gallery")
	for violations := 2; violations <= MaxViolations; violations += 49 {
		o := Options{Program: p, Args: []string{"ab-ba"}, Search: dfsSearch(),
			Violations: violations, Shrink: 20, hooks: hooks{observe: fails(3)}}
		result, err := Run(t.Context(), o)
		if !errors.Is(err, errForTest) {
			t.Fatalf("the error is %v", err)
		}
		if result == nil || len(result.Violations) == 0 || result.Verdict.Kind != explore.Violated ||
			result.Recording == nil {
			t.Errorf("the result is %+v", result)
		}
	}
}

// TestShrinkingFails: when a violation cannot be made simpler, since the worker is gone, it is
// shown as it was found.
func TestShrinkingFails(t *testing.T) {
	p := buildExample(t, "gallery")
	r, err := newRun(t.Context(), Options{Program: p, Args: []string{"ab-ba"}, Search: randomSearch(50, 1),
		Shrink: DefaultShrink}, interest{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { r.executor.Close() }()
	if err := r.loop(); err != nil {
		t.Fatal(err)
	}
	if len(r.found.list) != 1 {
		t.Fatalf("%d violations", len(r.found.list))
	}
	found := slices.Clone(r.found.list[0].Prefix)
	r.executor.Worker().Interrupt() // at once: that of an executor takes a goroutine
	result, err := r.result()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, r.found.list[0].Prefix) || len(result.Recording.Schedule) != len(found) ||
		result.Counterexample.Shrunk != nil {
		t.Errorf("found %v, shown %v, shrunk: %v", found, r.found.list[0].Prefix,
			result.Counterexample.Shrunk)
	}
}
