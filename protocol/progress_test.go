package protocol

import (
	"bytes"
	"os"
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

// TestTeller: lines become rarer, and come at least each minute.
func TestTeller(t *testing.T) {
	var out bytes.Buffer
	var logged []string
	written, log := newTeller(&out, nil), newTeller(nil, func(_ string, args ...any) {
		logged = append(logged, args[0].(Progress).String())
	})
	for elapsed := time.Duration(0); elapsed < 10*time.Minute; elapsed += 100 * time.Millisecond {
		for _, x := range []*teller{written, log, newTeller(nil, nil)} {
			if x.isDue(elapsed) {
				x.tell(Progress{States: 1, Elapsed: elapsed})
			}
		}
	}
	written.close()
	// After 1, 2, 4, 8, 16, 32 and 64 seconds, and then each minute.
	if n := strings.Count(out.String(), "\nprotocol: "); n != 14 || len(logged) != n+1 ||
		!strings.HasPrefix(out.String(), "protocol: 1s: 1 states") || !strings.HasPrefix(logged[6], "1m4s:") {
		t.Errorf("%d and %d lines:\n%s%q", n+1, len(logged), out.String(), logged)
	}
}

// TestLineIsRewritten: on a device the line is rewritten in place, and is gone in the end.
func TestLineIsRewritten(t *testing.T) {
	t.Setenv("TERM", "xterm")
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	x := newTeller(null, nil)
	if !x.live {
		t.Fatal("a device is taken for a file")
	}
	var out bytes.Buffer
	x.out = &out
	for elapsed := time.Duration(0); elapsed <= 2*time.Second; elapsed += 100 * time.Millisecond {
		if x.isDue(elapsed) {
			x.tell(Progress{States: 1, Elapsed: elapsed})
		}
	}
	x.close()
	x.close()
	if s := out.String(); strings.Count(s, "\r") != 7 || !strings.HasSuffix(s, "\r\x1b[K") ||
		strings.Contains(s, "\n") {
		t.Errorf("%q", s)
	}
	t.Setenv("TERM", "dumb")
	if newTeller(null, nil).live {
		t.Error("a dumb terminal cannot rewrite a line")
	}
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
