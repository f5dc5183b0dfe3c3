package nodes

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/batch"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/check/internal/nodes/told"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestWalks: executions at random find what is wrong in the examples. The same seed finds the same
// again, and the file of it is replayed by new workers.
func TestWalks(t *testing.T) {
	partitions := [][][2]int{{{0, 1}, {0, 2}}, {{0, 1}, {1, 2}}}
	for _, c := range []struct {
		name string
		Config
	}{
		{"counter", Config{Nodes: exampleNodes(t, "counter", "server 127.0.0.1:7100", "client", "client")}},
		{"retry", Config{Nodes: exampleNodes(t, "retry", "server 127.0.0.1:7400", "client")}},
		{"partition", Config{Partitions: partitions, Nodes: exampleNodes(t, "partition",
			"store 127.0.0.1:7700", "copy 127.0.0.1:7701", "client")}},
		{"crash", Config{Crash: given.Crash{Crashes: []int{0}, CrashLimit: 1},
			Nodes: exampleNodes(t, "crash", "server 127.0.0.1:7800", "client")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.Executions, c.Walks = 3000, &pick.Walks{Seed: 1, Picks: allPicks}
			var recordings []*report.NodesRecording
			for range 2 {
				r, err := Run(t.Context(), c.Config)
				if err != nil {
					t.Fatal(err)
				}
				v := r.Violation()
				if v == nil || v.Recording == nil {
					t.Fatalf("%v after %d executions, %s: %+v", r.Verdict, r.Runs, r.Reason, v)
				}
				recordings = append(recordings, v.Recording)
			}
			if d := cmp.Diff(recordings[0], recordings[1]); d != "" {
				t.Errorf("(-once +again)\n%s", d)
			}
			again, err := Replay(t.Context(), programsOf(c.Nodes), throughFile(t, recordings[0]), *replays)
			if err != nil || again.Violation == nil {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// TestFixedAtRandom: where examples are right, no execution at random shows anything. In that of a
// partition, a node is dialled while it dials in vain.
func TestFixedAtRandom(t *testing.T) {
	fixed := func(list []Node, which ...int) []Node {
		for _, i := range which {
			list[i].Args = append(list[i].Args, "fixed")
		}
		return list
	}
	for name, c := range map[string]Config{
		"counter": {Nodes: fixed(exampleNodes(t, "counter", "server 127.0.0.1:7100", "client"), 1)},
		"retry":   {Nodes: fixed(exampleNodes(t, "retry", "server 127.0.0.1:7400", "client"), 0)},
		"partition": {Partitions: both(), Nodes: fixed(exampleNodes(t, "partition", "store 127.0.0.1:7700",
			"copy 127.0.0.1:7701", "client"), 0)},
	} {
		t.Run(name, func(t *testing.T) {
			c.Executions, c.Walks = 3000, &pick.Walks{Seed: 1, Picks: allPicks}
			want := c.OverLimit()
			if c.Partitions != nil { // the client waits for an answer, without a time-out
				want += "; executions were cut off: no timer was due while the network was parted, until " +
					"connects are given up"
			}
			r, err := Run(t.Context(), c)
			if err != nil || r.Verdict != model.Unknown || r.Reason != want {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestCrashes: what is durable survives crashes, however many there are, and so does all else if
// only the process has ended.
func TestCrashes(t *testing.T) {
	list := exampleNodes(t, "crash", "server 127.0.0.1:7800", "client")
	list[0].Args = []string{"-sync"}
	r, err := Run(t.Context(), Config{Nodes: list, Executions: 3000,
		Crash: given.Crash{Crashes: []int{0, 1}, CrashLimit: 3},
		Walks: &pick.Walks{Seed: 1, Picks: allPicks}})
	if err != nil || r.Verdict != model.Unknown {
		t.Errorf("%+v, %v", r, err)
	}
	if !slices.Contains(r.Outcomes, model.Completed.String()) {
		t.Errorf("the nodes end with %q", r.Outcomes)
	}
}

// TestCrashAnywhere: a node that counts its lives in a file, and makes each one durable, never
// loses one, and time does not go back.
func TestCrashAnywhere(t *testing.T) {
	program := build(t, "./testdata/lives")
	list := []Node{{Name: "a", Package: "./testdata/lives", Program: program, Args: []string{"4"}},
		{Name: "b", Package: "./testdata/lives", Program: program, Args: []string{"3"}}}
	for seed := range uint64(3) {
		r, err := Run(t.Context(), Config{Nodes: list, Executions: 3000,
			Crash:      given.Crash{Crashes: []int{0, 1}, CrashLimit: 4},
			Violations: 2, Walks: &pick.Walks{Seed: seed, Picks: allPicks}})
		if err != nil {
			t.Fatal(err)
		}
		// Each says with a panic that it was in its last life. Nothing else is wrong.
		for _, v := range r.Violations {
			if m := v.Counterexample.Failure.Message; !strings.HasPrefix(m, "panic: the last life\n") {
				t.Errorf("seed %d: node %s: %s", seed, v.Node, m)
			}
			if v.Recording == nil {
				t.Fatalf("seed %d: node %s: %s\n%s", seed, v.Node, v.Unrecorded,
					strings.Join(whats(v.Events), "\n"))
			}
			again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), 3)
			if err != nil || again.Violation == nil {
				t.Errorf("seed %d: %+v, %v", seed, again, err)
			}
		}
		if len(r.Violations) != 2 {
			t.Errorf("seed %d: %d of 2 nodes were in their last life: %s", seed, len(r.Violations), r.Reason)
		}
	}
}

// TestWalksOfAborts: resets come in the replay of a walk when they came in it, also where the
// network is parted, nodes crash, and several come at once.
func TestWalksOfAborts(t *testing.T) {
	program := build(t, "./testdata/aborts")
	node := Node{Package: "./testdata/aborts", Program: program}
	list := []Node{node, node, node}
	list[0].Name, list[0].Listen = "server", "127.0.0.1:7000"
	list[1].Name, list[1].Args = "one", []string{"client"}
	list[2].Name, list[2].Args = "two", []string{"client"}
	for seed := range uint64(40) {
		r, err := Run(t.Context(), Config{Nodes: list, Partitions: [][][2]int{{{0, 1}, {0, 2}}, {{0, 1}}},
			Crash: given.Crash{Crashes: []int{0, 1, 2}, CrashLimit: 2}, Executions: 600,
			Walks: &pick.Walks{Seed: seed, Picks: allPicks}})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if v := r.Violation(); v == nil || v.Recording == nil {
			t.Errorf("seed %d: %v, %s: %+v", seed, r.Verdict, r.Reason, v)
		}
	}
}

// expiring is over at the third time that it is asked since it was told of a new walk: when a
// violation was found, and is to be run again.
type expiring struct {
	context.Context
	asked int
}

func (c *expiring) Err() error {
	if c.asked++; c.asked > 2 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestWalkNotInTime: a violation counts if the time is up before it is run again.
func TestWalkNotInTime(t *testing.T) {
	ctx := &expiring{Context: t.Context()}
	r, err := Run(ctx, Config{Nodes: exampleNodes(t, "counter", "server 127.0.0.1:7100", "client", "client"),
		Violations: 2, Walks: &pick.Walks{Seed: 1, Picks: allPicks},
		Saving: Saving{Save: func(func() ([]byte, error), bool) { ctx.asked = 0 }}})
	if err != nil || r.Verdict != model.Violated || len(r.Violations) != 1 ||
		r.Violations[0].Unrecorded != told.NotInTime {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWalksGoOn: walks that go on from what was saved are those that would have come.
func TestWalksGoOn(t *testing.T) {
	list := exampleNodes(t, "accumulator", "client", "primary 127.0.0.1:7001", "secondary 127.0.0.1:7002")
	config := func(executions int, from []byte, to *[]byte) Config {
		return Config{Nodes: list, Executions: executions, Walks: &pick.Walks{Seed: 7, Picks: allPicks},
			Saving: Saving{Resume: from, Save: func(encode func() ([]byte, error), _ bool) {
				state, err := encode()
				if err != nil {
					t.Error(err)
				}
				*to = state
			}}}
	}
	var all, half, rest []byte
	for _, c := range []Config{config(60, nil, &all), config(31, nil, &half)} {
		if r, err := Run(t.Context(), c); err != nil || r.Verdict != model.Unknown {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	r, err := Run(t.Context(), config(60, half, &rest))
	if err != nil || r.Runs != 60 || string(rest) != string(all) {
		t.Errorf("%+v, %v\n%s\n%s", r, err, rest, all)
	}
	for _, state := range []string{"no state", "null", "{}", `{"Lengths":[1],"Inputs":[1],"Disks":[1]}`} {
		if _, err := Run(t.Context(), config(60, []byte(state), &rest)); err == nil {
			t.Errorf("%q is no state, and is taken for one", state)
		}
	}
}

// TestWalksByCrews: how many walks are made at the same time changes nothing of what is found, nor
// of what is saved.
func TestWalksByCrews(t *testing.T) {
	for _, c := range []struct {
		name string
		Config
	}{
		{"counter", Config{Nodes: exampleNodes(t, "counter", "server 127.0.0.1:7100", "client", "client")}},
		{"crash", Config{Crash: given.Crash{Crashes: []int{0}, CrashLimit: 1}, Violations: 3, Executions: 400,
			Nodes: exampleNodes(t, "crash", "server 127.0.0.1:7800", "client")}},
		{"no violation", Config{Executions: 100, Nodes: exampleNodes(t, "accumulator", "client",
			"primary 127.0.0.1:7001", "secondary 127.0.0.1:7002")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var one *Result
			var saved string
			for _, crews := range []int{1, 2, 5} {
				state := ""
				c.Walks, c.Crews = &pick.Walks{Seed: 3, Picks: allPicks}, crews
				c.Save = func(encode func() ([]byte, error), _ bool) {
					text, err := encode()
					if err != nil {
						t.Error(err)
					}
					state += string(text) + "\n"
				}
				r, err := Run(t.Context(), c.Config)
				if err != nil {
					t.Fatal(err)
				}
				if one == nil {
					one, saved = r, state
				}
				same := cmpopts.IgnoreUnexported(Violation{})
				if d := cmp.Diff(one, r, same); d != "" {
					t.Errorf("%d crews (-one +several)\n%s", crews, d)
				}
				if d := cmp.Diff(saved, state); d != "" {
					t.Errorf("%d crews save (-one +several)\n%s", crews, d)
				}
			}
		})
	}
}

// TestUselessCrews: there are no more workers than can have something to do at the same time.
func TestUselessCrews(t *testing.T) {
	list := exampleNodes(t, "retry", "server 127.0.0.1:7400", "client")
	x, err := newExplorer(t.Context(), Config{Nodes: list, Crews: 50, Executions: 1,
		Walks: &pick.Walks{Seed: 1, Picks: allPicks}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	if err := (&walks{explorer: x}).explore(); err != nil {
		t.Fatal(err)
	}
	if got, want := len(x.workers), batch.Most*len(list); got != want {
		t.Errorf("%d workers, want %d", got, want)
	}
}

// TestWalkIsCut: if one node is cut off, nothing that comes of its end counts.
func TestWalkIsCut(t *testing.T) {
	r, err := Run(t.Context(), Config{Depth: 3, Executions: 9, Walks: &pick.Walks{Seed: 1, Picks: allPicks},
		Nodes: exampleNodes(t, "counter", "server 127.0.0.1:7100", "client")})
	if err != nil || r.Verdict != model.Unknown || !strings.Contains(r.Reason, "were cut off") {
		t.Errorf("%+v, %v", r, err)
	}
}

// exampleNodes are the nodes of an example, each named after its package, with a number from the
// second one of a package on, and where it listens. The number is its argument, too.
func exampleNodes(t *testing.T, example string, list ...string) (made []Node) {
	t.Helper()
	programs, count := map[string]*sut.Program{}, map[string]int{}
	for _, node := range list {
		name, listen, _ := strings.Cut(node, " ")
		if programs[name] == nil {
			programs[name] = build(t, "./"+example+"/"+name)
		}
		n := Node{Name: name, Package: "./" + example + "/" + name, Program: programs[name], Listen: listen}
		if count[name]++; count[name] > 1 {
			number := strconv.Itoa(count[name])
			n.Name, n.Args = name+number, []string{"-n", number}
		}
		made = append(made, n)
	}
	return made
}

// allPicks are all ways to pick goroutines.
var allPicks = []pick.Pick{pick.Uniformly, pick.ByPriority, pick.ByOperation}

// TestWalksAgainstTwin: in walks, random nodes whose network is parted come only to what they come
// to in a system whose states are all gone through. What they come to is replayed.
func TestWalksAgainstTwin(t *testing.T) {
	compareWalks(t, 1, partedState{givesUp: true}, Config{Partitions: both()})
}

// TestEndAfterLate: whoever closes a connection before something late has come lets the other node
// find its end.
func TestEndAfterLate(t *testing.T) {
	c := Config{Slow: 1, Nodes: scriptedNodes(build(t, "./testdata/script"),
		[]string{"listen :7300", "accept", "write x", "sleep 1", "expect data"},
		[]string{"dial :7300", "sleep 1"})}
	if r, err := Run(t.Context(), c); err != nil || r.Verdict != model.Holds {
		t.Errorf("explored: %+v, %v", r, err)
	}
	for seed := range uint64(3) {
		c.Executions, c.Walks = 1000, &pick.Walks{Seed: seed, Picks: allPicks}
		r, err := Run(t.Context(), c)
		if err != nil || r.Verdict != model.Unknown || r.Reason != c.OverLimit() {
			t.Errorf("seed %d: %+v, %v", seed, r, err)
		}
	}
}

// TestSlowAgainstTwin: likewise if one direction of a connection is slow for some time, and if the
// network is parted, too.
func TestSlowAgainstTwin(t *testing.T) {
	t.Run("slow", func(t *testing.T) {
		compareWalks(t, 1, partedState{slows: 1, parted: 2}, Config{Slow: 1})
	})
	t.Run("parted and slow", func(t *testing.T) {
		compareWalks(t, 3, partedState{givesUp: true, slows: 1}, Config{Partitions: both(), Slow: 1})
	})
}

// TestSlowExploredAgainstTwin: random nodes whose connection is slow come to the same as a system
// whose states are all gone through, and to nothing else. So they do if the network is parted, too.
func TestSlowExploredAgainstTwin(t *testing.T) {
	program := build(t, "./testdata/parted")
	compare := func(t *testing.T, seed uint64, most int, partitions [][][2]int) {
		r := rand.New(rand.NewPCG(seed, 9))
		scripts := randomParted(r)
		who, from := r.IntN(2), partedState{slows: min(1+r.IntN(3)/2, most), longest: 3}
		if partitions == nil {
			from.parted = 2
		}
		want := partedOutcomes(scripts, who, from)
		twin{seed, scripts, who, want, func(check string) Config {
			return Config{Nodes: partedNodes(program, scripts, who, check), Slow: from.slows,
				Partitions: partitions}
		}}.explored(t, 1)
	}
	t.Run("slow", func(t *testing.T) {
		for seed := range uint64(*systems) {
			compare(t, seed, 2, nil)
		}
	})
	// These take longer.
	t.Run("parted and slow", func(t *testing.T) {
		for seed := range uint64(1 + *systems/20) {
			compare(t, seed, 1, both())
		}
	})
}

// comeTo compares walks with what one of their nodes comes to in a system whose states are all gone
// through: it comes to nothing else. What that node is to come to, or is not, is the argument of a
// check. It returns how much of it was found. All of that is replayed.
func comeTo(t *testing.T, seed uint64, want []string, of func(check string) Config) (found int) {
	t.Helper()
	run := func(check string) (*Violation, []Node) {
		c := of(check)
		c.Walks = &pick.Walks{Seed: seed, Picks: allPicks}
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatalf("seed %d: %v\n%+v", seed, err, c.Nodes)
		}
		return r.Violation(), c.Nodes
	}
	if v, list := run("in:" + strings.Join(want, ",")); v != nil {
		t.Errorf("seed %d: a node comes to something else than %q: %s\n%s\n%+v", seed, want,
			v.Counterexample.Failure.Message, strings.Join(whats(v.Events), "\n"), list)
	}
	for _, got := range want {
		v, list := run("not:" + got)
		if v == nil {
			continue
		}
		found++
		if v.Recording == nil {
			t.Errorf("seed %d: a node comes to %q, and not again: %s\n%s\n%+v", seed, got, v.Unrecorded,
				strings.Join(whats(v.Events), "\n"), list)
			continue
		}
		again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), 2)
		if err != nil || again.Violation == nil {
			t.Errorf("seed %d: a node comes to %q, not from the file: %+v, %v\n%+v", seed, got, again, err,
				list)
		}
	}
	return found
}

// compareWalks compares walks with what random nodes come to from a state on, of each so many
// systems one.
func compareWalks(t *testing.T, every int, from partedState, c Config) {
	t.Helper()
	program := build(t, "./testdata/parted")
	walkTwins(t, func(yield func(twin) bool) {
		for seed := uint64(0); seed < uint64(*systems); seed += uint64(every) {
			r := rand.New(rand.NewPCG(seed, 9))
			scripts := randomParted(r)
			who := r.IntN(2)
			from := from
			if from.parted == 0 { // every other network may be parted twice
				from.again = int(seed % 2)
			}
			if !yield(twin{seed, scripts, who, partedOutcomes(scripts, who, from), func(check string) Config {
				c.Nodes, c.Executions = partedNodes(program, scripts, who, check), 400
				c.PartitionLimit = 1 + from.again
				return c
			}}) {
				return
			}
		}
	})
}

// TestWalksHaveFaults: also in executions at random, the network fails as often as it may, and the
// same happens in the replay.
func TestWalksHaveFaults(t *testing.T) {
	list := exampleNodes(t, "counter", "server 127.0.0.1:7100", "client")
	list[1].Args = []string{"fixed"}
	const what = "a fault of the network"
	for _, kind := range []string{"reset", "end"} {
		c := Config{Nodes: list, Executions: 2000, Walks: &pick.Walks{Seed: 1, Picks: allPicks}}
		c.Worker.Environment = sut.Environment{Faults: 1, FaultKinds: []string{kind}}
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		v := r.Violation()
		if v == nil || v.Recording == nil || !strings.Contains(strings.Join(whats(v.Events), "\n"), what) {
			t.Fatalf("%s: %v after %d executions, %s: %+v", kind, r.Verdict, r.Runs, r.Reason, v)
		}
		again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), *replays)
		if err != nil || again.Violation == nil {
			t.Errorf("%s: %+v, %v", kind, again, err)
		}
	}
}
