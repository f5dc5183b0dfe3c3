package nodes

import (
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestNotice: a node takes notice of the end of a stream if it reads on, in whatever way, also
// where it then gets no end, or ends itself. The close of a listener is nothing to those who have
// connected.
func TestNotice(t *testing.T) {
	program := build(t, "./testdata/notices")
	for mode, wants := range map[string]struct{ end bool }{
		"ends": {true}, "closes": {true}, "reads": {}, "reads for a while": {}, "tries": {},
		"gives up": {}, "ends while it reads": {},
	} {
		x, err := newExplorer(t.Context(), Config{Nodes: []Node{
			{Name: "server", Program: program, Args: []string{"server"}, Listen: "127.0.0.1:7200"},
			{Name: "client", Program: program, Args: []string{mode}}}})
		if err != nil {
			t.Fatal(err)
		}
		defer x.close()
		if err := x.exploreAll(); err != nil {
			t.Fatal(err)
		}
		if x.net.Ordered[1] {
			t.Fatalf("%s: its events are in one order", mode)
		}
		ends, doors := 0, 0
		for _, r := range x.reports {
			for _, idle := range r.Explored.Idle {
				switch {
				case idle.Arrival.Component != 0:
				case idle.Arrival.Stream == network.Doors:
					doors++
				default:
					ends++
				}
			}
		}
		if ends > 0 != wants.end || doors == 0 {
			t.Errorf("%s: %d ends of streams and %d listeners were no matter", mode, ends, doors)
		}
	}
}

// TestAlike: where a node is told of the same things at other times, and takes no notice, it is not
// explored again. Each part of the table closes its connections when it is done.
func TestAlike(t *testing.T) {
	program := build(t, "./philosophers/table")
	at := func(port string) string { return "127.0.0.1:700" + port }
	part := func(name, port, left string, more ...string) Node {
		return Node{Name: name, Program: program, Listen: at(port),
			Args: append([]string{"-seats", "4", "-listen", at(port), "-left", at(left)}, more...)}
	}
	r, err := Run(t.Context(), Config{Crews: 2, Nodes: []Node{part("a", "1", "3"), part("b", "2", "1"),
		part("c", "3", "2", "-wary")}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != model.Holds || r.Counts.GlobalTraces != 1<<12-2 || r.Counts.LocalTraces != 138 {
		t.Errorf("%v (%s): %+v", r.Verdict, r.Reason, r.Counts)
	}
}
