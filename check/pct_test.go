package check

import (
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// ofKnownDepth are bugs of the gallery, with the orders of operations that suffice for each to
// show: as many as the bug is deep (Burckhardt et al., ASPLOS 2010, section 2).
var ofKnownDepth = []struct {
	name   string
	orders []string
}{
	{"add-inside", []string{"Wait before Add"}},
	{"answer-to-another", []string{"the second answer before the first"}},
	{"captured-index", []string{"the next round before the goroutine of this one"}},
	{"reused-too-early", []string{"the second Add before a return from Wait"}},
	{"ab-ba", []string{"a's owner has it before b's owner asks", "b's owner has it before a's owner asks"}},
	{"philosophers", []string{"a fork is taken from the right before its left one asks",
		"and so at the next place"}},
	{"read-write-read",
		[]string{"first read lock before the writer", "the writer before the second read lock"}},
	{"length-then-receive",
		[]string{"length before the other receives", "the other receives before this one does"}},
	{"check-then-withdraw",
		[]string{"check before the other withdraws", "the other withdraws before this one does"}},
	{"get-or-create", []string{"load before the other stores", "the other stores before this one does"}},
	{"upgrade-without-recheck",
		[]string{"look before the other computes", "the other computes before this one does"}},
	{"stale-fill", []string{"read before the change", "the invalidation before the fill"}},
	{"commit-after-cancel", []string{"look before the cancellation", "the cancellation before the commit"}},
	{"two-leaders", []string{"look before the other takes it", "the other takes it before this one does"}},
	{"lost-update", []string{"load before the other stores", "the other stores before this one does"}},
	{"same-number-twice", []string{"Add before the other's Add", "the other's Add before Load"}},
	{"torn-pair", []string{"first update before the first read", "second read before the second update"}},
	{"aba", []string{"head read before the others change it", "they have put it back before the exchange"}},
	{"check-then-close", []string{"look before the other closes", "the other closes before this one does"}},
	{"hub-closes-subscriber",
		[]string{"copy before the channel is closed", "the channel is closed before the send"}},
	{"parallel-fixture", []string{"set before the other sets", "the other sets before this one reads"}},
	{"serve-returns-early",
		[]string{"handler under way before the shutdown", "the store is closed before the handler uses it"}},
	{"over-admission", []string{"look before the other enters", "the other looks before this one enters",
		"the other begins to work before this one ends"}},
}

// TestPCTOnGallery: bugs of known depth show as often as a search by PCT for that depth promises,
// at least; and not at all in one for a smaller depth. The seeds are fixed, so that the figures are
// always the same, and where the promise is nearest they are a fifth above it.
func TestPCTOnGallery(t *testing.T) {
	const executions, fewer = 1000, 500
	p, err := buildProgram("../examples/gallery", filepath.Join(tree, "gallery"), sut.RacesMain)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%-24s %5s %10s %11s %8s %8s", "bug", "depth", "goroutines", "transitions", "promised", "measured")
	for _, bug := range ofKnownDepth {
		depth := len(bug.orders)
		v := searchFor(t, p, pctSearch(executions, depth, 1), bug.name)
		g, rate := v.Guarantee, float64(v.Violations)/executions
		t.Logf("%-24s %5d %10d %11d %8.4f %8.4f", bug.name, depth, g.Goroutines, g.Transitions, g.Each, rate)
		if rate < g.Each {
			t.Errorf("%s shows in %v of the executions, promised are %v", bug.name, rate, g.Each)
		}
		if depth > 1 {
			if less := searchFor(t, p, pctSearch(fewer, depth-1, 1), bug.name); less.Violations > 0 {
				t.Errorf("%s shows at depth %d already: %d times", bug.name, depth-1, less.Violations)
			}
		}
	}
}

// searchFor searches a program of the gallery to the end, whatever is found.
func searchFor(t *testing.T, p *sut.Program, s *explore.Search, name string) explore.Verdict {
	t.Helper()
	_, err := eachExecution(p, sut.Options{Args: []string{name}}, s, func(*sut.Log, explore.Execution) bool {
		return true
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s.Verdict()
}
