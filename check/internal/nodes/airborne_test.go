package nodes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// TestDatagramsExploredAgainstTwin: random nodes that send datagrams, and are explored, come to the
// same as a system whose states are all gone through, and to nothing else. What they come to is
// replayed.
func TestDatagramsExploredAgainstTwin(t *testing.T) {
	all := []string{"lost", "duplicated", "reordered"}
	link := [][][2]int{{{0, 1}}}
	t.Run("reliable", func(t *testing.T) { compareExploredAir(t, 2, airState{parted: 2}, Config{}) })
	t.Run("faults", func(t *testing.T) {
		compareExploredAir(t, 6, airState{parted: 2, faults: 1, kinds: fmt.Sprint(all)},
			Config{Datagrams: all, DatagramLimit: 1})
	})
	t.Run("parted", func(t *testing.T) {
		compareExploredAir(t, 4, airState{}, Config{Partitions: link})
	})
}

// compareExploredAir compares explorations with what random nodes come to from a state on, of each
// so many systems one.
func compareExploredAir(t *testing.T, every int, from airState, config Config) {
	t.Helper()
	program := build(t, "./testdata/air")
	kinds, runs := map[rune]int{}, 0
	for seed := uint64(1); seed < uint64(*systems); seed += uint64(every) {
		r := rand.New(rand.NewPCG(seed, 11))
		scripts := randomAir(r)
		who := r.IntN(3)
		want := airOutcomes(scripts, who, from)
		for _, letter := range strings.Join(want, "") {
			kinds[letter]++
		}
		runs += compareOneAir(t, program, scripts, who, want, fmt.Sprint("seed ", seed), config)
	}
	t.Logf("%d executions; %v", runs, kinds)
	if *systems >= 25 && (kinds['f'] == 0 || kinds['t'] == 0 || kinds['x']+kinds['y']+kinds['z'] == 0) {
		t.Errorf("nodes come to no more than %v", kinds)
	}
}

// compareOneAir checks that a node comes to what is wanted, and to nothing else.
func compareOneAir(t *testing.T, program *sut.Program, scripts []string, who int, want []string, name string,
	config Config) (runs int) {
	t.Helper()
	run := func(check string) *Result {
		c := config
		c.Nodes = airNodes(program, scripts, who, check)
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v\n%q", name, err, scripts)
		}
		runs += r.Runs
		return r
	}
	r := run("in:" + strings.Join(want, ","))
	t.Logf("%s: %d executions, %d skeletons, %d outcomes", name, r.Runs, r.Counts.Skeletons, len(want))
	if r.Verdict != model.Holds {
		message := r.Reason
		if v := r.Violation(); v != nil {
			message = fmt.Sprint(v.Counterexample.Failure.Message, "\n", strings.Join(whats(v.Events), "\n"))
		}
		t.Errorf("%s: node %d comes to something else than %q: %v, %s\n%q", name, who, want, r.Verdict,
			message, scripts)
	}
	for _, got := range want {
		r := run("not:" + got)
		v := r.Violation()
		if v == nil || v.Recording == nil {
			t.Errorf("%s: node %d does not come to %q of %q: %v, %s, %+v\n%q", name, who, got, want,
				r.Verdict, r.Reason, v, scripts)
			continue
		}
		again, err := Replay(t.Context(), programsOf(airNodes(program, scripts, who, "")),
			throughFile(t, v.Recording), 2)
		if err != nil || again.Violation == nil {
			t.Errorf("%s: node %d comes to %q, not from the file: %+v, %v\n%q", name, who, got, again, err,
				scripts)
		}
	}
	return runs
}
