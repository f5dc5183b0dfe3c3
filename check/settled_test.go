package check

import (
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// TestAfterSettled: after an operation that is a transition of its own, whatever accesses something
// without a point begins another one, of which a preemption is counted.
func TestAfterSettled(t *testing.T) {
	p, err := buildProgram("testdata/settled", filepath.Join(tree, "settled"))
	if err != nil {
		t.Fatal(err)
	}
	search := func(what string, s *explore.Search, want explore.VerdictKind) {
		t.Helper()
		if v := check(t, Options{Program: p, Args: []string{what}, Search: s}).Verdict; v.Kind != want {
			t.Errorf("%s: %+v, want %v", what, v, want)
		}
	}
	for _, what := range []string{"pin", "listen", "bind", "connect", "control", "statfs", "replace"} {
		search(what, dporSearch(), explore.Holds)
		search(what, randomSearch(100, 1), explore.Unknown)
	}
	search("order", bounded(explore.DPOR, 0), explore.Holds)
	search("order", bounded(explore.DPOR, 1), explore.Violated)
}
