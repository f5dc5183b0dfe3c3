package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/report"
)

// TestLanes: what a node does is in its lane, and the time is a line across all of them.
func TestLanes(t *testing.T) {
	var b strings.Builder
	run := report.Run{Verdict: report.Violated, Nodes: []report.Node{{Name: "server"}, {Name: "client"}}}
	v := report.Violation{Node: "server", Outcome: "panic", Network: []report.NodeStep{
		{Node: "client", What: "waits"}, {What: "the time is 1.5 s"}, {Node: "server", What: "answers"}}}
	if err := WriteNodes(&b, run, []report.Violation{v}, report.Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `
  server                  client
                          waits
  -- the time is 1.5 s ---------------------------
  answers
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s, want %s", b.String(), want)
	}
}

// TestSeveralOfNodes: several violations are listed, each with its node and its file.
func TestSeveralOfNodes(t *testing.T) {
	var b strings.Builder
	run := report.Run{Package: "./x", Verdict: report.Violated,
		Nodes: []report.Node{{Name: "a", Package: "./x"}, {Name: "b", Package: "./y"}}}
	list := []report.Violation{{Node: "a", Outcome: "panic", Message: "no", File: "x.1.counterexample"},
		{Node: "b", Outcome: "deadlock", File: "x.2.counterexample"}}
	if err := WriteNodes(&b, run, list, report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"VIOLATED: node a: panic: no, and 1 other\n  nodes a (./x), b (./y)\n",
		"2 distinct violations", "   1  node a: panic: no", "   2  node b: deadlock",
		"tandem replay x.2.counterexample"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}

// TestReduction: it is said how many executions were made at random. With -v there is a row for
// each skeleton, and the product of its executions.
func TestReduction(t *testing.T) {
	var b strings.Builder
	run := report.Run{Verdict: report.Holds, Reason: "all", Nodes: []report.Node{{Name: "a"}, {Name: "b"}},
		Counts: report.Counts{Executions: 20, Phases: report.Phases{Sampled: 4},
			NodesCounts: report.NodesCounts{Skeletons: 2, Local: 8, Global: 12,
				Traces: [][]int{{2, 3}, {1, 6}}}}}
	if err := WriteNodes(&b, run, nil, report.Options{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	const want = `
  4 of these were made at random, with all nodes together
  2 ways in which the nodes talk to each other (skeletons)
  8 different executions of single nodes within these stand for 12 of all nodes together
  reduction: each execution of a single node stands for 1.5 of all nodes together
  skeleton   a          b          together
  1          2          3          6
  2          1          6          6
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s, want %s", b.String(), want)
	}
}

// TestReadsAreFolded: reads of one stream, one after the other, are a line, unless all is to be
// shown.
func TestReadsAreFolded(t *testing.T) {
	run := report.Run{Verdict: report.Violated, Nodes: []report.Node{{Name: "a"}, {Name: "b"}}}
	read := func(node, conn string, taken int) report.NodeStep {
		return report.NodeStep{Node: node, Kind: "receive", Conn: conn, Taken: taken,
			What: fmt.Sprintf("receives on %s, up to byte %d", conn, taken)}
	}
	v := report.Violation{Node: "a", Outcome: "panic", Network: []report.NodeStep{read("a", "x", 1),
		read("a", "x", 2), read("a", "x", 9), read("a", "y", 10), {Node: "a", Kind: "receive", Conn: "y",
			What: "finds the end of y"}, {Node: "b", Kind: "close", Conn: "y", Taken: 3, What: "closes y"},
		read("b", "z", 5)}}
	const folded = `
  receives on x, up to byte 9, in 3 reads
  receives on y, up to byte 10
  finds the end of y
                          closes y
                          receives on z, up to byte 5
`
	for unfold, want := range map[bool]string{false: folded,
		true: "  receives on x, up to byte 2\n  receives on x, up to byte 9\n"} {
		var b strings.Builder
		if err := WriteNodes(&b, run, []report.Violation{v}, report.Options{Unfold: unfold}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s, want %s", b.String(), want)
		}
	}
}
