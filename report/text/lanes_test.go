package text

import (
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
		Nodes: []report.Node{{Name: "a"}, {Name: "b"}}}
	list := []report.Violation{{Node: "a", Outcome: "panic", Message: "no", File: "x.1.counterexample"},
		{Node: "b", Outcome: "deadlock", File: "x.2.counterexample"}}
	if err := WriteNodes(&b, run, list, report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"VIOLATED: node a: panic: no, and 1 other\n  ./x\n",
		"2 distinct violations", "   1  node a: panic: no", "   2  node b: deadlock",
		"tandem replay x.2.counterexample"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}
