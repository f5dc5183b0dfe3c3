package nodes

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
)

// fullAfter is a Config.Full that is so after so many calls.
func fullAfter(calls int64) func() string {
	var n atomic.Int64
	return func() string {
		if n.Add(1) <= calls {
			return ""
		}
		return "it is full"
	}
}

// TestFullGoesOn: what takes too much ends as unknown, and goes on from what was saved with more.
// In the end it has come to what it would have come to at once.
func TestFullGoesOn(t *testing.T) {
	for _, c := range []struct {
		name string
		Config
		step int64
	}{
		{"explored", Config{Nodes: exampleNodes(t, "counter", "server 127.0.0.1:7100", "client", "client"),
			Crews: 2}, 15},
		{"at random", Config{Nodes: election(t, "-atomic"), Walks: &pick.Walks{Seed: 1, Picks: allPicks},
			Executions: 120, Crews: 2}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.Walks == nil {
				c.Nodes[1].Args, c.Nodes[2].Args = []string{"fixed"}, []string{"fixed"}
			}
			whole, err := Run(t.Context(), c.Config)
			if err != nil || len(whole.Violations) > 0 {
				t.Fatalf("%+v, %v", whole, err)
			}
			ended := 0
			for calls := c.step; ; calls += c.step {
				c.Full = fullAfter(calls)
				last := false
				c.Save = func(encode func() ([]byte, error), isLast bool) {
					if last = last || isLast; isLast {
						if c.Resume, err = encode(); err != nil {
							t.Fatal(err)
						}
					}
				}
				r, err := Run(t.Context(), c.Config)
				if err != nil {
					t.Fatal(err)
				}
				if r.Reason == "it is full" {
					if ended++; r.Verdict != model.Unknown {
						t.Fatalf("%+v", r)
					}
					continue
				}
				// What was begun when it was full is done again.
				if d := cmp.Diff(whole, r, cmpopts.IgnoreFields(Result{}, "Runs")); d != "" || ended < 2 {
					t.Errorf("full %d times (-whole +resumed)\n%s", ended, d)
				}
				return
			}
		})
	}
}

// TestFullLosesNothing: a violation that was found before all is full is told, and can be replayed.
func TestFullLosesNothing(t *testing.T) {
	c := Config{Nodes: exampleNodes(t, "counter", "server 127.0.0.1:7100", "client", "client"),
		Violations: 100, Crews: 2}
	for calls := int64(10); ; calls += 10 {
		c.Full = fullAfter(calls)
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Reason != "it is full" {
			t.Fatalf("it was never full with a violation: %+v", r)
		}
		if len(r.Violations) > 0 {
			replayed(t, r, c.Nodes)
			return
		}
	}
}

// TestRescue: what other items of a batch have found is taken over where the machine ends the
// exploration, once, and not where a bound does that is the same everywhere.
func TestRescue(t *testing.T) {
	sent := network.Event{Kind: model.Send}
	of := func(keys ...string) *part {
		p := &part{explorer: &explorer{net: &network.Nodes{Data: map[network.Event][]byte{sent: {1}}}}}
		for _, key := range keys {
			p.found = append(p.found, &finding{key: key})
		}
		return p
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		full func() string
		want int
	}{{"full", t.Context(), fullAfter(0), 2}, {"ended", canceled, nil, 2},
		{"a bound", t.Context(), nil, 0}} {
		x := &explorer{ctx: c.ctx, known: map[string]bool{}, net: &network.Nodes{
			Data: map[network.Event][]byte{}}, config: Config{Saving: Saving{Full: c.full}, Violations: 2}}
		x.rescue([]*part{of(), of("a"), of("a", "b"), of("c")})
		if len(x.found) != c.want || len(x.net.Data) != min(c.want, 1) {
			t.Errorf("%s: %d are taken over, want %d", c.name, len(x.found), c.want)
		}
	}
}
