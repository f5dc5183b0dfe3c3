package narrate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestLed: what led to a failure are the accesses of the goroutine that fails, and those that came
// in between.
func TestLed(t *testing.T) {
	for name, c := range map[string]struct {
		steps   string // the goroutine of each, and the object
		outcome model.Outcome
		want    string
	}{
		"check then act":       {"1a 2a 1a", model.Panicked, "0 1 2"},
		"a section is one":     {"1a 1a 2a 2a 1a", model.AssertionFailed, "0-1 2-3 4"},
		"other objects":        {"1a 1b 2b 2a 1a 1b", model.Panicked, "1 2 5"},
		"nobody in between":    {"2a 1a 1a", model.Panicked, ""},
		"never seen before":    {"2a 1a", model.Panicked, ""},
		"the last look counts": {"1a 2a 1a 2a 1a", model.Exited, "2 3 4"},
		"a deadlock":           {"1a 2a 1a", model.Deadlock, ""},
		"a wait group":         {"1w 2w 1w", model.Exited, ""},
		"the clock":            {"1a 2a 1a -", model.Panicked, "0 1 2"},
		"many others":          {"1a 2a 3a 2a 3a 2a 3a 2a 1a", model.Panicked, "0 4 5 6 7 8"},
	} {
		n := newNarrator(&sut.Program{}, &sut.Log{}, nil)
		n.result.Failure.Kind = c.outcome
		for _, text := range strings.Fields(c.steps) {
			s, told := report.Step{Goroutine: report.Clock, Source: "x.go:1"}, toldStep{}
			if text != "-" {
				s.Goroutine, told.object = int(text[0]-'0'), uint64(text[1])
				if text[1] == 'w' {
					s.Object = "wait group 1"
				}
			}
			n.addStep(s, told)
		}
		var got []string
		for _, a := range ledTo(&n.result, n.told, n.sources) {
			text := fmt.Sprint(a.First)
			if a.Last > a.First {
				text += fmt.Sprint("-", a.Last)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPeerDied: a peer has died if a signal has ended it, or if it says why, and its connection
// ends in the same step.
func TestPeerDied(t *testing.T) {
	end := []report.Message{{Event: "reset"}}
	ends := func(how string) []report.Message { return []report.Message{{About: "dropbear", Event: how}} }
	for name, c := range map[string]struct {
		io     []report.Message
		output string
		want   string
	}{
		"an assertion": {end, "[101] 12:00 Failed assertion (x.c:7): `a'\n",
			"dropbear died: Failed assertion (x.c:7): `a'"},
		"a panic of Go":         {end, "panic: out\n\ngoroutine 1", "dropbear died: panic: out"},
		"only said":             {nil, "Failed assertion", ""},
		"only an end":           {end, "bye\n", ""},
		"an end by the program": {[]report.Message{{ToPeer: true, Event: "reset"}}, "panic: out", ""},
		"a signal":              {ends(peers.Outcome(6)), "", "dropbear died: it " + peers.Outcome(6)},
		"a signal, and last words": {ends(peers.Outcome(6)), "Assertion `x' failed.",
			"dropbear died: Assertion `x' failed."},
		"an exit": {ends(peers.Outcome(1 << 8)), "", ""},
	} {
		n := newNarrator(&sut.Program{}, &sut.Log{}, nil)
		n.addStep(report.Step{IO: c.io}, toldStep{})
		n.result.Outputs = []report.Output{{Wrote: report.Wrote{Text: []byte("panic: of the program\n")}},
			{Wrote: report.Wrote{Peer: "dropbear", Text: []byte(c.output)}}}
		if got := peerDied(&n.result); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestPeerDiedInExchanges: exchanges tell the same as the counterexample that is made of them.
func TestPeerDiedInExchanges(t *testing.T) {
	wrote := []driver.Written{{Peer: "dropbear", Text: "Failed assertion (x.c:7)\n"}}
	ends := driver.Exchange{Input: model.Input{Kind: model.Send, Data: []byte("a")}, Wrote: wrote,
		Answer: model.Answer{Reaction: model.Reaction{Deliveries: []model.Delivery{{End: model.EOF}}}}}
	goesOn := ends
	goesOn.Answer = model.Answer{}
	for _, c := range []struct {
		exchanges []driver.Exchange
		want      string
	}{
		{[]driver.Exchange{goesOn, ends}, "dropbear died: Failed assertion (x.c:7)"},
		{[]driver.Exchange{goesOn}, ""}, {nil, ""},
	} {
		if got := PeerDied(c.exchanges); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
