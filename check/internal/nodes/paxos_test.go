package nodes

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// paxosNodes are nodes of the example, of which the first ones propose values.
func paxosNodes(program *sut.Program, size, proposers int, args ...string) (list []Node) {
	var addresses []string
	for i := range size {
		addresses = append(addresses, "127.0.0.1:"+strconv.Itoa(7601+i))
	}
	for i, address := range addresses {
		n := Node{Name: string(rune('a' + i)), Package: "./paxos", Program: program, Listen: address,
			Args: append([]string{"-id", strconv.Itoa(i), "-nodes", strings.Join(addresses, ",")}, args...)}
		if i < proposers {
			n.Args = append(n.Args, "-propose", string(rune('x'+i)))
		}
		list = append(list, n)
	}
	return list
}

// TestPaxos: nodes decide on one value, and if acceptors forget their promises, on two.
func TestPaxos(t *testing.T) {
	program, delays := build(t, "./paxos"), 1
	for _, c := range []struct {
		size, proposers int
		args            []string
		want            model.Verdict
		// The counts of what holds.
		skeletons int
		all       float64
	}{
		{2, 2, nil, model.Holds, 8, 21},
		{3, 1, nil, model.Holds, 6, 9},
		{2, 2, []string{"-fault", "promise"}, model.Violated, 0, 0},
	} {
		r, err := Run(t.Context(), Config{Nodes: paxosNodes(program, c.size, c.proposers,
			append(c.args, "-ballots", "1")...), Delays: &delays})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want || c.want == model.Holds && (r.Counts.Skeletons != c.skeletons ||
			r.Counts.GlobalTraces != c.all) {
			t.Errorf("%d of %d nodes propose, %q: %v (%s), %+v", c.proposers, c.size, c.args, r.Verdict,
				r.Reason, r.Counts)
		}
		if v := r.Violation(); v != nil {
			if m := v.Counterexample.Failure.Message; !strings.Contains(m, "was decided") {
				t.Errorf("%q: %s", c.args, m)
			}
		}
	}
}

// TestPaxosAtRandom: executions at random find that the first value that was accepted is proposed
// in place of the last one, and that promises are lost in a crash. What was found is replayed.
// Without these mistakes, they find nothing.
func TestPaxosAtRandom(t *testing.T) {
	program := build(t, "./paxos")
	for _, c := range []struct {
		fault              string
		seed               uint64
		proposers, crashes int
		executions         int
		want               model.Verdict
	}{
		{"first", 8, 3, 0, 5000, model.Violated},
		{"sync", 10, 2, 1, 5000, model.Violated},
		{"", 1, 3, 1, 200, model.Unknown},
	} {
		list := paxosNodes(program, 3, c.proposers, "-fault", c.fault)
		if c.crashes > 0 {
			for i := range list {
				list[i].Args = append(list[i].Args, "-file", "/tmp/paxos")
			}
		}
		r, err := Run(t.Context(), Config{Nodes: list, Executions: c.executions,
			Crash: given.Crash{Crashes: []int{0, 1, 2}, CrashLimit: c.crashes},
			Walks: &pick.Walks{Seed: c.seed, Picks: []pick.Pick{pick.Uniformly}}})
		if err != nil {
			t.Fatal(err)
		}
		v := r.Violation()
		if r.Verdict != c.want || v != nil && v.Recording == nil {
			t.Errorf("%+v: %v after %d executions, %s: %+v", c, r.Verdict, r.Runs, r.Reason, v)
		} else if v != nil {
			again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), 3)
			if err != nil || again.Violation == nil {
				t.Errorf("%+v: %+v, %v", c, again, err)
			}
			t.Logf("%+v: %d executions", c, r.Runs)
		}
	}
}
