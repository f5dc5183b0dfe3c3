package check

import (
	"testing"
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
)

const (
	hour      = time.Hour
	outOfHour = "the time of 1h0m0s is over, in the middle of an execution"
)

// TestOvertime: when the time is over, an execution that does not end is ended, and the verdict is
// unknown: one that computes, and one that waits for a peer's timer by the machine's clock.
func TestOvertime(t *testing.T) {
	computes := endings(t, "no visible operations")
	computes.Patience = hour

	x := newDelayTest(t)
	waits := Options{
		Program: x.program, Package: "delays", Args: []string{"p600000"}, Depth: 1000, Search: dporSearch(),
		PeerOptions: PeerOptions{
			Client: x.clients[ckptd.BackendAuto], PeerPatience: hour,
			Group: &peers.Group{
				Peers: []peers.Peer{{Name: "server", Command: []string{"{scratch}/server"},
					Listen: "127.0.0.1:7000"}},
				Files: []peers.File{{Path: "{scratch}/server", Content: x.servers["c"], Mode: 0o755}},
			},
		},
	}
	var err error
	if waits.Strategy, err = strategy.ByName("adaptive"); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"computes": computes, "waits": waits} {
		o.Time, o.overtime = hour, time.Second-hour // the search itself does not end
		result, err := Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v := result.Verdict; v.Kind != explore.Unknown || v.Reason != outOfHour || v.Executions != 0 {
			t.Errorf("%s: %+v, want unknown: %s", name, v, outOfHour)
		}
	}
}

// TestOvertimeShowsViolations: what was found before the time was over is shown.
func TestOvertimeShowsViolations(t *testing.T) {
	o := endings(t, "panic or compute")
	o.Patience, o.Violations = hour, MaxViolations
	o.Time, o.overtime = hour, time.Second-hour // the search itself does not end
	result, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if v := result.Verdict; v.Kind != explore.Violated || v.Executions != 1 ||
		v.Reason != outOfHour {
		t.Errorf("%+v, want violated in 1 execution, and the reason why the search has ended", v)
	}
	if len(result.Violations) != 1 || result.Violations[0].Recording == nil {
		t.Errorf("%+v, want the violation of the first execution", result.Violations)
	}
}
