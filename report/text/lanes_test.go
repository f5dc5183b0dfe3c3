package text

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/report"
)

// TestLanes: what a node does is in its lane, and the time is a line across all of them.
func TestLanes(t *testing.T) {
	var b strings.Builder
	if err := WriteNodes(&b, &report.Nodes{Verdict: report.Violated, Names: []string{"server", "client"},
		Steps: []report.NodeStep{{Node: "client", What: "waits"}, {What: "the time is 1.5 s"},
			{Node: "server", What: "answers"}}}); err != nil {
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
