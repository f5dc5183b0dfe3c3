package driver

import (
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/strategy"
)

// TestInputsCostWhatTheirKindDoes: that clients are started when the program listens makes what
// follows no more expensive.
func TestInputsCostWhatTheirKindDoes(t *testing.T) {
	var e costModel
	kinds := map[model.Kind]time.Duration{model.Listen: time.Minute, model.Send: time.Millisecond}
	for kind, took := range kinds {
		e.gave(kind, time.Now().Add(-took))
		e.gave(kind, time.Now().Add(-3*took))
	}
	for _, c := range []struct {
		inputs map[model.Kind]int
		want   time.Duration
	}{
		{nil, 0},
		{map[model.Kind]int{model.Send: 3}, 6 * time.Millisecond},
		{map[model.Kind]int{model.Send: 3, model.Listen: 1}, 2 * time.Minute},
		{map[model.Kind]int{model.Close: 7}, 0}, // nobody knows
	} {
		s := strategy.Step{Kind: strategy.Send}
		if e.describe(&s, c.inputs, 0); s.Replay < c.want || s.Replay > c.want+c.want/2 {
			t.Errorf("%v take %v, want %v", c.inputs, s.Replay, c.want)
		}
	}
}
