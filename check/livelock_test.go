package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// TestLivelocks: where only loops without effect can go on, that is a violation which names them,
// in whatever way executions are searched and isolated, and it is replayed.
func TestLivelocks(t *testing.T) {
	p, err := buildProgram("testdata/livelock", filepath.Join(tree, "livelock"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, says := range map[string]string{
		"closed": "main goes round in main.drain: receive from channel 1 at " +
			"testdata/livelock/main.go:",
		"load": "main goes round in main.init.func2: atomic Load variable 1 at " +
			"testdata/livelock/main.go:",
		"gosched":       "Gosched at testdata/livelock/main.go:",
		"swap":          "atomic CompareAndSwap variable 1",
		"trylock":       "TryLock mutex 1",
		"default":       "receive from channel 1",
		"context":       "main goes round",
		"length":        "len of channel 1",
		"two":           "\nmain/1 goes round in main.init.func9.1: atomic Load",
		"waits":         "main/1 goes round in main.drain",
		"polled lock":   "goes round in main.init.func11",
		"polled rwlock": "RLock rwmutex 1",
		"end of file":   "read from connection at testdata/livelock/main.go:",
		// These allocate; what they have allocated last is not on the stack, as long as races are
		// not looked for.
		"closed connection": "main goes round",
		"allocates":         "main goes round",
	} {
		o := Options{Program: p, Args: []string{scenario}, Search: untilViolation(dporSearch()), Depth: 5000,
			SelfCheck: 1}
		result := check(t, o)
		if result.Counterexample == nil {
			t.Errorf("%s: %+v, cut off by %s; want a livelock", scenario, result.Verdict, result.CutOff)
			continue
		}
		failure := result.Counterexample.Failure
		if failure.Kind != model.Livelock || !strings.Contains(failure.Message, says) {
			t.Errorf("%s: %s\nwant a livelock and %q", scenario, failure, says)
		}
		if _, err := Replay(p, result.Recording, 2); err != nil {
			t.Errorf("%s: %v", scenario, err)
		}
	}
	for name, search := range map[string]func() *explore.Search{
		"random": func() *explore.Search { return randomSearch(3, 1) },
		"pct":    func() *explore.Search { return pctSearch(3, 3, 1) },
		"dfs":    dfsSearch,
	} {
		for _, scenario := range []string{"two", "polled lock"} {
			s := untilViolation(maxExecutions(search(), 3))
			o := Options{Program: p, Args: []string{scenario}, Search: s, Depth: 5000, Isolation: sut.Fork}
			if v := check(t, o).Verdict; v.Kind != explore.Violated {
				t.Errorf("%s, %s: %+v, want a livelock", scenario, name, v)
			}
		}
	}
}

// TestNoLivelocks: loops that end by themselves, by the clock, by a timer or by another goroutine
// are none, and neither is one that the end of main ends.
func TestNoLivelocks(t *testing.T) {
	p, err := buildProgram("testdata/livelock", filepath.Join(tree, "livelock"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string]explore.VerdictKind{
		"counts": explore.Holds, "counts in memory": explore.Holds, "counts in the heap": explore.Holds,
		"random":       explore.Holds,
		"main returns": explore.Holds, "retries": explore.Holds, "closures": explore.Holds,
		"linked": explore.Holds, "appends": explore.Holds,
		"map":      explore.Holds,
		"deadline": explore.Unknown, "timer": explore.Unknown, "other": explore.Unknown,
		"alternatives": explore.Unknown,
		"goroutines":   explore.Unknown, "guarded": explore.Unknown,
	} {
		o := Options{Program: p, Args: []string{scenario}, Search: maxExecutions(dporSearch(), 5),
			Depth: 5000}
		if result := check(t, o); result.Verdict.Kind != want {
			t.Errorf("%s: %+v, cut off by %q; want %v", scenario, result.Verdict, result.CutOff, want)
		}
	}
}
