package nodes

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestRehearse: each node of a counterexample does by itself what it has done with the others, and
// does it again with another worker. After a crash, that is what it does then.
func TestRehearse(t *testing.T) {
	systems := violating(t)
	systems["a crash"] = exampleNodes(t, "crash", "server 127.0.0.1:7800", "client")
	for name, list := range systems {
		c := Config{Nodes: list}
		if name == "a crash" {
			c.Crash, c.Executions = given.Crash{Crashes: []int{0}, CrashLimit: 1}, 400
			c.Walks = &pick.Walks{Seed: 1, Picks: allPicks}
		}
		r, err := Run(t.Context(), c)
		if err != nil || r.Violation() == nil {
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		rec := throughFile(t, r.Violation().Recording)
		for i := range rec.Nodes {
			n := &rec.Nodes[i]
			rehearsal, closeAll, err := Rehearse(t.Context(), list[i].Program, rec, i)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer closeAll()
			w, err := sut.Start(list[i].Program, rehearsal.Options)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			again, err := rehearsal.Again(w)
			if err != nil {
				t.Fatalf("%s: node %s: %v", name, n.Name, err)
			}
			hashes := strings.Fields(n.EventLog)
			want := hashes[len(hashes)-1]
			if got := narrate.EventHash(rehearsal.Log.Events); got != want || rehearsal.Parted != "" {
				t.Errorf("%s: node %s: %s, want %s; %s", name, n.Name, got, want, rehearsal.Parted)
			}
			if got := narrate.EventHash(again.Events); got != want {
				t.Errorf("%s: node %s again: %s, want %s", name, n.Name, got, want)
			}
		}
	}
}

// TestRehearseOthers: a program that has changed is followed as far as it agrees, and it is said
// where it does not. A schedule that an unchanged one cannot follow is an error.
func TestRehearseOthers(t *testing.T) {
	list := scriptedNodes(build(t, "./testdata/script"), []string{"dial :7301", "write x", "write y"},
		[]string{"listen :7301", "accept", "read 9", "not 1"})
	r, err := Run(t.Context(), Config{Nodes: list})
	if err != nil {
		t.Fatal(err)
	}
	rehearse := func(change func(*report.NodeRecording)) (string, error) {
		rec := *r.Violation().Recording
		rec.Nodes = slices.Clone(rec.Nodes)
		n := &rec.Nodes[0]
		n.Args, n.Schedule = slices.Clone(n.Args), slices.Clone(n.Schedule)
		change(n)
		rehearsal, closeAll, err := Rehearse(t.Context(), list[0].Program, &rec, 0)
		if err != nil {
			return "", err
		}
		defer closeAll()
		return rehearsal.Parted, nil
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dial :7301", "write z"},
			`node a differs from its event 2 on; recorded: it sends on a#1: "x"; now: it sends on a#1: "z"`},
		{nil, "node a does not do what is recorded: it connects as a#1 to 127.0.0.1:7301"},
	} {
		got, err := rehearse(func(n *report.NodeRecording) { n.Build, n.Args = "other", c.args })
		if got != c.want || err != nil {
			t.Errorf("%q: %q, %v, want %q", c.args, got, err, c.want)
		}
	}
	_, err = rehearse(func(n *report.NodeRecording) { n.Schedule[0].Goroutine = 7 })
	if err == nil || !strings.Contains(err.Error(), "node a: the program is not deterministic") {
		t.Errorf("a schedule that cannot be followed: %v", err)
	}
}
