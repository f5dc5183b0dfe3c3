package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// buildSealing builds testdata/sealing with a module beside it, which is sealed.
func buildSealing(t *testing.T, preemptIn ...string) *sut.Program {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/sealing")); err != nil {
		t.Fatal(err)
	}
	operations, err := os.ReadFile("testdata/sealing/operations.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/sealing\n\ngo 1.25\n\nrequire example.com/library " +
			"v0.0.0\n\nreplace example.com/library => ./library\n",
		"library/go.mod":        "module example.com/library\n\ngo 1.25\n",
		"library/operations.go": strings.Replace(string(operations), "package main", "package library", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	toolchain, err := newToolchain()
	if err != nil {
		t.Fatal(err)
	}
	p, err := toolchain.Build(context.Background(),
		sut.BuildOptions{Dir: dir, Package: ".", Output: filepath.Join(dir, "sut"), PreemptIn: preemptIn})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drawSealing is a random program, some of whose operations are sealed: those after the first one
// of a call.
func drawSealing(number uint64) string {
	r := rand.New(rand.NewPCG(number, 2))
	blocks := []string{
		"lock,m | unlock,m", "lock,m | unlock,m", "trylock,m", "both,m", "rlock,0 | runlock,0", "write,x",
		"add,0 | done,0", "wait,0",
		"send,m", "recv,m", "send,m", "recv,m", "select,0", "poll,m", "load,x", "store,x", "increase,x",
		"move,x", "look,m",
	}
	var block func(depth int) string
	block = func(depth int) string {
		text := blocks[r.IntN(len(blocks))]
		inner := ""
		if depth > 0 && r.IntN(2) == 0 {
			inner = block(depth - 1)
		}
		text = strings.Replace(text, "|", inner, 1)
		text = strings.ReplaceAll(text, "m", "\x00")
		text = strings.ReplaceAll(text, ",\x00", fmt.Sprint(",", r.IntN(2)))
		text = strings.ReplaceAll(text, ",x", fmt.Sprint(",", r.IntN(2)))
		return strings.ReplaceAll(text, "\x00", "m")
	}
	goroutines := make([]string, 2+r.IntN(2))
	for i := range goroutines {
		for range 1 + r.IntN(5-len(goroutines)) {
			for _, operation := range strings.Fields(block(1)) {
				switch text := goroutines[i]; {
				case r.IntN(3) == 0:
					goroutines[i] += " " + operation
				case r.IntN(3) > 0 && strings.Contains(text[strings.LastIndex(text, " ")+1:], "."):
					goroutines[i] += "+" + operation
				default:
					goroutines[i] += " ." + operation
				}
			}
		}
	}
	return strings.Join(goroutines, "/")
}

// TestReductionWithSealing compares the reduction with the enumeration of all schedules, both with
// the same packages sealed: as many executions as there are partial orders, each once, and the same
// outcomes.
func TestReductionWithSealing(t *testing.T) {
	p := buildSealing(t)
	if diff := cmp.Diff([]string{"main", "example.com/sealing"}, p.Open); diff != "" {
		t.Fatalf("packages in which goroutines are preempted (-want +got):\n%s", diff)
	}
	compared, cut := 0, 0
	for number := range uint64(80) {
		text := drawSealing(number)
		all, ok := explored(t, p, text, dfsSearch(), 300)
		if !ok {
			continue
		}
		reduced, _ := explored(t, p, text, dporSearch(), 2000)
		compared++
		if diff := cmp.Diff(all.outcomes, reduced.outcomes); diff != "" {
			t.Errorf("%s\noutcomes (-exist +found):\n%s", text, diff)
		}
		if len(reduced.orders) != len(all.orders) || len(reduced.orders) != reduced.complete {
			t.Errorf("%s\n%d executions of %d partial orders; there are %d", text, reduced.complete,
				len(reduced.orders), len(all.orders))
		}
		cut += all.complete - reduced.complete
	}
	t.Logf("%d programs; the reduction spares %d executions", compared, cut)
	if compared < 40 || cut == 0 {
		t.Error("too little was compared")
	}
}

// TestSealedOperations: sealing takes schedules away, and opening the package gives them back.
func TestSealedOperations(t *testing.T) {
	sealed, opened := buildSealing(t), buildSealing(t, "example.com/library")
	for text, without := range map[string]string{
		".increase,0 load,0/.increase,0":     "increase,0 load,0/increase,0",
		".look,1/.look,1/store,1":            "look,1/look,1/store,1",
		".both,0/.both,1":                    "both,0/both,1",
		".store,0+increase,0/.load,0+load,0": "store,0 increase,0/load,0 load,0",
	} {
		few, _ := explored(t, sealed, text, dfsSearch(), 1000)
		many, _ := explored(t, sealed, without, dfsSearch(), 1000)
		again, _ := explored(t, opened, text, dfsSearch(), 1000)
		if few.complete >= many.complete || many.complete != again.complete {
			t.Errorf("%s: %d schedules with sealing, %d without, %d of the opened package", text,
				few.complete, many.complete, again.complete)
		}
	}
	for text, without := range map[string]string{
		".load,0 .store,0 .load,0/.store,0 .load,0": "load,0 store,0 load,0/store,0 load,0",
		".lock,0 .store,0 .unlock,0/.load,0":        "lock,0 store,0 unlock,0/load,0",
	} {
		some, _ := explored(t, sealed, text, dfsSearch(), 1000)
		many, _ := explored(t, sealed, without, dfsSearch(), 1000)
		if some.complete != many.complete {
			t.Errorf("%s: %d schedules, though each operation is a call of its own: there are %d", text,
				some.complete, many.complete)
		}
	}
}

// sealedSearch is what a search of a program has found.
type sealedSearch struct {
	outcomes map[string]bool
	orders   map[uint64]bool // partial orders
	complete int             // executions that were not cut off
}

// explored is false if there are more executions than the limit.
func explored(t *testing.T, p *sut.Program, text string, s *explore.Search, limit int) (f sealedSearch,
	ok bool) {
	t.Helper()
	f = sealedSearch{outcomes: map[string]bool{}, orders: map[uint64]bool{}}
	ok, err := eachExecution(p, sut.Options{Args: []string{text}}, s,
		func(log *sut.Log, x explore.Execution) bool {
			if x.Outcome != explore.Redundant {
				f.outcomes[outcomeOf(log)] = true
				f.orders[explore.Fingerprint(x)] = true
				f.complete++
			}
			return f.complete <= limit
		})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f, ok
}

// TestSemaphoresArePrimitives: what golang.org/x/sync has is as little sealed as package sync:
// between two calls of it goroutines are preempted.
func TestSemaphoresArePrimitives(t *testing.T) {
	p, err := buildProgram("testdata/semaphores", filepath.Join(tree, "semaphores"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want map[string]bool
	}{
		{nil, map[string]bool{" completed": true, " deadlock": true}},
		{[]string{"ordered"}, map[string]bool{" completed": true}},
	} {
		got, _ := outcomesWith(t, p, sut.Options{Args: c.args}, dporSearch())
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: outcomes (-want +got):\n%s", c.args, diff)
		}
	}
}
