package check

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

var thingScripts = flag.Int("thing-scripts", 3,
	"number of random programs that share timers, contexts, files and maps, of each kind")

// things are operations of testdata/things, by what they are about.
var things = map[string]string{
	"timers":   "rrsspwzl",
	"clock":    "zfflazrp",
	"contexts": "cddeewzr",
	"files":    "WARTUMSX",
	"closed":   "WARCCT",
	"maps":     "mgqDnk",
	"settled":  "aNlNaNWARCmgkrscez", // after atomic operations
	"all":      "rspwzflacdeWARTUMSXmgqDk",
}

// TestThings compares what the reduced search finds with what the search of all schedules does, for
// random programs whose goroutines share timers, contexts, files and maps, as time passes and, in
// every other one, earlier.
func TestThings(t *testing.T) {
	p, err := buildProgram("testdata/things", filepath.Join(tree, "things"))
	if err != nil {
		t.Fatal(err)
	}
	for kind, operations := range things {
		t.Run(kind, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 4))
			whole := 0
			for n := range *thingScripts {
				var o sut.Options
				for range 2 + random.IntN(6)/5 { // goroutines, seldom three
					var script []string
					for range 1 + random.IntN(2) {
						thing := random.IntN(3) / 2 // mostly the first one
						script = append(script,
							fmt.Sprintf("%c%d", operations[random.IntN(len(operations))], thing))
					}
					o.Args = append(o.Args, strings.Join(script, " "))
				}
				if kind != "files" && kind != "maps" && kind != "closed" {
					o.Environment.EarlyTimers = n % 2
				}
				if sameThings(t, p, o) {
					whole++
				}
			}
			if t.Logf("of %d programs %d have few enough schedules to run all", *thingScripts,
				whole); whole == 0 {
				t.Error("nothing was compared that could show an outcome too many")
			}
		})
	}
}

// TestThingsThatWereWrong: a timer that is stopped drops what it has sent, so that who waits for
// that does not get it. Orders in which he gets it before were lost.
func TestThingsThatWereWrong(t *testing.T) {
	p, err := buildProgram("testdata/things", filepath.Join(tree, "things"))
	if err != nil {
		t.Fatal(err)
	}
	for _, early := range []int{0, 1} {
		for _, scripts := range [][]string{{"r0 s0", "w0"}, {"r0 z0 s0", "w0"}, {"r0 z0 r1", "w0"}} {
			sameThings(t, p, sut.Options{Args: scripts, Environment: sut.Environment{EarlyTimers: early}})
		}
	}
}

// sameThings compares two searches of one program, and reports whether all its schedules were run.
func sameThings(t *testing.T, p *sut.Program, o sut.Options) (whole bool) {
	t.Helper()
	const enough = 4000
	some, executions := sawThings(t, p, o, dporSearch())
	all, schedules := sawThings(t, p, o, maxExecutions(dfsSearch(), enough))
	whole = schedules < enough
	if !whole { // the reduced search is to find those that were seen
		for s := range some {
			all[s] = true
		}
	}
	if diff := cmp.Diff(all, some); diff != "" {
		t.Errorf("%q, %d early timers: %d executions, %d schedules; the reduced search finds other "+
			"outcomes (-exist +found):\n%s",
			o.Args, o.Environment.EarlyTimers, executions, schedules, diff)
	}
	return whole
}

// sawThings is what the goroutines have seen in each execution, by goroutine: who printed first
// makes no difference.
func sawThings(t *testing.T, p *sut.Program, o sut.Options, s *explore.Search) (seen map[string]bool,
	executions int) {
	t.Helper()
	seen = map[string]bool{}
	if _, err := eachExecution(p, o, s, func(log *sut.Log, x explore.Execution) bool {
		if x.Outcome != explore.Redundant {
			lines := strings.Split(strings.TrimSpace(string(log.Stdout)), "\n")
			slices.SortStableFunc(lines, func(a, b string) int {
				return strings.Compare(a[:min(1, len(a))], b[:min(1, len(b))])
			})
			seen[strings.Join(lines, ", ")+" "+x.Outcome.String()] = true
		}
		executions++
		return true
	}); err != nil {
		t.Fatalf("%q: %v", o.Args, err)
	}
	return seen, executions
}
