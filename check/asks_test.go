package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// TestFailedSwaps: a CompareAndSwap that fails only looks: two of them need not be exchanged, and a loop of them is
// a loop that waits.
func TestFailedSwaps(t *testing.T) {
	p, err := buildProgram("testdata/asks", filepath.Join(tree, "asks"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Program: p, Args: []string{"winners"}, Search: explore.DPOR(), Depth: 10_000}
	if v := check(t, o).Verdict; v.Kind != explore.Holds || v.Executions != 4 {
		t.Errorf("one of four wins: %v in %d executions, want 4", v, v.Executions)
	}
	o.Args, o.Search = []string{"spin"}, explore.DPOR()
	result := check(t, o)
	if v := result.Verdict; v.Kind != explore.Unknown || v.Executions > 100 || !strings.Contains(result.CutOff, "(*spinLock).Lock") {
		t.Errorf("a lock that spins: %v in %d executions, cut off at %s", v, v.Executions, result.CutOff)
	}
}

// TestWhatProgramsAsk: a program is told of several processors; its environment is read and set by calls that
// others may get in between; and one whose stack overflows is violated, and shown, though each time that is the end of a process
// with other addresses.
func TestWhatProgramsAsk(t *testing.T) {
	p, err := buildProgram("testdata/asks", filepath.Join(tree, "asks"))
	if err != nil {
		t.Fatal(err)
	}
	for mode, says := range map[string]string{
		"workers": "lost update", "limit": "two at a time", "variable": "somebody else's", "announced": "set already",
		"endless": "stack", "set": "",
	} {
		t.Run(mode, func(t *testing.T) {
			for name, search := range map[string]explore.Search{"dpor": explore.DPOR(), "dfs": explore.DFS()} {
				result := check(t, Options{Program: p, Args: []string{mode}, Search: search, Depth: 10_000, SelfCheck: 1})
				if says == "" {
					if result.Verdict.Kind != explore.Holds {
						t.Errorf("%s: %v", name, result.Verdict)
					}
					continue
				}
				if result.Verdict.Kind != explore.Violated || !strings.Contains(result.Violations[0].Summary.Message, says) {
					t.Errorf("%s: %v with %+v, want %q", name, result.Verdict, result.Violations, says)
				}
			}
		})
	}
}
