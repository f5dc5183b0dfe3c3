package check

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// endings is the program of testdata/endings, run with one of its scenarios.
func endings(t *testing.T, scenario string) Options {
	t.Helper()
	p := built["endings"]
	if p == nil {
		var err error
		if p, err = buildProgram("testdata/endings", filepath.Join(tree, "endings")); err != nil {
			t.Fatal(err)
		}
		built["endings"] = p
	}
	return Options{Program: p, Package: "endings", Args: []string{scenario}, Search: explore.DPOR()}
}

func TestLeaks(t *testing.T) {
	for scenario, line := range map[string]string{
		"send":                     "waits: send on channel (channel 1) at endings/main.go:15",
		"receive of a nil channel": "at endings/main.go:16",
		"select without arms":      "waits: blocked at endings/main.go:17",
		"lock":                     "waits: lock (mutex 1) at endings/main.go:18",
		"wait":                     "waits: wait for (wait group 1) at endings/main.go:19",
		"cond":                     "at endings/main.go:20",
		"wait group go":            "at endings/main.go:21",
		"after func":               "at endings/main.go:22",
		"exit":                     "at endings/main.go:23",
		"grandchild":               "at endings/main.go:24",
		"abandoned":                "at endings/main.go:48",
		"ends":                     "", "sleeps": "", "may be woken": "", "of a library": "", "signals": "", "stopped timers": "", "buffered": "",
	} {
		t.Run(scenario, func(t *testing.T) {
			o := endings(t, scenario)
			if v := check(t, o).Verdict; v.Kind != explore.Holds {
				t.Errorf("%v (%s), though leaks do not count", v.Kind, v.Reason)
			}
			o = endings(t, scenario)
			o.Leaks = true
			result := check(t, o)
			if line == "" {
				if v := result.Verdict; v.Kind != explore.Holds {
					t.Errorf("%v (%s), want no leak: %+v", v.Kind, v.Reason, result.Counterexample)
				}
				return
			}
			if result.Counterexample == nil {
				t.Fatalf("%v (%s), want a leak", result.Verdict.Kind, result.Verdict.Reason)
			}
			var text bytes.Buffer
			if err := report.WriteText(&text, result.Counterexample, report.Options{}); err != nil {
				t.Fatal(err)
			}
			if _, failure, _ := strings.Cut(text.String(), "Failure\n"); !strings.Contains(failure, "goroutine leak") ||
				!strings.Contains(failure, line) || strings.Count(failure, "waits: ") != 1 {
				t.Errorf("the failure does not say a goroutine leak and only %q:\n%s", line, failure)
			}
			if _, err := Replay(o.Program, result.Recording, 5); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLeaksForked: a leak ends the execution, and only that, with either isolation.
func TestLeaksForked(t *testing.T) {
	o := endings(t, "send")
	o.Leaks, o.Isolation = true, sut.Fork
	result, err := Run(context.Background(), o)
	if err != nil || result.Verdict.Kind != explore.Violated {
		t.Errorf("%+v, error %v, want a leak", result, err)
	}
}
