package nodes

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// replays is how often each counterexample is replayed.
var replays = flag.Int("replays", 20, "replay each counterexample `n` times")

// throughFile is a recording after it was in a file.
func throughFile(t *testing.T, rec *report.NodesRecording) *report.NodesRecording {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nodes.counterexample")
	if err := report.SaveNodes(path, rec); err != nil {
		t.Fatal(err)
	}
	_, back, err := report.LoadAny(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rec, back, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("(-saved +loaded)\n%s", d)
	}
	return back
}

// programsOf are those of nodes, in their order.
func programsOf(list []Node) (programs []*sut.Program) {
	for _, n := range list {
		programs = append(programs, n.Program)
	}
	return programs
}

// violating are systems that have a violation of some kind, by what they show.
func violating(t *testing.T) map[string][]Node {
	script := build(t, "./testdata/script")
	of := func(scripts ...[]string) []Node { return scriptedNodes(script, scripts...) }
	server, client := build(t, "./counter/server"), build(t, "./counter/client")
	slow, impatient := build(t, "./retry/server"), build(t, "./retry/client")
	return map[string][]Node{
		"three nodes": {
			{Name: "server", Program: server, Package: "./counter/server", Listen: "127.0.0.1:7100"},
			{Name: "one", Program: client, Package: "./counter/client"},
			{Name: "two", Program: client, Package: "./counter/client"},
		},
		// One goroutine receives and then sends, on other connections than each of two others.
		"independent": lanes{[]int{2}, []int{9, 0}, [][]string{{"r0", "s1"}, {"r1 s0", ""}}}.nodes(
			build(t, "./testdata/lanes")),
		"the clock": {
			{Name: "server", Program: slow, Package: "./retry/server", Listen: "127.0.0.1:7400"},
			{Name: "client", Program: impatient, Package: "./retry/client"},
		},
		"a deadlock": of([]string{"listen :7300", "dial :7301", "read 1"},
			[]string{"listen :7301", "dial :7300", "read 1"}),
		"a part of a stream": of([]string{"dial :7301", "write x", "write y"},
			[]string{"listen :7301", "accept", "read 9", "not 1"}),
		"more of a stream": of([]string{"dial :7301", "write x", "read 1", "write y"},
			[]string{"listen :7301", "accept", "write r", "read 9", "not 2"}),
		"not accepted": of([]string{"listen :7300", "accept", "write x"},
			[]string{"dial :7300", "read 1"}, []string{"dial :7300", "read 1"}),
		"late": of([]string{"dial :7301", "sleep 2", "write x"},
			[]string{"listen :7301", "accept", "within 1", "read 1"}),
		"at the same time": of([]string{"dial :7301", "sleep 1", "write x"},
			[]string{"listen :7301", "accept", "try 1", "not 1"}),
	}
}

// TestReplay: a counterexample of each kind goes through a file, and does the same again with all
// nodes together, each time. What is shown of it is what the check has shown.
func TestReplay(t *testing.T) {
	for name, list := range violating(t) {
		t.Run(name, func(t *testing.T) {
			r, err := Run(t.Context(), Config{Nodes: list})
			if err != nil {
				t.Fatal(err)
			}
			v := r.Violation()
			if v == nil || v.Recording == nil {
				t.Fatalf("%v: %+v", r.Verdict, v)
			}
			again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), *replays)
			if err != nil {
				t.Fatal(err)
			}
			if again.Violation == nil || again.Parted != nil || again.Changed != nil {
				t.Fatalf("%+v", again)
			}
			if d := cmp.Diff(v, again.Violation, cmpopts.EquateEmpty(),
				cmp.AllowUnexported(Violation{})); d != "" {
				t.Errorf("(-checked +replayed)\n%s", d)
			}
		})
	}
}

// TestReplayOfOthers: a program that has changed and does the same has the violation again; one
// that does something else parts, and the place is named; one that was not changed has to do the
// same.
func TestReplayOfOthers(t *testing.T) {
	program := build(t, "./testdata/script")
	list := scriptedNodes(program, []string{"dial :7301", "write x", "write y"},
		[]string{"listen :7301", "accept", "read 9", "not 1"})
	r, err := Run(t.Context(), Config{Nodes: list})
	if err != nil {
		t.Fatal(err)
	}
	replay := func(change func(*report.NodesRecording)) (*Replayed, error) {
		rec := throughFile(t, r.Violation().Recording)
		change(rec)
		return Replay(t.Context(), programsOf(list), rec, 2)
	}
	for _, c := range []struct {
		name   string
		change func(*report.NodesRecording)
		parted string
		ended  string
		shown  bool
	}{
		{"rebuilt", func(r *report.NodesRecording) {
			r.Nodes[0].Build, r.Nodes[1].Build = "other", "other"
		}, "", "panic", true},
		{"sends something else", func(r *report.NodesRecording) {
			r.Nodes[0].Build, r.Nodes[0].Args[1] = "other", "write z"
		}, "node a differs from its event 2 on; recorded: it sends on a#1: \"x\"; now: it sends on a#1: " +
			"\"z\"", "", false},
		{"does more", func(r *report.NodesRecording) {
			r.Nodes[1].Build, r.Nodes[1].Args = "other", append(r.Nodes[1].Args[:3:3], "write z")
		}, "node b differs from its event 4 on; recorded: it closes 127.0.0.1:7301; now: it sends on a#1: " +
			"\"z\"", "", false},
		{"does less", func(r *report.NodesRecording) {
			r.Nodes[0].Build, r.Nodes[0].Args = "other", nil
		}, "node a differs from its event 1 on; recorded: it connects as a#1 to 127.0.0.1:7301; now: it " +
			"does no more", "", false},
		{"mended", func(r *report.NodesRecording) {
			r.Nodes[1].Build, r.Nodes[1].Args[3] = "other", "not 5"
		}, "", "completed", false},
	} {
		got, err := replay(c.change)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		parted := ""
		if got.Parted != nil {
			parted = got.Parted.String()
		}
		if parted != c.parted || c.ended != "" && got.Ended != c.ended || (got.Violation != nil) != c.shown {
			t.Errorf("%s: %+v, parted %s", c.name, got, parted)
		}
	}
	for name, change := range map[string]func(*report.NodesRecording){
		"node a: the event log differs": func(r *report.NodesRecording) { r.Nodes[0].EventLog = "0" },
		`node b ended with "panic", recorded is "deadlock"`: func(r *report.NodesRecording) {
			r.Nodes[1].Outcome = "deadlock"
		},
		"run 1 of 2: node a: the event": func(r *report.NodesRecording) { r.Nodes[0].Args[1] = "write z" },
		"node b: the program is not deterministic: the schedule could not be followed at choice 0": func(
			r *report.NodesRecording) {
			r.Nodes[1].Schedule[0].Goroutine = 7
		},
		// Nobody waits for an event that never comes.
		"node b": func(r *report.NodesRecording) { r.Events = r.Events[:2] },
	} {
		if _, err := replay(change); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

// TestSeveralViolations: those that show something else are told apart, and each is recorded.
func TestSeveralViolations(t *testing.T) {
	list := scriptedNodes(build(t, "./testdata/script"), []string{"dial :7301", "write x", "write y"},
		[]string{"listen :7301", "accept", "read 9", "not 1", "read 9"})
	r, err := Run(t.Context(), Config{Nodes: list, Violations: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) != 2 || r.Verdict != model.Violated {
		t.Fatalf("%v: %d violations", r.Verdict, len(r.Violations))
	}
	for _, v := range r.Violations {
		if again, err := Replay(t.Context(), programsOf(list), v.Recording, 1); err != nil ||
			again.Violation == nil {
			t.Errorf("%+v, %v", again, err)
		}
	}
}

// TestUnrecorded: where other nodes do not do again what is needed, a violation is shown all the
// same, and as it was found.
func TestUnrecorded(t *testing.T) {
	for name, list := range violating(t) {
		x, err := newExplorer(t.Context(), Config{Nodes: list})
		if err != nil {
			t.Fatal(err)
		}
		defer x.close()
		if err := x.exploreAll(); err != nil || len(x.found) == 0 {
			t.Fatalf("%s: nothing was found: %v", name, err)
		}
		f := x.found[0]
		want, err := recorder{x}.record(f)
		if err != nil || want.Recording == nil {
			t.Fatalf("%s: %v, %s", name, err, want.Unrecorded)
		}
		other := (f.item.Component + 1) % len(f.global)
		f.global[other].Events = append(slices.Clip(f.global[other].Events), skeleton.Event{
			Name: skeleton.Name{Component: other, Stream: "x out", N: 1}, To: skeleton.Nobody,
			Label: network.Event{Kind: model.Send, Conn: "x"}}) // no node does that
		got, err := recorder{x}.record(f)
		if err != nil || got.Unrecorded == "" || got.Recording != nil {
			t.Errorf("%s: %v, %q", name, err, got.Unrecorded)
		}
		if got.Signature != want.Signature {
			t.Errorf("%s: it is told as %s, not as %s", name, got.Signature, want.Signature)
		}
	}
}
