package distribute

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit"
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

// TestRateOfALongPart: executions count before their part has ended, which may take minutes.
func TestRateOfALongPart(t *testing.T) {
	t.Parallel()
	l := mustLead(t, Options{URL: Embedded})
	var isSeen atomic.Bool
	c := recruit(t, l.URL(), 1, func(_ []byte, stop func() bool) {
		testkit.Await(t, "the rate is seen", func() bool { return stop() || isSeen.Load() })
	})
	c.await(l, 1)
	var busy sync.WaitGroup
	defer busy.Wait()
	defer isSeen.Store(true)
	busy.Go(func() {
		if _, err := l.Explore(t.Context(), []byte("one"), nil); err != nil {
			t.Error(err)
		}
	})
	testkit.Await(t, "a rate", func() bool {
		s, err := StatusOf(t.Context(), Options{URL: l.URL()})
		return err == nil && len(s.Workers) == 1 && s.Workers[0].Rate > 0 && s.Workers[0].Parts == 0
	})
}
