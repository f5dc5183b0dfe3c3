package nodes

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestFaults: the network fails at either end of a connection. The other end finds that it was
// closed. The client does not expect one of the ends of its read.
func TestFaults(t *testing.T) {
	program := build(t, "./testdata/script")
	for _, c := range []struct {
		faults   int
		kind, on string
		can      []string
		lost     bool // at the server, which only writes
	}{
		{0, "end", "read", []string{"data"}, false},
		{1, "end", "read", []string{"data", "end"}, false},
		{1, "reset", "read", []string{"data", "reset"}, false},
		{1, "end", "write", []string{"data", "end"}, true},
		{1, "reset", "write", []string{"data", "end"}, true},
	} {
		var can []string
		lost := false
		for _, unexpected := range []string{"data", "end", "reset"} {
			config := Config{Nodes: scriptedNodes(program, []string{"dial :7301", "read-not " + unexpected},
				[]string{"listen :7301", "accept", "write-not nothing"})}
			config.Worker.Environment = sut.Environment{Faults: c.faults, FaultKinds: []string{c.kind},
				FaultOperations: []string{c.on}}
			r, err := Run(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			v := r.Violation()
			if v == nil {
				if r.Verdict != model.Holds {
					t.Errorf("%d, %s: %v, %s", c.faults, c.kind, r.Verdict, r.Reason)
				}
				continue
			}
			can = append(can, unexpected)
			lost = lost || slices.ContainsFunc(v.Events, func(s report.NodeStep) bool {
				return s.Node == "b" && s.What == "loses a#1, a fault of the network"
			})
			again, err := Replay(t.Context(), programsOf(config.Nodes), throughFile(t, v.Recording), 3)
			if err != nil || again.Violation == nil {
				t.Errorf("%d, %s: %s; %+v, %v", c.faults, c.kind, v.Unrecorded, again, err)
			}
		}
		if !slices.Equal(can, c.can) || lost != c.lost {
			t.Errorf("%d, %s at a %s: the client finds %q, want %q; lost at the server: %t", c.faults,
				c.kind, c.on, can, c.can, lost)
		}
	}
}

// TestFaultsAreBounded: each node has as many faults as are allowed, and no more. Two reads that
// fail at one node are two.
func TestFaultsAreBounded(t *testing.T) {
	program := build(t, "./testdata/script")
	for faults, want := range []model.Verdict{model.Holds, model.Holds, model.Violated} {
		config := Config{Nodes: scriptedNodes(program, []string{"dial :7301", "expect reset", "dial :7301",
			"read-not reset"}, []string{"listen :7301", "accept",
			"write-not nothing", "accept", "write-not nothing"}),
			Worker: sut.Options{Environment: sut.Environment{Faults: faults,
				FaultKinds: []string{"reset"}, FaultOperations: []string{"read"}}}}
		r, err := Run(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != want {
			t.Errorf("%d faults: %v, %s", faults, r.Verdict, r.Reason)
		}
	}
}

// TestRefused: a connect is refused only where the network may fail.
func TestRefused(t *testing.T) {
	program := build(t, "./testdata/script")
	for faults, want := range []model.Verdict{model.Holds, model.Violated} {
		config := Config{Nodes: scriptedNodes(program, []string{"dial :7301"},
			[]string{"listen :7301", "accept"})}
		config.Worker.Environment.Faults = faults
		config.Worker.Environment.FaultKinds = []string{"refused"}
		r, err := Run(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Violation(); r.Verdict != want || v != nil &&
			!strings.Contains(v.Counterexample.Failure.Message, "refused") {
			t.Errorf("%d faults: %v, %s, %+v", faults, r.Verdict, r.Reason, v)
		}
	}
}
