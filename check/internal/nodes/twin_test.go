package nodes

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

var systems = flag.Int("systems", 6, "compare `n` random systems with one program")

// enough are so many systems that they come to all kinds of outcomes, and that what takes long is
// tested, too.
const enough = 25

// TestTogether: random clients and a server have the same verdict as nodes, and as goroutines of
// one program, which is explored as any program is.
func TestTogether(t *testing.T) { testTogether(t, max(*systems, enough), false) }

// TestTogetherWithTimers: the same with sleeps, deadlines, tickers and a select. No two nodes have
// timers that are due at the same time: in one program these fire at once, and among nodes what one
// of them does then may come before another one's timer.
func TestTogetherWithTimers(t *testing.T) { testTogether(t, max(*systems, enough), true) }

func testTogether(t *testing.T, systems int, timed bool) {
	t.Helper()
	const most = 3000
	program := build(t, "./testdata/script")
	count := map[model.Verdict]int{}
	for seed := uint64(0); count[model.Holds]+count[model.Violated] < systems; seed++ {
		scripts := randomScripts(rand.New(rand.NewPCG(seed, 3)), timed)
		want, ended := runTogether(t, program, scripts, most)
		if !ended {
			continue
		}
		c := Config{Executions: 20 * most, Nodes: randomNodes(program, scripts)}
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatalf("seed %d: %v\n%q", seed, err, scripts)
		}
		if v := r.Violation(); v != nil && v.Recording == nil {
			t.Fatalf("seed %d: all nodes together do not have it: %s\n%q", seed, v.Unrecorded, scripts)
		}
		if r.Verdict != want {
			t.Fatalf("seed %d: as nodes %v (%s), together %v\n%q", seed, r.Verdict, r.Reason, want, scripts)
		}
		count[want]++
	}
	t.Log(count)
	if len(count) < 2 {
		t.Error("all have the same verdict")
	}
}

// randomNodes are nodes that follow the scripts.
func randomNodes(program *sut.Program, scripts []string) (list []Node) {
	for i, script := range scripts {
		node := Node{Name: string(rune('a' + i)), Program: program, Package: "./testdata/script",
			Args: append([]string{"node"}, strings.Fields(script)...)}
		if i == 0 {
			node.Listen = "127.0.0.1:7300"
		}
		list = append(list, node)
	}
	return list
}

// randomScripts are those of a server and its clients: see testdata/script/together.go.
func randomScripts(r *rand.Rand, timed bool) (scripts []string) {
	clients := 1 + r.IntN(2)
	read := []string{"x", "y", "xy", "yx", "xx", "yy", "-"}
	if timed {
		read = append(read, "t", "tx", "xt", "ty", "tt")
	}
	long := 1 // no sum of some such times is that of others
	steps := func() string {
		all := []string{"wx", "wy", "wxy", "r1", "r9"}
		if timed {
			for _, what := range []string{"s", "d", "d", "k", "o", "s"} {
				all = append(all, fmt.Sprint(what, long))
				long *= 3 // a ticker takes it twice
			}
		}
		var list []string
		for range 1 + r.IntN(2) {
			list = append(list, all[r.IntN(len(all))])
		}
		return strings.Join(append(list, read[r.IntN(len(read))]), " ")
	}
	scripts = append(scripts, "serve "+strings.Repeat("c", clients)+" "+steps())
	for range clients {
		scripts = append(scripts, "dial "+steps())
	}
	return scripts
}

// runTogether explores the scripts in one program. It gives up beyond a number of executions.
func runTogether(t *testing.T, program *sut.Program, scripts []string, most int) (model.Verdict, bool) {
	t.Helper()
	_, verdict := exploreOne(t, program, append([]string{"together"}, scripts...), most)
	return verdict, verdict != model.Unknown
}

// exploreOne explores one program. It says how many executions there are, if none is a violation,
// and gives up beyond a number of them.
func exploreOne(t *testing.T, program *sut.Program, args []string, most int) (
	executions int, verdict model.Verdict) {
	t.Helper()
	w, err := sut.Start(program, sut.Options{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	search, err := explore.New(explore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	translator := translate.Translator{}
	for n := 0; ; n++ {
		schedule, more := search.Next()
		switch {
		case !more:
			return executions, model.Holds
		case n == most:
			return 0, model.Unknown
		}
		log, err := w.Run(translator.Schedule(schedule), nil)
		if err != nil {
			t.Fatal(err)
		}
		execution, err := translator.Log(log, translate.SourceOf(w))
		if err != nil {
			t.Fatal(err)
		}
		if execution.Outcome.Violation() {
			return 0, model.Violated
		}
		if execution.Outcome != model.Redundant {
			executions++
		}
		if err := search.Report(execution); err != nil {
			t.Fatal(err)
		}
	}
}

// outcomesOf are what the last step of a script can come to.
func outcomesOf(step string) []string {
	verb, _, _ := strings.Cut(step, " ")
	return map[string][]string{"read-not": {"data", "end", "reset"}, "write-not": {"done", "failed"},
		"dial-not": {"made", "refused"}}[verb]
}

// unexpectedOf lists what the last step of a client comes to, each with a violation of a client
// that does not expect it. Each of these is replayed.
func unexpectedOf(t *testing.T, config Config, program *sut.Program, client, server []string) (can []string) {
	t.Helper()
	last := len(client) - 1
	for _, unexpected := range outcomesOf(client[last]) {
		client := append(slices.Clone(client[:last]), client[last]+" "+unexpected)
		config.Nodes = scriptedNodes(program, client, server)
		if strings.Contains(client[last], "10.0.0.2:") {
			config.Nodes[1].Listen += " 10.0.0.2"
		}
		r, err := Run(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict == model.Unknown {
			t.Fatalf("not %s: %s", unexpected, r.Reason)
		}
		if v := r.Violation(); v != nil {
			can = append(can, unexpected)
			again, err := Replay(t.Context(), programsOf(config.Nodes), throughFile(t, v.Recording), 3)
			if err != nil || again.Violation == nil {
				t.Errorf("not %s: %s; %+v, %v", unexpected, v.Unrecorded, again, err)
			}
		}
	}
	return can
}

// allAsNodes compares random scripts until enough of them are violated: what these come to in one
// program, they come to as nodes.
func allAsNodes(t *testing.T, draw func(seed uint64) []string) {
	t.Helper()
	const most = 3000
	program := build(t, "./testdata/script")
	count := map[model.Verdict]int{}
	for seed := uint64(0); count[model.Violated] < *systems/5; seed++ {
		scripts := draw(seed)
		want, ended := runTogether(t, program, scripts, most)
		if !ended {
			continue
		}
		r, err := Run(t.Context(), Config{Executions: 20 * most, Nodes: randomNodes(program, scripts)})
		if err != nil {
			t.Fatalf("seed %d: %v\n%q", seed, err, scripts)
		}
		if v := r.Violation(); v != nil && v.Recording == nil {
			t.Fatalf("seed %d: all nodes together do not have it: %s\n%q", seed, v.Unrecorded, scripts)
		}
		if want == model.Violated && r.Verdict != want || r.Verdict == model.Unknown {
			t.Fatalf("seed %d: as nodes %v (%s), together %v\n%q", seed, r.Verdict, r.Reason, want, scripts)
		}
		count[want]++
	}
	t.Log(count)
}
