package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestOffsets are read as they are written, with nanoseconds as the kernel wants them.
func TestOffsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Duration(rapid.Int64Range(-1<<60, 1<<60).Draw(t, "offset"))
		text := formatOffsets(want)
		for line := range strings.Lines(text) {
			var clock string
			var s, ns int64
			if _, err := fmt.Sscan(line, &clock, &s, &ns); err != nil || ns < 0 || ns >= int64(time.Second) {
				t.Errorf("%q: %v", line, err)
			}
		}
		if got, err := parseOffset(text); got != want || err != nil {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	})
}

// TestOffsetOfTheKernel is that of the monotonic clock, among others.
func TestOffsetOfTheKernel(t *testing.T) {
	got, err := parseOffset("monotonic           -2  999000000\nboottime             5         0\n")
	if got != -1001*time.Millisecond || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	_, err = parseOffset("monotonic x 0\n")
	if err == nil || !strings.Contains(err.Error(), `"monotonic x`) {
		t.Errorf("%v", err)
	}
}
