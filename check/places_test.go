package check

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestPlaces: searches of random programs have the same executions, in the same order and event by
// event, whether they begin where the last one was or at main, with all searches that come back.
func TestPlaces(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	watched, err := buildProgram("testdata/programs", filepath.Join(tree, "programs-watched"), sut.RacesMain)
	if err != nil {
		t.Fatal(err)
	}
	programs := uint64(cases(3, 1))
	if os.Getenv("PROGRAMS") != "" {
		programs = 40
	}
	searches := map[string]func() *explore.Search{"dpor": dporSearch, "dfs": dfsSearch,
		"bounded": func() *explore.Search { return bounded(explore.DPOR, 1) }}
	began := 0
	for _, flavour := range flavourNames {
		for number := range programs {
			text := drawProgram(flavour, 1000+number).String()
			for name, search := range searches {
				for _, p := range []*sut.Program{p, watched} {
					o := sut.Options{Args: []string{text}, Isolation: sut.FromMain}
					want, _ := traceOf(t, p, o, search())
					o.Isolation, o.PlaceGap = sut.Snapshot, 1
					got, from := traceOf(t, p, o, search())
					if began += from; cmp.Diff(want, got) != "" {
						t.Errorf("%s, %s (-main +places):\n%s", name, text, cmp.Diff(want, got))
					}
				}
			}
		}
	}
	if t.Logf("%d executions began at places", began); began == 0 {
		t.Error("no execution began at a place")
	}
}

// traceOf is what a search has seen of a program, an execution in each line, and how many of them
// began at a place.
func traceOf(t *testing.T, p *sut.Program, o sut.Options, s *explore.Search) (lines []string, began int) {
	const most = 60
	_, err := eachExecution(p, o, s, func(log *sut.Log, x explore.Execution) bool {
		lines = append(lines, fmt.Sprintf("%s %v %v %d %q %q %q", narrate.EventHash(log.Events), log.Outcome,
			x.Outcome, log.Timers, log.Message, log.Stdout, log.Stderr))
		if log.From > 0 {
			began++
		}
		return len(lines) < most
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, began
}
