package memory

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbersGoRound against a twin that has given none before: no ID comes again until all of the
// upper half were chosen, and none is of the lower half, where peers get theirs.
func TestNumbersGoRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(2, 50).Draw(t, "limit")
		n := pidAllocator{limit: limit}
		given := map[int]bool{}
		for range rapid.IntRange(1, 200).Draw(t, "copies") {
			got, err := n.choose()
			if err != nil || got < limit/2 || got >= limit {
				t.Fatalf("%d of %d, %v", got, limit, err)
			}
			if given[got] {
				t.Fatalf("%d comes again after %d of %d", got, len(given), limit-limit/2)
			}
			if given[got] = true; len(given) == limit-limit/2 {
				clear(given)
			}
		}
	})
}

// TestFirstNumber is the highest that this machine has.
func TestFirstNumber(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Fatal(err)
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := new(pidAllocator).choose(); got != limit-1 || err != nil {
		t.Errorf("%d, %v, want %d", got, err, limit-1)
	}
}
