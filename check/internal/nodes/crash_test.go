package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestCrashesExplored: what nodes come to that crash is found, with all that a crash can lose, and
// replayed from the file. Where everything is durable in time, nothing is.
func TestCrashesExplored(t *testing.T) {
	durable := exampleNodes(t, "crash", "server 127.0.0.1:7800", "client")
	durable[0].Args = []string{"-sync"}
	program := build(t, "./testdata/parted")
	of := func(check, server, client string) []Node {
		return partedNodes(program, []string{server, client}, 1, check)
	}
	lives := []Node{{Name: "a", Package: "./testdata/lives", Program: build(t, "./testdata/lives"),
		Args: []string{"3"}}, {Name: "b", Package: "./testdata/parted", Program: program,
		Args: []string{"not:-"}}}
	for _, c := range []struct {
		name string
		Config
		want model.Verdict
	}{
		{"a name is not durable", Config{Nodes: exampleNodes(t, "crash", "server 127.0.0.1:7800", "client")},
			model.Violated},
		{"all is durable", Config{Nodes: durable}, model.Holds},
		{"stored and forgotten", Config{Crash: given.Crash{Crashes: []int{1}}, Nodes: of("not:t", "a9 r9 s9",
			"Wu d wa r5 s1")}, model.Violated},
		{"two crashes", Config{Nodes: lives, Crash: given.Crash{CrashLimit: 2}}, model.Violated},
		{"one crash", Config{Nodes: lives}, model.Holds},
		{"down for a while", Config{Nodes: of("not:f", "a100 s100", "s1 d s1")}, model.Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.Crashes == nil {
				c.Crashes = []int{0}
			}
			c.CrashLimit = max(c.CrashLimit, 1)
			r, err := Run(t.Context(), c.Config)
			if err != nil || r.Verdict != c.want {
				t.Fatalf("%+v, %v; want %v", r, err, c.want)
			}
			if c.want == model.Violated {
				replayed(t, r, c.Nodes)
			}
		})
	}
}

// replayed replays the violation of a check from its file.
func replayed(t *testing.T, r *Result, list []Node) {
	t.Helper()
	v := r.Violation()
	if v.Recording == nil {
		t.Fatalf("it cannot be run again: %s", v.Unrecorded)
	}
	again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), *replays)
	if err != nil || again.Violation == nil {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestCrashesDisagree: a node that runs again after a crash publishes another value than others.
func TestCrashesDisagree(t *testing.T) {
	program := build(t, "./testdata/parted")
	c := Config{Nodes: partedNodes(program, []string{"l Wu s1", "s1"}, 0, "has:u"),
		Properties: agreeing("has u"), Crash: given.Crash{CrashLimit: 1}}
	c.Nodes[1].Args[0] = "has:u"
	if r, err := Run(t.Context(), c); err != nil || r.Verdict != model.Holds {
		t.Errorf("without a crash: %+v, %v", r, err)
	}
	c.Crashes = []int{0}
	r, err := Run(t.Context(), c)
	if err != nil || r.Verdict != model.Violated {
		t.Fatalf("%+v, %v", r, err)
	}
	replayed(t, r, c.Nodes)
}

// TestCrashesGoOn: an exploration with crashes that a bound has ended goes on from what was saved,
// with another number of crews, and comes to what it would have come to.
func TestCrashesGoOn(t *testing.T) {
	c := Config{Nodes: exampleNodes(t, "crash", "server 127.0.0.1:7800", "client"), Crews: 2,
		Crash: given.Crash{Crashes: []int{0}, CrashLimit: 1, Down: 1}}
	c.Nodes[0].Args = []string{"-sync"}
	whole, err := Run(t.Context(), c)
	if err != nil || whole.Verdict != model.Holds {
		t.Fatalf("%+v, %v", whole, err)
	}
	// What was begun when a bound has ended it is done again.
	r := resumed(t, c, 100, 500)
	if d := cmp.Diff(whole, r, cmpopts.IgnoreFields(Result{}, "Runs")); d != "" {
		t.Errorf("(-whole +resumed)\n%s", d)
	}
}
