package nodes

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/kept"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestResume: an exploration that is ended again and again, and goes on from what was saved last,
// has the result of one that was never ended.
func TestResume(t *testing.T) {
	program := build(t, "./testdata/script")
	for _, c := range []struct {
		name    string
		scripts [][]string
		want    model.Verdict
	}{
		{"orders", [][]string{{"dial :7302", "write x"}, {"dial :7302", "write y"},
			{"listen :7302", "accept", "read 1", "accept", "read 1"}}, model.Holds},
		{"time", [][]string{{"dial :7301", "sleep 1", "write x"},
			{"listen :7301", "accept", "within 2", "read 1"}}, model.Holds},
		{"a violation", [][]string{{"dial :7301", "write x", "write y"},
			{"listen :7301", "accept", "read 9", "not 2"}}, model.Violated},
		{"a deadlock", [][]string{{"listen :7300", "dial :7301", "read 1"},
			{"listen :7301", "dial :7300", "read 1"}}, model.Violated},
		{"resets", [][]string{{"dial :7301", "write x", "write y", "write z"},
			{"listen :7301", "accept", "read 1"}}, model.Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := Config{Nodes: scriptedNodes(program, c.scripts...)}
			want, err := Run(t.Context(), config)
			if err != nil || want.Verdict != c.want {
				t.Fatalf("%+v, %v, want %v", want, err, c.want)
			}
			r := rand.New(rand.NewPCG(1, 2))
			got, ended := (*Result)(nil), 0
			for executions := 1 + r.IntN(3); ; executions += 1 + r.IntN(4) {
				config.Executions = executions
				config.Save = func(encode func() ([]byte, error), last bool) {
					// A save that was no last one is that of a check which is killed.
					if !last && r.IntN(3) > 0 {
						return
					}
					if config.Resume, err = encode(); err != nil {
						t.Fatal(err)
					}
				}
				if got, err = Run(t.Context(), config); err != nil {
					t.Fatal(err)
				}
				if got.Verdict != model.Unknown {
					break
				}
				ended++
			}
			if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Violation{})); d != "" || ended < 2 {
				t.Errorf("ended %d times (-never ended +resumed)\n%s", ended, d)
			}
		})
	}
}

// TestResumeOfNothing: what was not saved by Save, or by another version, is an error that says
// what to do.
func TestResumeOfNothing(t *testing.T) {
	other, err := kept.State{Reports: []kept.Report{{Key: "another name of an item"}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Nodes: scriptedNodes(build(t, "./testdata/script"), []string{"dial :7301"},
		[]string{"listen :7301", "accept"})}
	for want, state := range map[string][]byte{
		"the exploration that was saved cannot be read":              []byte("nothing"),
		"the exploration was saved by another version of Tandem: ch": other,
	} {
		config.Resume = state
		if _, err := Run(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestInterrupted: a check that is interrupted is unknown, and is saved for the last time.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	saved := 0
	r, err := Run(ctx, Config{Nodes: scriptedNodes(build(t, "./testdata/script"),
		[]string{"dial :7301", "write x"}, []string{"listen :7301", "accept", "read 1"}),
		Saving: Saving{Save: func(_ func() ([]byte, error), last bool) {
			if cancel(); last {
				saved++
			}
		}}})
	if err != nil || r.Verdict != model.Unknown || r.Reason != "it was interrupted" || saved != 1 {
		t.Errorf("%+v, %v, %d last saves", r, err, saved)
	}
}

// TestBranchesOnce: what an item has found has each way to leave its skeleton once, although many
// executions leave it in the same way. Else memory would grow with executions.
func TestBranchesOnce(t *testing.T) {
	x, err := newExplorer(t.Context(), Config{
		Nodes: exampleNodes(t, "counter", "server 127.0.0.1:7100", "client", "client"), Violations: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	if err := x.exploreAll(); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, r := range x.reports {
		ways := map[string]bool{}
		for i := range r.Explored.Branches {
			b := &r.Explored.Branches[i]
			_, way := network.KeyOfBranch(b)
			if ways[way] {
				t.Errorf("node %d leaves its skeleton twice in one way, after %d events", b.Component,
					len(b.Before))
			}
			ways[way], all = true, all+1
		}
	}
	if all < 10 || all > x.runs {
		t.Errorf("%d branches of %d executions", all, x.runs)
	}
}
