package sut_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// TestOutputAtTimes: an execution has its own output, in whatever way it prints, and none if it is
// silent; and what it has opened is closed. A worker looks for neither where nothing was done.
func TestOutputAtTimes(t *testing.T) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.FromMain, sut.Fork} {
		for _, way := range []string{"fmt", "println", "write", "writev", "dup", "socket", "open", "panic"} {
			t.Run(fmt.Sprint(isolation, "/", way), func(t *testing.T) {
				w := start(t, isolation, "at times", way)
				first := run(t, w, sut.Schedule{Seed: 1}, nil)
				if !strings.HasPrefix(string(first.Stdout), "initialised\n") {
					t.Errorf("what was printed before main is lost: %q", first.Stdout)
				}
				before := descriptors(t, w)
				outputs, silent := map[string]int{}, 0
				for seed := range uint64(40) {
					log := run(t, w, sut.Schedule{Seed: seed + 2}, nil)
					text := string(log.Stdout) + string(log.Stderr)
					if log.Outcome == sut.Completed && text == "" {
						silent++
						continue
					}
					outputs[text]++
					if log.Outcome == sut.Completed || !strings.Contains(text, "printed") {
						t.Fatalf("seed %d: %v, %q", seed, log.Outcome, text)
					}
				}
				if len(outputs) != 1 || silent == 0 {
					t.Errorf("%d are silent, others print %v", silent, outputs)
				}
				if after := descriptors(t, w); isolation != sut.Fork && after > before {
					t.Errorf("the worker has %d descriptors, and had %d", after, before)
				}
			})
		}
	}
}

// descriptors is how many a worker has, at the end of an execution.
func descriptors(t *testing.T, w *sut.Worker) int {
	t.Helper()
	// What the last execution has opened is closed when the next one begins.
	run(t, w, sut.Schedule{Seed: 1}, nil)
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
