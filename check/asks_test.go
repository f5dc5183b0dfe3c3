package check

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// TestFailedSwaps: a CompareAndSwap that fails only looks: two of them need not be exchanged, and a
// loop of them is a loop that waits.
func TestFailedSwaps(t *testing.T) {
	p, err := buildProgram("testdata/asks", filepath.Join(tree, "asks"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Program: p, Args: []string{"winners"}, Search: dporSearch(), Depth: 10_000}
	if v := check(t, o).Verdict; v.Kind != explore.Holds || v.Executions != 4 {
		t.Errorf("one of four wins: %v in %d executions, want 4", v, v.Executions)
	}
	o.Args, o.Search = []string{"spin"}, dporSearch()
	result := check(t, o)
	if v := result.Verdict; v.Kind != explore.Unknown || v.Executions > 100 ||
		!strings.Contains(result.CutOff, "(*spinLock).Lock") {
		t.Errorf("a lock that spins: %v in %d executions, cut off at %s", v, v.Executions, result.CutOff)
	}
}

// TestSwapsAgainstTwin: random programs of CompareAndSwap and stores have the same outcomes with
// and without reduction, and none of their orders twice.
func TestSwapsAgainstTwin(t *testing.T) {
	p, err := buildProgram("testdata/asks", filepath.Join(tree, "asks"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for range cases(30, 6) {
		var texts []string
		for range 2 + r.IntN(2) {
			var words []string
			for range 1 + r.IntN(2) {
				words = append(words, []string{"01", "12", "10", "02", "20", "0", "1"}[r.IntN(7)])
			}
			texts = append(texts, strings.Join(words, " "))
		}
		text := strings.Join(texts, "/")
		all, ended := explored(t, p, text, dfsSearch(), 20_000)
		if !ended {
			continue
		}
		compared++
		few, _ := explored(t, p, text, dporSearch(), 20_000)
		if !maps.Equal(few.outcomes, all.outcomes) || !maps.Equal(few.orders, all.orders) ||
			few.complete != len(few.orders) {
			t.Errorf("%s: %d outcomes and %d orders in %d executions, want %d and %d", text,
				len(few.outcomes), len(few.orders), few.complete, len(all.outcomes), len(all.orders))
		}
	}
	if compared < cases(15, 3) {
		t.Errorf("only %d programs had few enough schedules to compare", compared)
	}
}

// TestWhatProgramsAsk: a program is told of several processors; its environment is read and set by
// calls that others may get in between; to swap what is at nil is a panic; and one whose stack
// overflows is violated, and shown, though each time that is the end of a process with other
// addresses.
func TestWhatProgramsAsk(t *testing.T) {
	p, err := buildProgram("testdata/asks", filepath.Join(tree, "asks"))
	if err != nil {
		t.Fatal(err)
	}
	for mode, says := range map[string]string{
		"workers": "lost update", "limit": "two at a time", "variable": "somebody else's",
		"announced": "set already",
		"endless":   "stack", "set": "", "nowhere": "nil pointer dereference", "caught": "",
	} {
		t.Run(mode, func(t *testing.T) {
			for name, search := range map[string]*explore.Search{"dpor": dporSearch(), "dfs": dfsSearch()} {
				result := check(t, Options{Program: p, Args: []string{mode}, Search: search, Depth: 10_000,
					SelfCheck: 1})
				if says == "" {
					if result.Verdict.Kind != explore.Holds {
						t.Errorf("%s: %v", name, result.Verdict)
					}
					continue
				}
				if result.Verdict.Kind != explore.Violated ||
					!strings.Contains(result.Violations[0].Summary.Message, says) {
					t.Errorf("%s: %v with %+v, want %q", name, result.Verdict, result.Violations, says)
				}
			}
		})
	}
}
