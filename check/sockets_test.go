package check

import (
	"flag"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestSocketsLoseNothing is TestReductionLosesNothing for programs that talk to themselves over
// sockets and pipes. The outcomes are those that Linux has.
func TestSocketsLoseNothing(t *testing.T) {
	p, err := buildProgram("testdata/sockets", filepath.Join(tree, "sockets"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string][]string{
		"accept":        {"ab", "ba"},
		"writers":       {"abc", "acb", "bac", "bca", "cab", "cba"},
		"twice":         {"abcd", "acbd", "acdb", "cabd", "cadb", "cdab"},
		"formatted":     {"abcd", "acbd", "acdb", "cabd", "cadb", "cdab"},
		"close":         {"xfalse", "\x00true"},
		"close twice":   {"true false", "false true"},
		"udp":           {"atruebtrue", "btrueatrue"},
		"udp close":     {"true true", "true false"},
		"deadline":      {"true", "false"},
		"same port":     {"true false", "false true"},
		"late listener": {"true", "false"},
		"reset":         {"true true", "true false"},
		"full pipe":     {"10 true", "0 false"},
		"readers":       {"ab", "ba"},
		"unlink":        {"true", "false"},
		"udp connect":   {"8 true", "0 false"},
	} {
		t.Run(scenario, func(t *testing.T) {
			all := map[string]bool{}
			for _, text := range want {
				all[text+" completed"] = true
			}
			some, executions := outcomes(t, p, scenario, dporSearch())
			if diff := cmp.Diff(all, some); diff != "" {
				t.Errorf("the reduced search finds other outcomes:\n%s", diff)
			}
			seen, schedules := outcomes(t, p, scenario, maxExecutions(dfsSearch(), 20_000))
			t.Logf("%d executions, %d schedules", executions, schedules)
			if diff := cmp.Diff(all, seen); diff != "" {
				t.Errorf("the search of all schedules finds other outcomes:\n%s", diff)
			}
		})
	}
}

// TestUnrelatedConnectionsAreIndependent: for two goroutines with a connection each, only the order
// in which they report matters.
func TestUnrelatedConnectionsAreIndependent(t *testing.T) {
	p, err := buildProgram("testdata/sockets", filepath.Join(tree, "sockets"))
	if err != nil {
		t.Fatal(err)
	}
	if _, executions := outcomes(t, p, "unrelated", dporSearch()); executions > 2 {
		t.Errorf("%d executions, two are enough", executions)
	}
}

// TestShortReads: how much of what is there a read returns is a choice, where that is asked for and
// as often as it is.
func TestShortReads(t *testing.T) {
	p, err := buildProgram("testdata/sockets", filepath.Join(tree, "sockets"))
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range [][]string{{"3"}, {"3", "12"}, {"3", "12", "111"}, {"3", "12", "111"}} {
		all := map[string]bool{}
		for _, text := range want {
			all[text+" completed"] = true
		}
		o := sut.Options{Args: []string{"short"}, Environment: sut.Environment{ShortReads: limit}}
		for _, search := range []*explore.Search{dporSearch(), dfsSearch()} {
			if seen, _ := outcomesWith(t, p, o, search); !cmp.Equal(all, seen) {
				t.Errorf("with at most %d short reads: %v, want %v", limit, seen, all)
			}
		}
	}
}

// TestSocketScripts compares the outcomes of the reduced search with those of the enumeration, for
// random programs: goroutines that write to, read from, shut down and close the same connections
// and sockets.
func TestSocketScripts(t *testing.T) {
	p, err := buildProgram("testdata/sockets", filepath.Join(tree, "sockets"))
	if err != nil {
		t.Fatal(err)
	}
	const operations = "wwrrcChdsgx"
	random := rand.New(rand.NewPCG(1, 2))
	for range *scripts {
		args := []string{"script"}
		for range 2 + random.IntN(2) {
			text := ""
			for range 1 + random.IntN(2) {
				text += string(operations[random.IntN(len(operations))]) +
					string(rune('0'+random.IntN(2)/(1+random.IntN(2))))
			}
			args = append(args, text)
		}
		t.Run(strings.Join(args[1:], " "), func(t *testing.T) { compareScript(t, p, args) })
	}
}

func compareScript(t *testing.T, p *sut.Program, args []string) {
	const enough = 5000
	o := sut.Options{Args: args}
	some, executions := outcomesWith(t, p, o, dporSearch())
	all, schedules := outcomesWith(t, p, o, maxExecutions(dfsSearch(), enough))
	if schedules == enough { // perhaps these are not all
		maps.Copy(all, some)
	}
	if diff := cmp.Diff(all, some); diff != "" {
		t.Errorf("%d executions, %d schedules; the reduced search finds other outcomes:\n%s", executions,
			schedules, diff)
	}
}

var scripts = flag.Int("socket-scripts", 10, "number of random programs over sockets")
