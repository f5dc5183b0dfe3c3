package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/text"
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
	return Options{Program: p, Package: "endings", Args: []string{scenario}, Search: dporSearch()}
}

// placeOf is the line of a scenario in the source; that of the operation, if it is a function of
// its own.
func placeOf(t *testing.T, scenario string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/endings/main.go")
	if err != nil {
		t.Fatal(err)
	}
	mark := strconv.Quote(scenario) + ":"
	if scenario == "abandoned" {
		mark = "result <- 1"
	}
	before, _, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("there is no scenario %s", scenario)
	}
	return fmt.Sprintf("testdata/endings/main.go:%d", 1+strings.Count(before, "\n"))
}

func TestLeaks(t *testing.T) {
	for scenario, waits := range map[string]string{
		"send":                     "waits: send on channel 1 at ",
		"receive of a nil channel": "waits: ",
		"select without arms":      "waits: blocked at ",
		"lock":                     "waits: Lock mutex 1 at ",
		"wait":                     "waits: Wait for wait group 1 at ",
		"cond":                     "waits: Wait for condition 1 at ",
		"wait group go":            "waits: ",
		"after func":               "waits: ",
		"exit":                     "waits: ",
		"grandchild":               "waits: ",
		"abandoned":                "waits: send on channel 1 at ",
		"ends":                     "", "sleeps": "", "may be woken": "", "of a library": "", "signals": "",
		"stopped timers": "", "buffered": "",
	} {
		t.Run(scenario, func(t *testing.T) {
			o := endings(t, scenario)
			if v := check(t, o).Verdict; v.Kind != explore.Holds {
				t.Errorf("%v (%s), though leaks do not count", v.Kind, v.Reason)
			}
			o = endings(t, scenario)
			o.Leaks = true
			result := check(t, o)
			if waits == "" {
				if v := result.Verdict; v.Kind != explore.Holds {
					t.Errorf("%v (%s), want no leak: %+v", v.Kind, v.Reason, result.Counterexample)
				}
				return
			}
			if result.Counterexample == nil {
				t.Fatalf("%v (%s), want a leak", result.Verdict.Kind, result.Verdict.Reason)
			}
			place := placeOf(t, scenario)
			var shown bytes.Buffer
			if err := text.Write(&shown, result.Counterexample, report.Options{}); err != nil {
				t.Fatal(err)
			}
			if _, failure, _ := strings.Cut(shown.String(), "Failure\n"); !strings.Contains(failure,
				"goroutine leak") ||
				!strings.Contains(failure, waits) || !strings.Contains(failure, place) ||
				strings.Count(failure, "waits: ") != 1 {
				t.Errorf("the failure does not say a goroutine leak and only %q at %q:\n%s", waits, place,
					failure)
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
