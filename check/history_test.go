package check

import (
	"context"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/strategy"
)

var historyAlphabet = example{"alphabet", "alphabet/history.yaml", nil}

// TestOneHistory: the server tosses a coin for each answer and repeats all of its answers in each,
// so the client of every execution knows whether they come from one history of the server.
func TestOneHistory(t *testing.T) {
	for _, s := range []strategy.Strategy{strategy.AfterIO{}, strategy.Always{}} {
		o := historyAlphabet.options(t)
		o.Strategy = s
		result := check(t, o)
		if result.Verdict.Kind != explore.Holds || result.Counts.Restores < 10 {
			t.Errorf("%T: %v with %d restores, want holds with many: %s", s, result.Verdict.Kind,
				result.Counts.Restores, result.Verdict.Reason)
		}
	}
}

// TestMixedHistoriesAreNoticed shows that TestOneHistory can fail: here the checker takes the image
// of one state for that of another.
func TestMixedHistoriesAreNoticed(t *testing.T) {
	o := historyAlphabet.options(t)
	o.Search = untilViolation(o.Search)
	m := &mixer{images: map[int]string{}}
	o.Strategy = m
	r, err := newRun(context.Background(), o, interest{})
	if err != nil {
		t.Fatal(err)
	}
	m.side = r.peers
	result, err := r.finish()
	if err != nil {
		t.Fatalf("%v, want a violation", err)
	}
	if result.Verdict.Kind != explore.Violated {
		t.Errorf("%v, though histories were mixed in %d places", result.Verdict.Kind, m.mixed)
	}
}

// mixer checkpoints like after-io, but then exchanges the images of states of the same depth.
type mixer struct {
	side   *driver.Driver
	images map[int]string // the first image of each depth
	last   iocache.Position
	depth  int
	mixed  int
}

// Checkpoint implements strategy.Strategy. The image that was taken after its last answer is there
// by the time of its next.
func (m *mixer) Checkpoint(s strategy.Step) bool {
	if at, image, ok := m.nearest(); ok && m.depth >= 5 && slices.Equal(at, m.last) {
		if first := m.images[m.depth]; first == "" {
			m.images[m.depth] = image
		} else if first != image {
			m.side.Cache().SetImage(at, first, "memory")
			m.mixed++
		}
	}
	m.last, m.depth = m.side.Standing(), s.Depth
	return strategy.AfterIO{}.Checkpoint(s)
}

func (m *mixer) nearest() (iocache.Position, string, bool) {
	if m.last == nil {
		return nil, "", false
	}
	return m.side.Cache().Nearest(m.last)
}
