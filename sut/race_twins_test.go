package sut_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

var (
	schedulesOfTwins  = flag.Int("twins", 1, "TestTwins runs each program with so many schedules")
	referencePrograms = flag.Int("reference-programs", 150,
		"TestDetectorAgainstReference runs so many random programs")
	everyTwin = flag.Int("every-twin", 10, "TestTwins takes one of so many of each shape (1: all)")
)

// twin is a program of testdata/twins.
type twin struct {
	name string // thing/shape
	racy bool
}

// counts are results of both detectors.
type counts struct{ free, alarms, nativeAlarms, racy, found, nativeFound int }

// TestTwins compares the detector with the native one, on small programs that use what the standard
// library has for several goroutines: neither finds a data race in those that have none, and both
// find one in the others. Each group of programs is a subtest.
func TestTwins(t *testing.T) {
	p, err := build(t.TempDir(), "./testdata/twins", sut.RacesDirect)
	if err != nil {
		t.Fatal(err)
	}
	list := twins(t, p)
	native := buildNative(t)
	var n counts
	for _, group := range sampled(grouped(list), *everyTwin) {
		t.Run(group[0].name, func(t *testing.T) { compareTwins(t, p, native, group, &n) })
	}
	t.Logf("free: %d programs, alarms %d, native %d; racy: %d, found %d, native %d (there are %d programs)",
		n.free, n.alarms, n.nativeAlarms, n.racy, n.found, n.nativeFound, len(list))
	if native == "" {
		t.Log("the native detector was not asked: there is no gcc")
	}
	if len(list) < 400 {
		t.Errorf("%d programs: too few", len(list))
	}
}

// nativeTries is how many executions the native detector has to find a race in.
const nativeTries = 10

// compareTwins asks both detectors about a group of programs, and adds what they say to n.
func compareTwins(t *testing.T, p *sut.Program, native string, group []twin, n *counts) {
	t.Helper()
	racy := group[0].racy
	found := runTwins(t, p, group)
	said := false
	if native != "" {
		// The native detector sees one real execution. It misses a race whose accesses happen to be
		// ordered in that one, so it has several.
		said = runNative(t, native, group)
		for try := 1; racy && !said && try < nativeTries; try++ {
			said = runNative(t, native, group)
		}
	}
	if racy {
		n.racy++
		n.found += count(found)
		n.nativeFound += count(said)
	} else {
		n.free += len(group)
		n.alarms += count(found)
		n.nativeAlarms += count(said)
	}
	if found != racy || native != "" && said != racy {
		t.Errorf("%v: data race %v, with the native detector %v", names(group), found, said)
	}
}

// sampled is one of so many groups of each shape; other ones of the same thing where it has several
// shapes.
func sampled(groups [][]twin, every int) (chosen [][]twin) {
	seen := map[string]int{}
	for _, group := range groups {
		shape := "free"
		if group[0].racy {
			shape = path.Base(group[0].name)
		}
		if _, ok := seen[shape]; !ok {
			seen[shape] = len(seen)
		}
		if seen[shape]%every == 0 {
			chosen = append(chosen, group)
		}
		seen[shape]++
	}
	return chosen
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func twins(t *testing.T, p *sut.Program) (list []twin) {
	t.Helper()
	log := run(t, startRacy(t, p, sut.Snapshot), sut.Schedule{}, nil)
	for line := range strings.Lines(string(log.Stdout)) {
		kind, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			t.Fatalf("%q %s", line, log.Stderr)
		}
		list = append(list, twin{name, kind == "racy"})
	}
	return list
}

// grouped puts together what can run one after the other in one execution: all programs without a
// data race that use the same thing.
func grouped(list []twin) (groups [][]twin) {
	byThing := map[string]int{}
	for _, x := range list {
		thing := path.Dir(x.name)
		if at, ok := byThing[thing]; ok && !x.racy {
			groups[at] = append(groups[at], x)
			continue
		}
		if !x.racy {
			byThing[thing] = len(groups)
		}
		groups = append(groups, []twin{x})
	}
	return groups
}

func names(group []twin) (list []string) {
	for _, x := range group {
		list = append(list, x.name)
	}
	return list
}

// runTwins reports whether all of some schedules have a data race (racy), or any of them. What has
// one has it in every schedule.
func runTwins(t *testing.T, p *sut.Program, group []twin) (found bool) {
	t.Helper()
	w := startRacy(t, p, sut.Snapshot, names(group)...)
	defer w.Close()
	for seed := range uint64(*schedulesOfTwins) {
		log := run(t, w, sut.Schedule{Seed: seed}, nil)
		switch log.Outcome {
		case sut.DataRace:
			found = true
			if !group[0].racy {
				t.Errorf("%v, seed %d: a data race: %s", names(group), seed, describe(p, log.Race))
				return true
			}
		case sut.Completed:
			if group[0].racy {
				t.Errorf("%v, seed %d: no data race", names(group), seed)
				return false
			}
		default:
			t.Errorf("%v, seed %d: %v: %s %s", names(group), seed, log.Outcome, log.Message, log.Stderr)
			return found
		}
	}
	return found
}

// buildNative builds the programs with the native detector, which takes a C compiler; without one
// it returns "".
func buildNative(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		return ""
	}
	file := filepath.Join(t.TempDir(), "native")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-race", "-ldflags=-w", "-o", file,
		"./testdata/twins")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build -race: %v\n%s", err, out)
	}
	return file
}

// runNative reports whether the native detector finds a data race in a run of some programs.
func runNative(t *testing.T, file string, group []twin) bool {
	t.Helper()
	const racy = 66
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, names(group)...)
	cmd.Env = append(slices.Clone(os.Environ()), "GORACE=halt_on_error=1 exitcode=66")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.ExitCode() == racy:
		return true
	}
	t.Errorf("%v with the native detector: %v\n%s", group, err, out)
	return false
}
