package text

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report/internal/reporttest"

	"github.com/tandem-mc/tandem/report"
)

func TestViolations(t *testing.T) {
	run, list := reporttest.Violations()
	for i := range maxPlaces + 2 {
		list[2].Places = append(list[2].Places, fmt.Sprintf("place %d", i+1))
	}
	var text bytes.Buffer
	if err := WriteViolations(&text, run, list, report.Options{}); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "violations.txt", text.String())
}

// TestClock: time passes under a header of its own, and preempts nobody.
func TestClock(t *testing.T) {
	c := &report.Counterexample{
		Goroutines: []report.Goroutine{{ID: 0, Name: "main", Function: "main.main"},
			{ID: 1, Name: "main/1", Function: "main.work"}},
		Shrunk: &report.Shrinking{Executions: 9, Before: report.Size{Preemptions: 2, Transitions: 5},
			After: report.Size{Preemptions: 1, Transitions: 3}},
		Steps: []report.Step{
			{Goroutine: 0, Operation: "lock", Kind: report.Synchronisation},
			{Goroutine: report.Clock, Operation: "the clock advances to 1.000 s", Kind: report.Timer},
			{Goroutine: 1, Operation: "lock", Kind: report.Synchronisation, Preempts: true},
		},
	}
	golden.Equal(t, "clock.txt", textOf(t, c, report.Options{}))
}
