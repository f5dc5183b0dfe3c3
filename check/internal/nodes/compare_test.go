package nodes

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
)

// twin is what one node of several that follow scripts can come to, as is known from a system whose
// states are all gone through.
type twin struct {
	seed    uint64
	scripts []string
	who     int
	want    []string
	// of is a check of the nodes. What that node is to come to, or is not, is the argument.
	of func(check string) Config
}

// explored checks that the node comes to what is wanted where it is explored, and to nothing else.
// It replays what it comes to so many times, and returns how many executions all that takes. Of
// three nodes, two are in a group in every other check.
func (w twin) explored(t *testing.T, replays int) (runs int) {
	t.Helper()
	name := fmt.Sprintf("seed %d, node %d of %q, %+v", w.seed, w.who, w.scripts, w.of("").Crash)
	checks := w.seed
	run := func(check string) (*Result, []Node) {
		c := w.of(check)
		if checks++; checks%2 == 0 && len(c.Nodes) == 3 {
			c.Nodes = inGroups(c.Nodes, strings.Fields([]string{"a a -", "- a a", "a - a"}[checks%3]))
		}
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		runs += r.Runs
		return r, c.Nodes
	}
	r, _ := run("in:" + strings.Join(w.want, ","))
	t.Logf("%s: %d executions, %d skeletons, %d outcomes", name, r.Runs, r.Counts.Skeletons, len(w.want))
	if r.Verdict != model.Holds {
		message := r.Reason
		if v := r.Violation(); v != nil {
			message = fmt.Sprint(v.Counterexample.Failure.Message, "\n", strings.Join(whats(v.Events), "\n"))
		}
		t.Errorf("%s: it comes to something else than %q: %v, %s", name, w.want, r.Verdict, message)
	}
	for _, got := range w.want {
		r, list := run("not:" + got)
		v := r.Violation()
		if v == nil || v.Recording == nil {
			t.Errorf("%s: it does not come to %q of %q: %v, %s, %+v", name, got, w.want, r.Verdict, r.Reason,
				v)
			continue
		}
		if replays == 0 {
			continue
		}
		again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), replays)
		if err != nil || again.Violation == nil {
			t.Errorf("%s: it comes to %q, not from the file: %+v, %v", name, got, again, err)
		}
	}
	return runs
}

// walkTwins compares walks with twins, and returns how often a node comes to each letter. Walks are
// to find at least half of what the nodes can come to.
func walkTwins(t *testing.T, twins iter.Seq[twin]) (kinds map[rune]int) {
	t.Helper()
	found, all := 0, 0
	kinds = map[rune]int{}
	for w := range twins {
		w.count(kinds)
		all += len(w.want)
		found += comeTo(t, w.seed, w.want, w.of)
	}
	t.Logf("%d of %d were found; %v", found, all, kinds)
	if found < all/2 {
		t.Errorf("walks find %d of %d", found, all)
	}
	return kinds
}

// count counts the letters that a node can come to.
func (w twin) count(kinds map[rune]int) {
	for _, letter := range strings.Join(w.want, "") {
		kinds[letter]++
	}
}

// resumed is what a check comes to that bounds end, the last of which is none: it goes on from what
// was saved, with another number of crews each time.
func resumed(t *testing.T, c Config, bounds ...int) (r *Result) {
	t.Helper()
	var state []byte
	var err error
	c.Save = func(encode func() ([]byte, error), _ bool) {
		if state, err = encode(); err != nil {
			t.Error(err)
		}
	}
	for i, bound := range append(slices.Clip(bounds), 0) {
		c.Executions, c.Crews, c.Resume = bound, 1+i%3, state
		if r, err = Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if bound > 0 && (r.Verdict != model.Unknown || r.Runs > bound) {
			t.Errorf("%v after %d executions, want at most %d", r.Verdict, r.Runs, bound)
		}
	}
	return r
}
