package distribute

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRate: a worker that ends a part every few seconds has the same rate in between, and a run
// begins with none.
func TestRate(t *testing.T) {
	var r rate
	now, executions := time.Unix(1000, 0), 0
	if got := r.note(now, 0); got != 0 {
		t.Errorf("nothing is known, and the rate is %v", got)
	}
	for second := 1; second <= 300; second++ {
		now = now.Add(time.Second)
		if second%3 == 0 {
			executions += 300
		}
		if got := r.note(now, executions); second >= 3 && (got < 50 || got > 130) {
			t.Errorf("after %d s the rate is %v, and it is 100", second, got)
		}
	}
	if got := r.note(now.Add(time.Second), 0); got != 0 {
		t.Errorf("another run begins with a rate of %v", got)
	}
}

// TestRateTwin: the rate is that since the last note from a minute ago or earlier.
func TestRateTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r rate
		var at []time.Time
		var counts []int
		now, executions := time.Unix(0, 0), 0
		for range rapid.IntRange(1, 60).Draw(t, "notes") {
			now = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
			executions += rapid.IntRange(0, 5).Draw(t, "executions")
			at, counts = append(at, now), append(counts, executions)
			from := 0
			for i := range at {
				if now.Sub(at[i]) >= rateSpan {
					from = i
				}
			}
			want := 0.0
			if took := now.Sub(at[from]); took > 0 {
				want = float64(executions-counts[from]) / took.Seconds()
			}
			if got := r.note(now, executions); got != want {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}
