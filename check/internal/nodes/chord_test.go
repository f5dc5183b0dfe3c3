package nodes

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// chordNodes are nodes of the example, of which all but the first one join a ring.
func chordNodes(program *sut.Program, size int, args ...string) (list []Node) {
	for i := 1; i <= size; i++ {
		address := "127.0.0.1:" + strconv.Itoa(7710+i)
		n := Node{Name: string(rune('a' + i - 1)), Package: "./chord", Program: program, Listen: address,
			Args: append([]string{"-id", strconv.Itoa(i), "-listen", address}, args...)}
		if i == 1 {
			n.Args = append(n.Args, "-size", strconv.Itoa(size))
		} else {
			n.Args = append(n.Args, "-join", "1 127.0.0.1:7711")
		}
		list = append(list, n)
	}
	return list
}

// TestChord: nodes that join make one ring, unless they do not look for a nearer successor again.
// What was found is replayed.
func TestChord(t *testing.T) {
	program, none := build(t, "./chord"), 0
	for _, c := range []struct {
		size   int
		args   []string
		delays *int
		want   model.Verdict
		// The counts of what holds.
		skeletons int
		all       float64
	}{
		{2, nil, nil, model.Holds, 1, 1},
		{2, []string{"-finds", "1"}, nil, model.Holds, 14, 24},
		{3, nil, &none, model.Holds, 3, 3},
		{3, []string{"-fault", "once"}, nil, model.Violated, 0, 0},
	} {
		list := chordNodes(program, c.size, c.args...)
		r, err := Run(t.Context(), Config{Nodes: list, Delays: c.delays})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want || c.want == model.Holds && (r.Counts.Skeletons != c.skeletons ||
			r.Counts.GlobalTraces != c.all) {
			t.Errorf("%d nodes, %q: %v (%s), %+v", c.size, c.args, r.Verdict, r.Reason, r.Counts)
		}
		if v := r.Violation(); v != nil {
			if m := v.Counterexample.Failure.Message; !strings.Contains(m, "3 nodes should be") {
				t.Errorf("%q: %s", c.args, m)
			}
			again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), 3)
			if err != nil || again.Violation == nil {
				t.Errorf("%q: %+v, %v", c.args, again, err)
			}
		}
	}
}

// TestChordAtRandom: executions at random find mistakes, and without these nothing.
func TestChordAtRandom(t *testing.T) {
	program := build(t, "./chord")
	for fault, want := range map[string]model.Verdict{
		"steps": model.Violated, "once": model.Violated, "": model.Unknown} {
		r, err := Run(t.Context(), Config{Nodes: chordNodes(program, 3, "-fault", fault, "-finds", "1"),
			Executions: 90, Walks: &pick.Walks{Seed: 1, Picks: []pick.Pick{pick.Uniformly}}})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Violation(); r.Verdict != want || v != nil && v.Recording == nil {
			t.Errorf("%q: %v after %d executions, %s: %+v", fault, r.Verdict, r.Runs, r.Reason, v)
		}
	}
}
