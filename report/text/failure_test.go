package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
)

// TestLed: an access that led to the failure has its lines and the call around it, and the object
// has the name of the source if the source calls it the same everywhere.
func TestLed(t *testing.T) {
	access := func(step int, line string, caller report.Frame) report.Access {
		return report.Access{First: step, Last: step, Caller: caller,
			Lines: []report.SourceLine{{Text: line}}}
	}
	closing := report.Frame{Function: "main.closeChannel", Source: "main.go:82", Text: "if s.connected() {"}
	starting := report.Frame{Function: "main.run.gowrap1", Source: "main.go:60", Text: "go s.watch()"}
	led := []report.Access{access(0, "s.mu.Lock()", closing), access(1, "s.mu.RLock()", starting),
		access(2, "s.mu.Lock()", report.Frame{})}
	steps := []report.Step{
		{Goroutine: 0, Object: "mutex 7", Function: "main.connected", Source: "main.go:89"},
		{Goroutine: 1, Object: "mutex 7", Function: "main.watch", Source: "main.go:75"},
		{Goroutine: 0, Object: "mutex 7", Function: "main.current", Source: "main.go:95"},
	}
	c := &report.Counterexample{Steps: steps, Led: led,
		Goroutines: []report.Goroutine{{ID: 0, Name: "main"}, {ID: 1, Name: "main/1"}}}
	told := func() string {
		p := printer.New(report.Options{})
		printLed(p, c)
		return p.String()
	}
	want := `
Order that led to it, on mutex 7 (s.mu)
        1  main, in main.connected                              main.go:89
             > s.mu.Lock()
           called in main.closeChannel                          main.go:82
             > if s.connected() {
        2  main/1, in main.watch                                main.go:75
             > s.mu.RLock()
           started in main.run                                  main.go:60
             > go s.watch()
        3  main, in main.current                                main.go:95
             > s.mu.Lock()
`
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, line := range []string{"other.mu.Lock()", "<-s.done", ""} {
		led[2].Lines[0].Text = line
		if got, _, _ := strings.Cut(told()[1:], "\n"); got != "Order that led to it, on mutex 7" {
			t.Errorf("%q is said where the last line is %q", got, line)
		}
	}
}
