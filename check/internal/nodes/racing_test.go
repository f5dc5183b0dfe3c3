package nodes

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
	"github.com/tandem-mc/tandem/sut/suttest"
)

// TestRacing: a data race between two requests is found, recorded and replayed, whether the events
// of the nodes are in one order or not. In the execution that is found first, one request is
// answered before the other one is read. Nothing else orders the accesses.
func TestRacing(t *testing.T) {
	program := suttest.Build(t, sut.BuildOptions{Dir: ".", Package: "./testdata/racing",
		Races: []string{sut.RacesMain}})
	list := []Node{{Name: "server", Program: program, Listen: "127.0.0.1:7300", Args: []string{"server"}},
		{Name: "client", Program: program, Args: []string{"client"}}}
	walks := &pick.Walks{Seed: 1, Picks: allPicks}
	for name, c := range map[string]Config{"explored": {}, "slow": {Slow: 1}, "at random": {Walks: walks}} {
		t.Run(name, func(t *testing.T) {
			c.Nodes, c.Executions = list, 2000
			r, err := Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			v := r.Violation()
			// Both accesses are told.
			if v != nil && strings.Count(v.Signature, "racing/main.go") != 2 {
				t.Errorf("the signature is %q", v.Signature)
			}
			if v == nil || v.Outcome != model.DataRace || v.Recording == nil {
				t.Fatalf("%v after %d executions: %+v", r.Verdict, r.Runs, v)
			}
			again, err := Replay(t.Context(), []*sut.Program{program, program}, v.Recording, 20)
			if err != nil || again.Parted != nil || again.Violation == nil ||
				again.Violation.Signature != v.Signature {
				t.Errorf("%+v, %v; it was %q", again, err, v.Signature)
			}
		})
	}
}
