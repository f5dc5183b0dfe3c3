package sut_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// buildRacy builds the program of the race detector's tests.
func buildRacy(t testing.TB, races ...string) *sut.Program {
	t.Helper()
	ctx := context.Background()
	toolchain, err := sut.NewToolchain(ctx, ".", cache())
	if err != nil {
		t.Fatal(err)
	}
	p, err := toolchain.Build(ctx, sut.BuildOptions{
		Dir: ".", Package: "./testdata/racy", Output: filepath.Join(t.TempDir(), "racy"), Races: races,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func startRacy(t testing.TB, p *sut.Program, isolation sut.Isolation, args ...string) *sut.Worker {
	t.Helper()
	w, err := sut.Start(p, sut.Options{Args: args, Isolation: isolation})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestDataRaces: what has a data race has it in every schedule, whatever the
// order of the two accesses, and nothing else has one.
func TestDataRaces(t *testing.T) {
	p := buildRacy(t, sut.RacesMain)
	list := run(t, startRacy(t, p, sut.Snapshot, "list"), sut.Schedule{}, nil)
	scenarios := strings.Split(string(list.Stdout), "\n")
	if len(scenarios) < 50 {
		t.Fatalf("%d scenarios: %q", len(scenarios), list.Stderr)
	}
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			w := startRacy(t, p, sut.Snapshot, scenario)
			racy := strings.HasPrefix(scenario, "racy")
			races := 0
			for seed := range uint64(40) {
				log := run(t, w, sut.Schedule{Seed: seed}, nil)
				if log.Outcome == sut.DataRace {
					races++
				}
				if log.Outcome != sut.DataRace && log.Outcome != sut.Completed {
					t.Fatalf("seed %d: %v: %s %s", seed, log.Outcome, log.Stderr, log.Message)
				}
				if log.Outcome == sut.DataRace && !racy {
					t.Fatalf("seed %d: a data race: %s", seed, describe(p, log.Race))
				}
			}
			if racy && races == 0 {
				t.Errorf("no data race in 40 schedules")
			}
			t.Logf("%d of 40 schedules have a data race", races)
		})
	}
}

func describe(p *sut.Program, r *sut.Race) string {
	var b strings.Builder
	for _, a := range []sut.MemoryAccess{r.Earlier, r.Later} {
		for _, pc := range a.Stack {
			if at, ok := p.Position(pc); ok {
				b.WriteString("\n\t" + at.Function + " " + at.String())
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
