package sut_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

// TestOwnCode: of several workers the first executes the code in the file, the others copies of
// their own, also after one has become another process. Nobody can tell.
func TestOwnCode(t *testing.T) {
	for _, scenario := range []string{"primitives", "traced", "fatal"} {
		var logs [2][]sut.Log
		for i := range logs {
			w, err := sut.Start(program, sut.Options{Args: []string{scenario}, Processor: i + 1})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			for seed := range uint64(10) {
				logs[i] = append(logs[i], copyLog(run(t, w, sut.Schedule{Seed: seed + 1}, nil)))
				if shared := ofFile(t, w.Pid()); shared < 100 == (i == 0) {
					t.Fatalf("%s, worker %d: %d pages of code and constants are those of the file",
						scenario, i+1, shared)
				}
			}
		}
		if diff := cmp.Diff(logs[0], logs[1]); diff != "" {
			t.Errorf("%s: the two differ:\n%s", scenario, diff)
		}
	}
}

// ofFile is how many pages that are never written a process has of the file that it executes. A few
// at their ends, with headers and tables that nobody reads, it has in any case.
func ofFile(t *testing.T, pid int) (pages uint64) {
	t.Helper()
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		if !strings.HasSuffix(strings.TrimSpace(line), path) || strings.Contains(line, " rw") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			t.Fatal(line, err)
		}
		pages += (to - from) / 4096
	}
	return pages
}
