package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/internal/testkit/schema"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

// written is the document of a check. It must be valid by the schema.
func written(t *testing.T, run report.Run, list ...report.Violation) string {
	t.Helper()
	var text bytes.Buffer
	if err := report.WriteJSON(&text, run, list); err != nil {
		t.Fatal(err)
	}
	problems, err := schema.Problems("../docs/report.schema.json", text.Bytes())
	if err != nil || problems != nil {
		t.Errorf("%v\n%s", err, strings.Join(problems, "\n"))
	}
	return text.String()
}

// TestJSON: documents are as they were, with failures, schedules and outputs.
func TestJSON(t *testing.T) {
	run, list := reporttest.Violations()
	golden.Equal(t, "violations.json", written(t, run, list...))
	golden.Equal(t, "located.json", written(t, run, reporttest.Located()...))
}

// TestJSONOfNodes: of several programs the document says which one has the violation, and what they
// do to each other.
func TestJSONOfNodes(t *testing.T) {
	run := report.Run{Package: ".", Verdict: report.Violated, Reason: "a violation was found",
		Nodes: []report.Node{{Name: "server", Package: "./server", Listen: "127.0.0.1:1"},
			{Name: "client", Package: "./client", Args: []string{"-n", "2"}}},
		Counts: report.Counts{Executions: 14,
			NodesCounts: report.NodesCounts{Skeletons: 2, Local: 14, Global: 18}}}
	v := report.Violation{Outcome: "panic", Message: "no", Node: "server", File: "x.counterexample",
		Network: []report.NodeStep{
			{Node: "client", What: `sends on client#1: "\xff"`, Kind: "send", Conn: "client#1", Data: "\xff"},
			{Node: "server", What: "receives on client#1, up to byte 1", Kind: "receive", Conn: "client#1",
				Taken: 1},
			{What: "the time is 1.5 s", Kind: "pass", Time: 1500 * time.Millisecond},
			{Node: "server", What: "closes 127.0.0.1:1", Kind: "close", Address: "127.0.0.1:1"}}}
	golden.Equal(t, "nodes.json", written(t, run, v))
}

// TestJSONIsValid: whatever a counterexample has, the document is valid by the schema.
func TestJSONIsValid(t *testing.T) {
	full := reporttest.SSHSession()
	full.PeerTimer = &report.PeerTimer{Peer: "dropbear\xff", Due: 1500 * time.Millisecond}
	full.Shrunk = &report.Shrinking{Executions: 7, Before: report.Size{Preemptions: 2, Transitions: 40}}
	for _, c := range []*report.Counterexample{
		full, reporttest.Hostile(), reporttest.Long(3, 10), reporttest.DataRace(), new(report.Counterexample),
	} {
		run := report.Run{Verdict: report.Holds, Package: c.Run.Package}
		written(t, run, report.Violation{Outcome: "panic", Counterexample: c})
	}
	missed := report.Missed{Dialled: []report.Dial{{Address: "127.0.0.1:1", Result: "refused\xff"}},
		Clients: []string{":80"}, Configure: []string{"peers:"}, Undialled: []string{"127.0.0.1:9\xff"}}
	written(t, report.Run{Verdict: report.Unknown, Missed: missed, CutOff: "x", ResumeCommand: "y"})
	got := written(t, full.Run, report.Violation{Counterexample: full})
	for _, want := range []string{
		`"version": 1,`, `"headline": "panic: runtime error: invalid memory address or nil pointer `,
		`"data": "U1NILTIuMC1Hbw0K"`, // SSH-2.0-Go
		`"peer": "dropbear\ufffd"`, `"seconds": 1.5`, `"outputs_incomplete": true`,
	} {
		if !strings.Contains(got, strings.ReplaceAll(want, `\ufffd`, "\ufffd")) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

// TestJSONOfOutputs: what the program printed is there beside what the peers did, without a name.
// Where the step is not known, that is -1.
func TestJSONOfOutputs(t *testing.T) {
	c := reporttest.Deadlock()
	c.Outputs = []report.Output{
		{Step: 1, Wrote: report.Wrote{Text: []byte("hello\n")}},
		{Step: 2, Wrote: report.Wrote{Peer: "redis", Text: []byte("ready\n")}},
		{Step: -1, Wrote: report.Wrote{Text: []byte("bye \xff\n")}},
	}
	var got struct {
		Violations []struct {
			Outputs []struct {
				Step       int
				Peer, Text *string
			}
		}
	}
	text := written(t, report.Run{Verdict: report.Violated}, report.Violation{Counterexample: c})
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	list := ""
	for _, o := range got.Violations[0].Outputs {
		if o.Peer == nil || o.Text == nil {
			t.Fatalf("a field is not there:\n%s", text)
		}
		list += fmt.Sprintf("%d %q %q\n", o.Step, *o.Peer, *o.Text)
	}
	const want = `1 "" "hello\n"
2 "redis" "ready\n"
-1 "" "bye \ufffd\n"
`
	if list != strings.ReplaceAll(want, `\ufffd`, "\ufffd") {
		t.Errorf("%s, want %s", list, want)
	}
}

// TestWrongJSONIsNotValid: the schema refuses what is not as it says.
func TestWrongJSONIsNotValid(t *testing.T) {
	good := written(t, report.Run{Verdict: report.Holds},
		report.Violation{Outcome: "deadlock", Counterexample: reporttest.Deadlock()})
	for from, to := range map[string]string{
		`"version": 1`: `"version": 2`, `"verdict": "holds"`: `"verdict": "perhaps"`,
		`"rule": "deadlock",`: "", `"transitions": 0`: `"transitions": "0"`,
		`"outputs": []`: `"outputs": null`, `"operation": "lock"`: `"operation": 7`,
	} {
		wrong := strings.ReplaceAll(good, from, to)
		problems, err := schema.Problems("../docs/report.schema.json", []byte(wrong))
		if err != nil || problems == nil || wrong == good {
			t.Errorf("%s instead of %s: %v", to, from, err)
		}
	}
}

// TestWriteJSONOfPortfolio: the document says what the parts of a portfolio have done.
func TestWriteJSONOfPortfolio(t *testing.T) {
	run := report.Run{Counts: report.Counts{Executions: 6,
		Phases: report.Phases{Systematic: 1, Aimed: 2, Sampled: 3, FirstViolation: 4}}}
	var written bytes.Buffer
	if err := report.WriteJSON(&written, run, nil); err != nil {
		t.Fatal(err)
	}
	var got struct{ Counts map[string]any }
	if err := json.Unmarshal(written.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"systematic": 1, "aimed": 2, "sampled": 3,
		"first_violation": 4} {
		if got.Counts[name] != want {
			t.Errorf("%s is %v, want %v", name, got.Counts[name], want)
		}
	}
}
