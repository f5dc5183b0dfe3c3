package sut_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

var soak = flag.Int("soak", 20_000, "executions of TestMemoryIsFlat; `make soak` has a million")

// TestMemoryIsFlat: neither worker nor checker grows with the number of executions.
// The first tenth is left out: pages that executions write rarely come up there.
func TestMemoryIsFlat(t *testing.T) {
	const points, most = 10, 1 << 20
	p, err := build(t.TempDir(), "./testdata/speed")
	if err != nil {
		t.Fatal(err)
	}
	w, err := sut.Start(p, sut.Options{Args: []string{"small", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var worker, checker []int
	started := time.Now()
	for i := range *soak {
		if log := run(t, w, sut.Schedule{Seed: uint64(i + 1)}, nil); log.Outcome != sut.Completed {
			t.Fatalf("execution %d: %v: %s", i, log.Outcome, log.Stderr)
		}
		if (i+1)%(*soak/points) == 0 {
			debug.FreeOSMemory() // what is garbage is none of the checker's
			worker, checker = append(worker, resident(t, w.Pid())), append(checker, resident(t, os.Getpid()))
			t.Logf("%8d executions, %6.0f/s: worker %5d KiB, checker %5d KiB",
				i+1, float64(i+1)/time.Since(started).Seconds(), worker[len(worker)-1]>>10,
				checker[len(checker)-1]>>10)
		}
	}
	for name, sizes := range map[string][]int{"worker": worker[1:], "checker": checker[1:]} {
		if d := slices.Max(sizes) - slices.Min(sizes); d > most {
			t.Errorf("the memory of the %s varies by %d KiB", name, d>>10)
		}
	}
}

// resident is how much memory a process has, in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(string(bytes.Fields(statm)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
