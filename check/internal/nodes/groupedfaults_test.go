package nodes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// groupedFaults are faults that random nodes have in groups, too. Seeds are of small systems.
type groupedFaults struct {
	name string
	Config
	seeds []uint64
}

func kindsOfGroupedFaults() []groupedFaults {
	failing := Config{}
	failing.Worker.Environment = sut.Environment{Faults: 1, FaultKinds: []string{"reset", "end"}}
	crash := func(node int) Config {
		return Config{Crash: given.Crash{Crashes: []int{node}, CrashLimit: 1, Down: 1}}
	}
	links := [][][2]int{{{0, 1}}, {{1, 2}}, {{0, 1}, {0, 2}}}
	return []groupedFaults{
		{"failing", failing, []uint64{8, 9, 17}},
		{"parted", Config{Partitions: links}, []uint64{2, 4}},
		{"a server crashes", crash(0), []uint64{0, 8, 24}},
		{"a client crashes", crash(2), []uint64{8, 17, 23}},
		{"slow", Config{Slow: 1}, []uint64{5, 12, 24}},
		{"slow twice", Config{Slow: 2}, []uint64{16, 19}},
		{"parted and slow", Config{Slow: 1, Partitions: links[:1]}, []uint64{3, 6}},
	}
}

// randomRow are scripts of nodes in a row: each but the last one serves the one after it. What one
// writes from two goroutines is in any order.
func randomRow(r *rand.Rand, size int) (scripts [][]string) {
	long := 1
	next := func(what string) string {
		long *= 2
		return fmt.Sprint(what, " ", long)
	}
	steps := func(script []string) []string {
		for range 1 + r.IntN(2) {
			switch r.IntN(7) {
			case 0, 1:
				script = append(script, "write-not -")
			case 2:
				script = append(script, "both xy")
			case 3:
				script = append(script, next("not-by "+[]string{"-", "-", "data", "late", "end"}[r.IntN(5)]))
			case 4:
				script = append(script, next("sleep"))
			}
		}
		return script
	}
	for n := range size {
		var s []string
		if n < size-1 {
			s = steps([]string{fmt.Sprint("listen :", 7300+n), "accept"})
		}
		if n > 0 {
			s = steps(append(s, fmt.Sprint("redial :", 7300+n-1)))
		}
		scripts = append(scripts, s)
	}
	return scripts
}

// TestGroupsWithFaults: random nodes come to the same in groups as without, also with faults. With
// more systems than by default, those that are small are looked for.
func TestGroupsWithFaults(t *testing.T) {
	program := build(t, "./testdata/script")
	groups := map[int][]string{3: {"a a -", "- a a"}, 4: {"a a b b"}}
	verdicts, less := map[model.Verdict]int{}, 0
	for i, k := range kindsOfGroupedFaults() {
		if *systems > enough {
			k.seeds = nil
			for seed := range uint64(*systems / 3) {
				k.seeds = append(k.seeds, seed)
			}
		}
		t.Run(k.name, func(t *testing.T) {
			compared, runs := 0, 0
			for _, seed := range k.seeds {
				r := rand.New(rand.NewPCG(seed, 40+uint64(i)))
				c, scripts := k.Config, randomRow(r, 3+r.IntN(2))
				c.Executions, c.Nodes = 800, scriptedNodes(program, scripts...)
				alone, err := Run(t.Context(), c)
				if err != nil {
					t.Fatalf("seed %d: %v\n%q", seed, err, scripts)
				}
				runs += alone.Runs
				if alone.Verdict == model.Unknown {
					continue
				}
				compared++
				verdicts[alone.Verdict]++
				c.Executions = 5000
				for _, of := range groups[len(scripts)] {
					grouped := compareGroups(t, fmt.Sprintf("seed %d %q", seed, scripts), c, alone, of)
					if runs += grouped.Runs; grouped.Counts.Skeletons < alone.Counts.Skeletons {
						less++
					}
				}
			}
			if t.Logf("%d systems in %d executions", compared, runs); compared < 2 {
				t.Error("there is nothing to compare")
			}
		})
	}
	t.Logf("%v, %d have fewer skeletons in groups", verdicts, less)
	if !t.Failed() && (less == 0 || len(verdicts) < 2) {
		t.Error("all are alike")
	}
}

// pairs are two servers, each with a client that reads a letter. It is there after either of the
// times at which it can come.
func pairs(t *testing.T) []Node {
	var scripts [][]string
	for n := range 2 {
		port := fmt.Sprint(":", 7300+2*n)
		scripts = append(scripts, []string{"listen " + port, "accept", "write x", "sleep 2"},
			[]string{"dial " + port, "sleep 4", "read 1"})
	}
	return scriptedNodes(build(t, "./testdata/script"), scripts...)
}

// TestGroupsShareLimits: what happens to connections or datagrams inside of one group counts where
// it may happen inside of another one: if it is seen nowhere else, too.
func TestGroupsShareLimits(t *testing.T) {
	list := pairs(t)
	air := airNodes(build(t, "./testdata/air"), []string{"b s1 wbx s9", "b s3 r27", "b s1 wdx s9",
		"b s3 r27"}, 0, "not:-")
	for _, c := range []struct {
		name string
		Config
	}{
		{"slow", Config{Nodes: list, Slow: 1}},
		{"slow twice", Config{Nodes: list, Slow: 2}},
		{"late datagrams", Config{Nodes: air, Datagrams: []string{"lost", "reordered"},
			Often: given.Often{DatagramLimit: 1}}},
	} {
		alone, err := Run(t.Context(), c.Config)
		if err != nil || alone.Verdict != model.Holds {
			t.Fatalf("%s: %+v, %v", c.name, alone, err)
		}
		r := compareGroups(t, c.name, c.Config, alone, "a a b b")
		t.Logf("%s: %+v in %d executions, without groups %+v in %d", c.name, r.Counts, r.Runs, alone.Counts,
			alone.Runs)
	}
}

// TestGroupsAtRandom: groups mean nothing where nodes are run at random, with pauses or any other
// faults.
func TestGroupsAtRandom(t *testing.T) {
	c := Config{Nodes: exampleNodes(t, "partition", "store 127.0.0.1:7700", "copy 127.0.0.1:7701", "client"),
		Partitions: [][][2]int{{{0, 1}}}, Slow: 1, Executions: 1500, Violations: 5,
		Crash: given.Crash{Crashes: []int{1}, CrashLimit: 1, Pauses: []int{0, 1, 2}, PauseLimit: 1},
		Walks: &pick.Walks{Seed: 1, Picks: allPicks}}
	alone, err := Run(t.Context(), c)
	if err != nil || alone.Violation() == nil {
		t.Fatalf("%+v, %v", alone, err)
	}
	c.Nodes = inGroups(c.Nodes, []string{"a", "a", "-"})
	r, err := Run(t.Context(), c)
	if err != nil || r.Runs != alone.Runs || len(r.Violations) != len(alone.Violations) ||
		!slices.Equal(whats(r.Violation().Events), whats(alone.Violation().Events)) {
		t.Errorf("%+v, %v; without groups %+v", r, err, alone)
	}
}

// TestGroupsBesidePeers: nodes come to the same in groups as without where they use real peers,
// which are in none. Rows of skeletons have one number for each group.
func TestGroupsBesidePeers(t *testing.T) {
	program := build(t, "./testdata/takes")
	for _, c := range []struct {
		scripts, known []string
		groups         string
	}{
		{[]string{"lrdn", "ow", "d"}, []string{"", "b"}, "a a -"},
		{[]string{"lwdn", "dn", "or"}, []string{"", "b", "c"}, "a - a"},
		{[]string{"lrdn", "ow", "dn"}, []string{"", "b"}, "- a a"},
	} {
		config := takers(t, program, c.scripts, slices.Repeat([][]string{c.known}, len(c.scripts)))
		alone, err := Run(t.Context(), config)
		if err != nil || alone.Verdict == model.Unknown {
			t.Fatalf("%q: %+v, %v", c.scripts, alone, err)
		}
		r := compareGroups(t, fmt.Sprint(c.scripts), config, alone, c.groups)
		t.Logf("%q: %v, %+v in %d executions, without groups %+v in %d", c.scripts, r.Verdict, r.Counts,
			r.Runs, alone.Counts, alone.Runs)
		if slices.ContainsFunc(r.Traces, func(row []int) bool { return len(row) != 2 }) {
			t.Errorf("%q: rows are %v", c.scripts, r.Traces)
		}
	}
}
