package nodes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// lanes is a chain of nodes: see testdata/lanes. wires is how many connections there are from each
// node to the next one, and scripts has the goroutines of each.
type lanes struct {
	wires    []int
	unwanted []int
	scripts  [][]string
}

// args are the arguments of a node.
func (l lanes) args(i int) []string {
	wires := append(append([]int{0}, l.wires...), 0)
	args := []string{strconv.Itoa(i), strconv.Itoa(wires[i]), strconv.Itoa(wires[i+1]),
		strconv.Itoa(l.unwanted[i])}
	return append(args, l.scripts[i]...)
}

func (l lanes) nodes(program *sut.Program) (list []Node) {
	for i := range l.scripts {
		list = append(list, Node{Name: string(rune('a' + i)), Program: program, Package: "./testdata/lanes",
			Args: append([]string{"node"}, l.args(i)...), Listen: fmt.Sprintf("127.0.0.1:%d", 7500+i)})
	}
	return list
}

// count explores the nodes as goroutines of one program, and says how many executions there are, if
// there are not more than most, and none is a violation.
func (l lanes) count(t *testing.T, program *sut.Program, most int) (executions int, verdict model.Verdict) {
	t.Helper()
	args := []string{"together", strconv.Itoa(len(l.scripts))}
	for i := range l.scripts {
		args = append(args, l.args(i)...)
	}
	return exploreOne(t, program, args, most)
}

// randomLanes makes a chain of nodes. Messages are sent and received in an order that
// is possible for all, so nobody waits for ever. Each end of a connection has a goroutine that
// sends and one that receives, which may be the same, or that of another connection.
func randomLanes(nodes int, r *rand.Rand) lanes {
	const goroutines = 2
	l := lanes{scripts: make([][]string, nodes)}
	for i := range nodes {
		l.scripts[i] = make([]string, goroutines)
		l.unwanted = append(l.unwanted, r.IntN(30)) // most are never the sum
	}
	type end struct{ node, wire int }
	var ends [][2]end
	for i := range nodes - 1 {
		n := 1 + r.IntN(2)
		before := 0
		if i > 0 {
			before = l.wires[i-1]
		}
		l.wires = append(l.wires, n)
		for k := range n {
			ends = append(ends, [2]end{{i, before + k}, {i + 1, k}})
		}
	}
	sends, receives := map[end]int{}, map[end]int{}
	of := func(m map[end]int, e end) int {
		if _, ok := m[e]; !ok {
			m[e] = r.IntN(goroutines)
		}
		return m[e]
	}
	add := func(node, g int, step string) { l.scripts[node][g] += step + " " }
	for range 3 + r.IntN(3) {
		e := ends[r.IntN(len(ends))]
		from, to := e[0], e[1]
		if r.IntN(2) == 0 {
			from, to = to, from
		}
		if r.IntN(2) == 0 {
			add(from.node, r.IntN(goroutines), "v")
		}
		add(from.node, of(sends, from), fmt.Sprint("s", from.wire))
		add(to.node, of(receives, to), fmt.Sprint("r", to.wire))
		if r.IntN(2) == 0 {
			add(to.node, r.IntN(goroutines), "v")
		}
	}
	for i := range l.scripts {
		for g := range l.scripts[i] {
			l.scripts[i][g] = strings.TrimSpace(l.scripts[i][g])
		}
	}
	return l
}

// TestLanes: nodes with several connections and goroutines have the verdict that they have in one
// program, and where they hold, they stand for exactly as many executions as there are of it.
func TestLanes(t *testing.T) {
	const most = 120
	program := build(t, "./testdata/lanes")
	verdicts, more := map[model.Verdict]int{}, 0
	var locals, executions int
	for seed := uint64(0); verdicts[model.Holds]+verdicts[model.Violated] < max(*systems, 10); seed++ {
		random := rand.New(rand.NewPCG(seed, 11))
		l := randomLanes(2+random.IntN(2), random)
		want, verdict := l.count(t, program, most)
		if verdict == model.Unknown || verdict == model.Holds && want < 3 {
			continue // there is nothing to get wrong
		}
		r, err := Run(t.Context(), Config{Executions: 50 * most, Nodes: l.nodes(program)})
		if err != nil {
			t.Fatalf("seed %d: %v\n%+v", seed, err, l)
		}
		if r.Verdict != verdict {
			t.Fatalf("seed %d: %v (%s), together %v\n%+v", seed, r.Verdict, r.Reason, verdict, l)
		}
		if v := r.Violation(); v != nil && v.Recording == nil {
			t.Fatalf("seed %d: all nodes together do not have it: %s\n%+v", seed, v.Unrecorded, l)
		}
		if verdict == model.Holds && int(r.Counts.GlobalTraces) != want {
			t.Fatalf("seed %d: they stand for %v executions, and there are %d\n%+v\n%+v", seed,
				r.Counts.GlobalTraces, want, r.Counts, l)
		}
		if verdict == model.Holds {
			locals, executions = locals+r.Counts.LocalTraces, executions+want
			if r.Counts.Skeletons > 1 {
				more++
			}
		}
		verdicts[verdict]++
	}
	t.Logf("%v, %d local executions for %d, %d systems with several skeletons", verdicts, locals,
		executions, more)
	if len(verdicts) < 2 || more == 0 {
		t.Error("all are alike")
	}
}

// TestOrders: what is on different connections, or in different directions, is in an order only
// where the program itself has it in one. Each system has one skeleton for each such order.
func TestOrders(t *testing.T) {
	program := build(t, "./testdata/lanes")
	for _, c := range []struct {
		name      string
		lanes     lanes
		skeletons int
		fewer     bool // than if all events of a node are in one order
	}{
		{"two connections", lanes{[]int{2}, []int{9, 9}, [][]string{{"s0", "s1"}, {"r0", "r1"}}}, 1, true},
		{"one goroutine receives",
			lanes{[]int{2}, []int{9, 9}, [][]string{{"s0", "s1"}, {"r0 r1", ""}}}, 1, true},
		{"two directions", lanes{[]int{1}, []int{9, 9}, [][]string{{"s0", "r0"}, {"r0", "s0"}}}, 1, true},
		{"after what was received",
			lanes{[]int{2}, []int{9, 9}, [][]string{{"s0", "r1"}, {"r0 s1", ""}}}, 1, false},
		// Either lock is first, and a send is before the other one only if its lock is.
		{"locks", lanes{[]int{2}, []int{9, 9}, [][]string{{"s0 v", "s1 v"}, {"r0", "r1"}}}, 1, true},
		{"a lock between", lanes{[]int{2}, []int{9, 9}, [][]string{{"s0 v", "v s1"}, {"r0", "r1"}}}, 2, true},
		{"three nodes", lanes{[]int{1, 1}, []int{9, 9, 9}, [][]string{{"s0", "r0"}, {"r0 s1", "s0"},
			{"r0", ""}}}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, verdict := c.lanes.count(t, program, 1000)
			if verdict != model.Holds {
				t.Fatal(verdict)
			}
			x := explored(t, Config{Nodes: c.lanes.nodes(program)}, false)
			counts := x.system.Counts()
			if counts.Skeletons != c.skeletons || int(counts.GlobalTraces) != want {
				t.Errorf("%+v, want %d skeletons for %d executions", counts, c.skeletons, want)
			}
			x = explored(t, Config{Nodes: c.lanes.nodes(program)}, true)
			in := x.system.Counts()
			if in.Skeletons < counts.Skeletons || in.Skeletons > counts.Skeletons != c.fewer {
				t.Errorf("%+v in one order, %+v else", in, counts)
			}
		})
	}
}

// explored is an explorer that has done all its work.
func explored(t *testing.T, c Config, inOrder bool) *explorer {
	t.Helper()
	x, err := newExplorer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	if inOrder {
		x.net.Ordered = ordered(len(c.Nodes))
	}
	if err := x.exploreAll(); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestResetsNeedOrder: the events of a node to which a reset may come are in one order, and of no
// other one.
func TestResetsNeedOrder(t *testing.T) {
	program := build(t, "./testdata/script")
	for _, c := range []struct {
		server []string
		want   []bool
	}{
		{[]string{"listen :7301", "accept", "read 1", "read 1"}, []bool{false, false}},
		{[]string{"listen :7301", "accept", "read 1"}, []bool{true, false}},
	} {
		x := explored(t, Config{Nodes: scriptedNodes(program, []string{"dial :7301", "write x", "write y"},
			c.server), Violations: 100}, false)
		if !slices.Equal(x.net.Ordered, c.want) {
			t.Errorf("%q: %v, want %v", c.server, x.net.Ordered, c.want)
		}
	}
}
