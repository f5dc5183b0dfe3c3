package protocol

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestProgressText: the line has what is wanted, and fits into a terminal of 80 columns.
func TestProgressText(t *testing.T) {
	events := Progress{Events: 4200, Elapsed: 90 * time.Second}
	for want, p := range map[string]Progress{
		"2s: 1.5k states, 750/s, depth 7, frontier 20, 12.3k transitions, 999B": {States: 1500, Depth: 7,
			Frontier: 20, Transitions: 12_345, Bytes: 999, Elapsed: 2 * time.Second},
		"1m30s: 4.2k events of local states":                        events,
		"0s: 0 states, 0/s, depth 0, frontier 0, 0 transitions, 0B": {},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(most int64) int64 { return rapid.Int64Range(0, most).Draw(t, "number") }
		p := Progress{States: int(draw(1 << 40)), Depth: int(draw(9999)), Frontier: int(draw(1 << 40)),
			Transitions: draw(1 << 45), Bytes: draw(1 << 45),
			Elapsed: time.Duration(draw(int64(99 * time.Hour)))}
		if s := p.String(); len(s) > 100 {
			t.Fatalf("%d characters: %s", len(s), s)
		}
	})
}

// TestProgressOfTest: a test logs how far it is, and writes it where it is told to. What is on the
// frontier is a part of the states.
func TestProgressOfTest(t *testing.T) {
	grow := func(c *counter, e *Env, _ any) { c.N = 2*c.N + 1 + e.Choose(2) }
	var out bytes.Buffer
	var r, quiet recorder
	o := Options{Workers: 1, Time: 1200 * time.Millisecond, Partial: true}
	o.Progress = func(p Progress) {
		if p.Frontier < 1 || p.Frontier >= p.States {
			t.Errorf("%+v", p)
		}
	}
	Test(&r, one(1<<40, grow), o)
	o.Output, o.Search = &out, DepthFirst
	Test(&quiet, one(1<<40, grow), o)
	if !strings.Contains(r.logged, ", frontier ") || strings.Contains(quiet.logged, "frontier") ||
		!strings.Contains(out.String(), "protocol: 1s: ") || r.failed+quiet.failed != "" {
		t.Errorf("logged %q and %q, written %q, failed %q", r.logged, quiet.logged, out.String(), r.failed)
	}
}
