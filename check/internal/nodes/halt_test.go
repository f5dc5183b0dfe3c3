package nodes

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// TestTries: who looks whether something has arrived, and does not wait for it, comes before all
// that it needs, or between two of these, or after them.
func TestTries(t *testing.T) {
	program := build(t, "./testdata/tries")
	r, err := Run(t.Context(), Config{Violations: 10, Nodes: []Node{
		{Name: "server", Program: program, Args: []string{"server"}, Listen: "127.0.0.1:7100"},
		{Name: "client", Program: program, Args: []string{"client"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, v := range r.Violations {
		found = append(found, v.Counterexample.Failure.Message)
		if v.Recording == nil {
			t.Errorf("%s: %s", found[len(found)-1], v.Unrecorded)
		}
	}
	for _, want := range []string{"found nothing", "found an answer"} {
		if !slices.ContainsFunc(found, func(m string) bool { return strings.Contains(m, want) }) {
			t.Errorf("no execution has %s: %q", want, found)
		}
	}
}

// TestHaltedExecutions: an execution ends for all who have left the skeleton, and the order in
// which a node does what an arrival waits for does not matter. So most executions are of use.
func TestHaltedExecutions(t *testing.T) {
	r, err := Run(t.Context(), Config{Crews: 2,
		Nodes: paxosNodes(build(t, "./paxos"), 3, 1, "-ballots", "1")})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != model.Holds || r.Counts.Skeletons != 46 || r.Counts.LocalTraces != 3936 ||
		r.Counts.GlobalTraces != 3920 || r.Runs > 2*r.Counts.LocalTraces {
		t.Errorf("%v (%s): %d executions, %+v", r.Verdict, r.Reason, r.Runs, r.Counts)
	}
}

// TestHaltsWhereItLeaves: whoever makes an event that the skeleton does not have is to go no
// further, and nothing arrives because of it. Others go on. Of a node in one order nobody does.
func TestHaltsWhereItLeaves(t *testing.T) {
	lock := access(7, model.Write)
	begin := func(script []skeleton.Event, ordered bool) *environment {
		n := newEnvironment(&network.Nodes{Names: []string{"n"}, Ordered: []bool{ordered},
			Data: map[network.Event][]byte{}}, 0, script, nil)
		for _, id := range []string{"a", "b", "c"} {
			n.open(&conn{id: id, other: 1, accepted: true})
		}
		return n
	}
	send := func(peers sut.Peers, to string) model.Answer {
		in := model.Input{Kind: model.Send, Conn: strings.Index("abc", to), Data: []byte("x")}
		a, err := peers.Exchange(in)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	script := begin(nil, false)
	send(script, "a")
	send(script, "b")
	script.analyse([]sut.Event{step(1), input, step(2), input}, 0)
	for _, c := range []struct {
		name    string
		ordered bool
		log     []sut.Event
		sends   []string // each by an input; a dash: none
		want    []bool
	}{
		{"the skeleton", false, []sut.Event{step(1), input, step(2), input}, []string{"a", "b"},
			[]bool{false, false}},
		{"another order", false, []sut.Event{step(2), input, step(1), input}, []string{"b", "a"},
			[]bool{false, false}},
		{"another event", false, []sut.Event{step(1), input, step(2), input}, []string{"c", "b"},
			[]bool{true, false}},
		{"other events before it", false, []sut.Event{step(1), lock, input, step(2), lock, input},
			[]string{"a", "b"}, []bool{false, true}},
		{"in one order", true, nil, []string{"c", "b"}, []bool{true, true}},
	} {
		events := script.made
		if c.ordered {
			events = nil
		}
		peers := watched(begin(events, c.ordered))
		for at, i := 0, 0; i < len(c.sends); i++ {
			if w, ok := peers.(sut.Watcher); ok {
				for c.log[at].Kind != sut.Exchanged {
					at++
				}
				w.Watch(c.log[:at])
				at++
			}
			if got := send(peers, c.sends[i]).Halts; got != c.want[i] {
				t.Errorf("%s: after sending on %s, halted is %t, want %t", c.name, c.sends[i], got, c.want[i])
			}
		}
	}
}

// TestPastsWhileANodeRuns: what is found to be before an event while the node runs is what the
// whole log says.
func TestPastsWhileANodeRuns(t *testing.T) {
	delays := 1
	x, err := newExplorer(t.Context(), Config{Delays: &delays,
		Nodes: paxosNodes(build(t, "./paxos"), 2, 2, "-ballots", "1")})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	if err := x.exploreAll(); err != nil {
		t.Fatal(err)
	}
	x.config.Delays = nil
	compared, left := 0, 0
	for _, s := range x.system.Skeletons() {
		for c := range s.Global {
			runs := 0
			if _, err := x.search(c, func() *environment {
				return newEnvironment(x.net, c, s.Global[c].Events, s.Global.Arrivals(c))
			}, func(n *environment, log *sut.Log, _ model.Outcome) bool {
				want := slices.Clone(n.made)
				for i := range want {
					want[i].Past = nil
				}
				pasts.All(want, n.inputs, log.Events, len(n.arrivals))
				if d := cmp.Diff(want, n.made); d != "" {
					t.Fatalf("node %d (-whole log +while it ran)\n%s", c, d)
				}
				compared += len(want)
				if n.deviation >= 0 {
					left++
				}
				runs++
				return runs == 40
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if compared < 1000 || left < 20 {
		t.Errorf("%d events were compared, and %d executions left their skeleton", compared, left)
	}
}
