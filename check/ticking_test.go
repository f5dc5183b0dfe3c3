package check

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// busyPeer has timers, by which it does nothing that the program sees until some time: then it
// answers; never, if that is 0.
type busyPeer struct {
	answers, now time.Duration
	passes       int
}

func (p *busyPeer) Exchange(in model.Input) (a model.Answer, err error) {
	if in.Kind != model.Pass {
		return a, nil
	}
	p.passes++
	most := in.Most
	if most == 0 {
		most = time.Second
	}
	if left := p.answers - p.now; p.answers > 0 && left > 0 && left <= most {
		most = left
		a.Deliveries = []model.Delivery{{Data: []byte("x")}}
	}
	p.now += most
	a.Time.Passed = most
	return a, nil
}

// TestLoopsBesidePeers: where the program only loops on timers, and peers do nothing, the execution
// is cut off after some minutes of its time. It is not if the peer answers before, or if the loop
// ends by itself.
func TestLoopsBesidePeers(t *testing.T) {
	p, err := buildProgram("testdata/ticking", filepath.Join(tree, "ticking"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		loop    string
		answers time.Duration
		passes  int // at most
		want    string
	}{
		{"sleep", 0, 40, "step limit reached"},
		{"ticker", 0, 340, "step limit reached"},
		{"sleep", 100 * time.Second, 30, "completed"},
		{"ticker", 100 * time.Second, 110, "completed"},
		{"clock", 0, 250, "completed"},
		{"count", 0, 210, "completed"},
	} {
		t.Run(fmt.Sprint(test.loop, " ", test.answers), func(t *testing.T) {
			seen, passes, peer := map[string]bool{}, 0, (*busyPeer)(nil)
			newPeer := func() sut.Peers {
				peer = &busyPeer{answers: test.answers}
				return peer
			}
			o := sut.Options{Args: []string{test.loop}, Environment: sut.Environment{PeerTime: true}}
			if _, err := eachExecutionWith(newPeer, p, o, dporSearch(),
				func(log *sut.Log, x explore.Execution) bool {
					seen[x.Outcome.String()], passes = true, max(passes, peer.passes)
					return true
				}); err != nil {
				t.Fatal(err)
			}
			delete(seen, explore.Redundant.String())
			if diff := cmp.Diff([]string{test.want}, slices.Sorted(maps.Keys(seen))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if passes > test.passes {
				t.Errorf("the peer was asked %d times, want at most %d", passes, test.passes)
			}
		})
	}
}
