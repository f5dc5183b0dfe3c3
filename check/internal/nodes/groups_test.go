package nodes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// inGroups puts nodes into groups, by the names of these; a dash is none.
func inGroups(list []Node, groups []string) []Node {
	list = slices.Clone(list)
	for i := range list {
		list[i].Group = strings.Trim(groups[i], "-")
	}
	return list
}

// compareGroups checks nodes in each of some groups, each of which is the names of all nodes'
// groups with blanks in between; a dash is none. They have to come to what they come to without.
// What they violate is replayed. It returns the last result.
func compareGroups(t *testing.T, name string, c Config, want *Result, groups ...string) (r *Result) {
	t.Helper()
	for _, of := range groups {
		c.Nodes = inGroups(c.Nodes, strings.Fields(of))
		var err error
		if r, err = Run(t.Context(), c); err != nil {
			t.Fatalf("%s, %s: %v", name, of, err)
		}
		holds := want.Verdict == model.Holds
		if r.Verdict != want.Verdict || holds && (r.Counts.GlobalTraces != want.Counts.GlobalTraces ||
			!slices.Equal(r.Outcomes, want.Outcomes) || r.Counts.Skeletons > want.Counts.Skeletons) {
			t.Fatalf("%s, %s: %v (%s), %+v, %q\nwithout groups %v (%s), %+v, %q", name, of, r.Verdict,
				r.Reason, r.Counts, r.Outcomes, want.Verdict, want.Reason, want.Counts, want.Outcomes)
		}
		v := r.Violation()
		if v == nil {
			continue
		}
		if v.Recording == nil {
			t.Fatalf("%s, %s: all nodes together do not have it: %s", name, of, v.Unrecorded)
		}
		again, err := Replay(t.Context(), programsOf(c.Nodes), throughFile(t, v.Recording), 3)
		if err != nil || again.Violation == nil || again.Violation.Outcome != v.Outcome {
			t.Fatalf("%s, %s: %+v, %v: want %v again", name, of, again, err, v.Outcome)
		}
	}
	return r
}

// sites are those of the example, with the names of their groups.
func sites(t *testing.T, n int) (list []Node, groups string) {
	store, backup := build(t, "./sites/store"), build(t, "./sites/backup")
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", 7001+i%(2*n)) }
	for i := range n {
		list = append(list, Node{Name: fmt.Sprint("store", i), Program: store, Package: "./sites/store",
			Listen: at(2 * i), Args: []string{"-listen", at(2 * i), "-backup", at(2*i + 1),
				"-next", at(2*i + 2)}},
			Node{Name: fmt.Sprint("backup", i), Program: backup, Package: "./sites/backup",
				Listen: at(2*i + 1), Args: []string{"-listen", at(2*i + 1)}})
		groups += fmt.Sprint(i, " ", i, " ")
	}
	return list, groups
}

// TestSites: each site stores its entries in one of six orders. Without groups each of one site is
// explored with each of another one.
func TestSites(t *testing.T) {
	list, groups := sites(t, 2)
	alone, err := Run(t.Context(), Config{Nodes: list})
	if err != nil {
		t.Fatal(err)
	}
	r := compareGroups(t, "two sites", Config{Nodes: list}, alone, groups)
	if alone.Counts.Skeletons != 36 || r.Counts.Skeletons != 1 || r.Counts.GlobalTraces != 36 ||
		3*r.Runs > alone.Runs {
		t.Errorf("%+v in %d executions, without groups %+v in %d", r.Counts, r.Runs, alone.Counts, alone.Runs)
	}
	if len(r.Traces) != 1 || !slices.Equal(r.Traces[0], []int{6, 6}) {
		t.Errorf("executions of each group are %v", r.Traces)
	}
	// The third one adds six orders more, and does not multiply them.
	list, groups = sites(t, 3)
	want := &Result{Verdict: model.Holds, Outcomes: alone.Outcomes}
	want.Counts = skeleton.Counts{Skeletons: 1, GlobalTraces: 216}
	three := compareGroups(t, "three sites", Config{Nodes: list}, want, groups)
	if three.Runs > 3*r.Runs {
		t.Errorf("three sites take %d executions, and two of them %d", three.Runs, r.Runs)
	}
	// A check that goes on after it was ended comes to the same.
	list, groups = sites(t, 2)
	c := Config{Nodes: inGroups(list, strings.Fields(groups))}
	if again := resumed(t, c, 30, 100, 300); again.Counts != r.Counts || again.Verdict != r.Verdict {
		t.Errorf("%v, %+v, want %+v", again.Verdict, again.Counts, r.Counts)
	}
}

// TestGroupsOfExamples: nodes of examples come to the same in groups as without.
func TestGroupsOfExamples(t *testing.T) {
	none, one := 0, 1
	accumulator := exampleNodes(t, "accumulator", "client", "primary 127.0.0.1:7001",
		"secondary 127.0.0.1:7002")
	counter := exampleNodes(t, "counter", "server 127.0.0.1:7100", "client", "client")
	fixed := slices.Clone(counter)
	counter[2].Args = nil
	fixed[1].Args, fixed[2].Args = []string{"fixed"}, []string{"fixed"}
	chord := build(t, "./chord")
	leader := properties.Wanted{Agree: []string{"leader of *"}}
	for _, c := range []struct {
		name   string
		config Config
		want   model.Verdict
	}{
		{"accumulator", Config{Nodes: accumulator}, model.Holds},
		{"accumulator with delays", Config{Nodes: accumulator, Delays: &one}, model.Holds},
		{"counter", Config{Nodes: counter}, model.Violated},
		{"fixed counter", Config{Nodes: fixed}, model.Holds},
		{"chord", Config{Nodes: chordNodes(chord, 3), Delays: &none}, model.Holds},
		{"wrong chord", Config{Nodes: chordNodes(chord, 3, "-fault", "once")}, model.Violated},
		{"election", Config{Nodes: election(t), Properties: leader}, model.Violated},
		{"fixed election", Config{Nodes: election(t, "-atomic"), Properties: leader}, model.Holds},
		{"table", Config{Nodes: table(t, 3, 1, true)}, model.Holds},
		{"wrong table", Config{Nodes: table(t, 3, 1, false)}, model.Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone, err := Run(t.Context(), c.config)
			if err != nil || alone.Verdict != c.want {
				t.Fatalf("%+v, %v", alone, err)
			}
			compareGroups(t, c.name, c.config, alone, "a a -", "- b b", "c - c")
		})
	}
}

// table is a round table of philosophers in parts.
func table(t *testing.T, parts, seats int, wary bool) (list []Node) {
	program := build(t, "./philosophers/table")
	address := func(part int) string { return fmt.Sprintf("127.0.0.1:%d", 7001+part%parts) }
	for part := range parts {
		args := []string{"-seats", strconv.Itoa(seats), "-listen", address(part), "-left",
			address(part + parts - 1)}
		if wary && part == parts-1 {
			args = append(args, "-wary")
		}
		list = append(list, Node{Name: "part " + strconv.Itoa(part+1), Program: program,
			Package: "./philosophers/table", Listen: address(part), Args: args})
	}
	return list
}

// TestGroupedLanes: random chains of nodes come to the same in groups as without.
func TestGroupedLanes(t *testing.T) {
	program := build(t, "./testdata/lanes")
	groups := map[int][]string{3: {"a a -", "- a a", "a - a"}, 4: {"a a b b", "- a a -", "a b b a"}}
	verdicts, less := map[model.Verdict]int{}, 0
	for seed := uint64(0); verdicts[model.Holds]+verdicts[model.Violated] < *systems; seed++ {
		r := rand.New(rand.NewPCG(seed, 12))
		l := randomLanes(3+r.IntN(2), r)
		c := Config{Executions: 1500, Nodes: l.nodes(program)}
		alone, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if alone.Verdict == model.Unknown || alone.Verdict == model.Holds && alone.Counts.GlobalTraces < 3 {
			continue
		}
		c.Executions = 5000
		verdicts[alone.Verdict]++
		grouped := compareGroups(t, fmt.Sprintf("seed %d %+v", seed, l), c, alone, groups[len(c.Nodes)]...)
		if grouped.Counts.Skeletons < alone.Counts.Skeletons {
			less++
		}
	}
	t.Logf("%v, %d have fewer skeletons in groups", verdicts, less)
	if len(verdicts) < 2 {
		t.Error("all have the same verdict")
	}
}

// TestGroupedScripts: random servers with two clients come to the same in groups as without, also
// with timers, and where they reset connections.
func TestGroupedScripts(t *testing.T) {
	program := build(t, "./testdata/script")
	verdicts := map[model.Verdict]int{}
	for seed := uint64(0); verdicts[model.Holds]+verdicts[model.Violated] < *systems; seed++ {
		r := rand.New(rand.NewPCG(seed, 13))
		scripts := randomScripts(r, r.IntN(2) == 0)
		c := Config{Executions: 1500, Nodes: randomNodes(program, scripts)}
		if len(scripts) < 3 {
			continue
		}
		alone, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if alone.Verdict == model.Unknown || alone.Verdict == model.Holds && alone.Counts.GlobalTraces < 3 {
			continue
		}
		c.Executions = 10_000
		verdicts[alone.Verdict]++
		compareGroups(t, fmt.Sprintf("seed %d %q", seed, scripts), c, alone, "a a -", "- a a")
	}
	t.Log(verdicts)
	if len(verdicts) < 2 {
		t.Error("all have the same verdict")
	}
}
