package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func someViolations() (Run, []Violation) {
	run := Run{
		Package: "./several", Args: []string{"a b"}, Verdict: Violated, Reason: "8 of 15 executions are violations",
		Counts:      Counts{Executions: 15, Transitions: 306, SelfChecked: 1, Elapsed: 10 * time.Millisecond},
		Assumptions: Assumptions{Preemptible: []string{"main"}, Other: []string{"data races are looked for in: main"}},
	}
	return run, []Violation{
		{Outcome: "panic", Message: "seen 1", Places: []string{"several/main.go:18"}, Executions: 1234, Size: Size{0, 19}, File: "several.1.counterexample"},
		{Outcome: "deadlock", Places: []string{"lock at several/main.go:16", "lock at several/main.go:18"}, Executions: 1, Size: Size{1, 14}, File: "it's.2.counterexample"},
		{Outcome: "exit", Message: "\x1b[2J\xff" + fmt.Sprintf("%0200d", 7)},
	}
}

func TestViolations(t *testing.T) {
	run, list := someViolations()
	for i := range maxPlaces + 2 {
		list[2].Places = append(list[2].Places, fmt.Sprintf("place %d", i+1))
	}
	var text bytes.Buffer
	if err := WriteViolations(&text, run, list, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "violations.txt", text.String())
}

func TestJSON(t *testing.T) {
	run, list := someViolations()
	var text bytes.Buffer
	if err := WriteJSON(&text, run, list); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text.Bytes()) {
		t.Error("no valid JSON")
	}
	golden(t, "violations.json", text.String())
}

// TestClock: time passes under a header of its own, and preempts nobody.
func TestClock(t *testing.T) {
	c := &Counterexample{
		Goroutines: []Goroutine{{ID: 0, Name: "main", Function: "main.main"}, {ID: 1, Name: "main/1", Function: "main.work"}},
		Shrunk:     &Shrinking{Executions: 9, Before: Size{2, 5}, After: Size{1, 3}},
		Steps: []Step{
			{Goroutine: 0, Operation: "lock", Kind: Synchronisation},
			{Goroutine: Clock, Operation: "the clock advances to 1.000 s", Kind: Timer},
			{Goroutine: 1, Operation: "lock", Kind: Synchronisation, Preempts: true},
		},
	}
	golden(t, "clock.txt", textOf(t, c, Options{}))
}

func TestShrinkingInWords(t *testing.T) {
	for want, s := range map[string]Shrinking{
		"shrunk from 7 preemptions in 312 transitions, in 1,240 executions": {1240, Size{7, 312}, Size{1, 88}},
		"no simpler one was found in 1 execution":                           {1, Size{1, 88}, Size{1, 88}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for _, c := range [][2][]string{
		{{"main", "a.b/c", "a.b/c/d"}, {"main", "a.b/c", "a.b/c/d"}},
		{{"main", "a.b/c/d", "a.b/c/e", "a.b/c", "a.b/c/d/e", "a.b/c/f", "a.b/cc"}, {"main", "a.b/c, and 4 packages below it", "a.b/cc"}},
		{{"a.b/c/1", "a.b/c/2", "a.b/c/3", "a.b/c/4"}, {"a.b/c/1", "a.b/c/2", "a.b/c/3", "a.b/c/4"}}, // what is above is not among them
		{{"a/...", "/", "", "."}, {"a/...", "/", "", "."}},
	} {
		if diff := cmp.Diff(c[1], grouped(c[0])); diff != "" {
			t.Errorf("%q:\n%s", c[0], diff)
		}
	}
}
