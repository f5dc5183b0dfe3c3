package sut_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

// buildRacy builds the program of the race detector's tests.
func buildRacy(t testing.TB, races ...string) *sut.Program {
	t.Helper()
	p, err := build(t.TempDir(), "./testdata/racy", races...)
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
		fmt.Fprintf(&b, "\n\t%d bytes at %#x by %x\n", a.Size, a.Address, a.Goroutine)
	}
	return b.String()
}

// TestRaceLimits: a program that the detector cannot keep up with is cut off, and
// told what to do.
func TestRaceLimits(t *testing.T) {
	p := buildRacy(t, sut.RacesMain)
	for limit, says := range map[string]string{
		"goroutines": "more than 4095 goroutines that nothing orders",
		"objects":    "too many objects that goroutines synchronise with",
	} {
		w := startRacy(t, p, sut.Snapshot, "limit", limit)
		for range 2 { // the second time nothing must be left of the first
			log := run(t, w, sut.Schedule{}, nil)
			if log.Outcome != sut.OtherLimit || !strings.Contains(log.Message, says) ||
				!strings.Contains(log.Message, "--races off") {
				t.Errorf("%s: %v %q, want a limit: %s", limit, log.Outcome, log.Message, says)
			}
		}
	}
}

// TestRaceIsWatched: run again, a race shows the stack of its earlier access too,
// whatever isolates the executions.
func TestRaceIsWatched(t *testing.T) {
	p := buildRacy(t, sut.RacesMain)
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w := startRacy(t, p, isolation, "racy atomic and plain")
		for seed := range uint64(10) {
			first := run(t, w, sut.Schedule{Seed: seed}, nil)
			if first.Race == nil || len(first.Race.Earlier.Stack) != 0 {
				t.Fatalf("%v, %+v: want a race whose earlier access was not watched", first.Outcome,
					first.Race)
			}
			second := run(t, w, sut.Schedule{Seed: seed, Show: &sut.Show{Watch: first.Race.First()}}, nil)
			if diff := cmp.Diff(first.Race.Later, second.Race.Later,
				cmp.AllowUnexported(sut.MemoryAccess{})); diff != "" {
				t.Fatalf("the race differs when it is watched:\n%s", diff)
			}
			a, b := second.Race.Earlier, second.Race.Later
			if a.Goroutine == b.Goroutine || a.Atomic == b.Atomic || !a.Write || !b.Write ||
				a.Address != b.Address {
				t.Errorf("a race of %+v with %+v: want an atomic and a plain write by different goroutines",
					a, b)
			}
			for _, access := range []sut.MemoryAccess{a, b} {
				if at, ok := callerIn(p, access.Stack, "main."); !ok ||
					!strings.HasPrefix(at.Function, "main.racyAtomicPlain.func") {
					t.Errorf("an access at %v in %s, want one in racyAtomicPlain", at, at.Function)
				}
			}
		}
	}
}

// callerIn is the innermost call in a function with the given prefix.
func callerIn(p *sut.Program, stack []uint64, prefix string) (sut.Position, bool) {
	for _, pc := range stack {
		if at, ok := p.Position(pc); ok && strings.HasPrefix(at.Function, prefix) {
			return at, true
		}
	}
	return sut.Position{}, false
}

// BenchmarkRaces runs a program that mostly works on memory of its own: without
// race detection, with it, and with all of the standard library watched.
func BenchmarkRaces(b *testing.B) {
	for _, races := range []string{"off", sut.RacesMain, sut.RacesAll} {
		b.Run(races, func(b *testing.B) {
			var patterns []string
			if races != "off" {
				patterns = []string{races}
			}
			w := startRacy(b, buildRacy(b, patterns...), sut.Snapshot, "work")
			for b.Loop() {
				if log := run(b, w, sut.Schedule{}, nil); log.Outcome != sut.Completed {
					b.Fatal(log.Outcome)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
		})
	}
}
