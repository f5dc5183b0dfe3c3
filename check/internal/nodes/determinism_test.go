package nodes

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/sut"
)

// The numbers of schedules of all nodes together, and of runs of each.
var (
	schedules = flag.Int("schedules", 10, "compare the runs of `n` global schedules")
	runs      = flag.Int("runs", 5, "run each global schedule `n` times")
)

// TestGlobalSchedules: with one schedule of all nodes, every node does the same each time, event by
// event. There is a schedule for each skeleton of random systems, every other one with timers, and
// of the examples. It is run by new workers.
func TestGlobalSchedules(t *testing.T) {
	script := build(t, "./testdata/script")
	systems := [][]Node{
		{
			{Name: "client", Program: build(t, "./accumulator/client")},
			{Name: "primary", Program: build(t, "./accumulator/primary"), Listen: "127.0.0.1:7001"},
			{Name: "secondary", Program: build(t, "./accumulator/secondary"), Listen: "127.0.0.1:7002"},
		},
		{
			{Name: "server", Program: build(t, "./web/server"), Listen: "127.0.0.1:7200"},
			{Name: "client", Program: build(t, "./web/client")},
		},
		{
			{Name: "server", Program: build(t, "./retry/server"), Args: []string{"fixed"},
				Listen: "127.0.0.1:7400"},
			{Name: "client", Program: build(t, "./retry/client")},
		},
	}
	compared, events, used := 0, 0, 0
	for seed := uint64(0); compared < *schedules; seed++ {
		if seed >= uint64(len(systems)) {
			scripts := randomScripts(rand.New(rand.NewPCG(seed, 5)), seed%2 == 0)
			systems = append(systems, randomNodes(script, scripts))
		}
		used++
		n, of := compareRuns(t, systems[seed], *schedules-compared)
		compared, events = compared+n, events+of
	}
	t.Logf("%d global schedules of %d systems, %d events of nodes on average, each %d times", compared, used,
		events/compared, *runs)
}

// compareRuns explores a system, and runs a schedule for each of its skeletons, but for those
// beyond a number, again and again. It returns how many there were, and how many events they have.
func compareRuns(t *testing.T, list []Node, most int) (compared, events int) {
	t.Helper()
	for i := range list {
		list[i].Package = "./" + list[i].Name
	}
	// Three of one system are enough, and need not all executions of it.
	const each, executions = 3, 300
	x, err := newExplorer(t.Context(), Config{Nodes: list, Executions: executions, Violations: executions})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	if err := x.exploreAll(); err != nil {
		t.Fatal(err)
	}
	x.config.Executions = 0
	r := recorder{x}
	for _, s := range x.system.Skeletons() {
		if !s.Possible() || network.Tick(s.Global, x.net) != nil || compared == min(most, each) {
			continue
		}
		courses := make([]*course.Course, len(list))
		for c := range list {
			if courses[c], _, err = r.realise(c, s.Global, true); err != nil {
				t.Fatal(err)
			}
		}
		if !course.Together(x.net, s.Global, courses) {
			t.Fatal("no order suits all nodes")
		}
		p := r.player(course.Chained(s.Global, courses), 0)
		for c := range list {
			p.schedules[c].Prefix = courses[c].Choices()
		}
		// The judged node is to get what was sent when the others do, since it has such a schedule.
		p.judged = -1
		all, parted, err := p.run()
		if err != nil || parted != nil {
			t.Fatalf("%v, %v", parted, err)
		}
		compareWith(t, programsOf(list), x, p, all)
		compared, events = compared+1, events+len(course.Order(p.net, p.global))
	}
	return compared, events
}

// compareWith runs what a player has run with other workers, and compares the logs of all nodes.
func compareWith(t *testing.T, programs []*sut.Program, x *explorer, p *player, first []Played) {
	t.Helper()
	again := *p
	again.workers = nil
	for c, program := range programs {
		w, err := sut.Start(program, x.options(c))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		again.workers = append(again.workers, w)
	}
	for i := range *runs {
		all, parted, err := again.run()
		if err != nil || parted != nil {
			t.Fatalf("run %d: %v, %v", i+1, parted, err)
		}
		for c := range all {
			if all[c].eventLog != first[c].eventLog || all[c].Outcome != first[c].Outcome {
				t.Fatalf("run %d: node %s ends with %v, and with %v before, or has another log", i+1,
					p.net.Names[c], all[c].Outcome, first[c].Outcome)
			}
		}
	}
}
