package explore

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/dpor"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// TestOptimal compares what DPOR executes of random programs with the partial orders
// that there are: each once, all final states, and nothing redundant. It prints the
// numbers. PROGRAMS says how many programs.
func TestOptimal(t *testing.T) {
	programs, err := strconv.Atoi(cmp.Or(os.Getenv("PROGRAMS"), "450"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range testkit.Profiles {
		t.Run(f.Name, func(t *testing.T) {
			var total optimality
			for number := range (programs + i) / len(testkit.Profiles) {
				total.add(t, rapid.Custom(f.Generate).Example(number))
			}
			t.Logf("%d programs, %d more are too large: %d partial orders, %d schedules, %d executions, "+
				"%d of them redundant",
				total.programs, total.skipped, total.orders, total.schedules, total.executions,
				total.redundant)
			if total.redundant > 0 && !f.Coarse {
				t.Errorf("%d redundant executions, for one in:\n%s", total.redundant, total.worst)
			}
			if total.programs == 0 {
				t.Error("no program was compared")
			}
		})
	}
}

// optimality sums up comparisons.
type optimality struct {
	programs, skipped                        int
	orders, schedules, executions, redundant int
	// the shortest program with a redundant execution
	worst string
}

func (o *optimality) add(t *testing.T, p *testkit.Program) {
	all, err := testkit.SearchAll(maxExecutions(dfsSearch(), testkit.DFSBudget), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if all.Verdict.Executions == testkit.DFSBudget {
		o.skipped++
		return
	}
	search := dporSearch()
	// no reversal is long here: in every other program all are taken for it
	search.core.(*dpor.Search).Short *= o.programs % 2
	some, err := testkit.SearchAll(search, p, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.programs++
	o.orders += len(all.Fingerprints)
	o.schedules += all.Verdict.Executions
	o.executions += some.Verdict.Executions
	if text := p.String(); some.Verdict.Redundant > 0 && (o.worst == "" || len(text) < len(o.worst)) {
		o.worst = text
	}
	o.redundant += some.Verdict.Redundant
	if len(some.Fingerprints) != len(all.Fingerprints) || some.Complete() != len(all.Fingerprints) {
		t.Errorf("%d complete executions of %d partial orders, but there are %d:\n%s",
			some.Complete(), len(some.Fingerprints), len(all.Fingerprints), p)
	}
	if !slices.Equal(testkit.SortedKeys(all.States), testkit.SortedKeys(some.States)) ||
		all.Verdict.Kind != some.Verdict.Kind {
		t.Errorf("other final states, or another verdict:\n%s", p)
	}
}

// TestSealedForTheFirstTime does so on programs in which a transition goes on, sealed, only where
// another one has run before it, and none did before.
func TestSealedForTheFirstTime(t *testing.T) {
	for _, text := range []string{
		"main: go q; go r; go p\np: store x 1; load r1 y; skip r1 1 1; .store x 3\n" +
			"q: store y 1; store x 1\nr: store x 1; store x 1",
		"main: go r; go p; go q\np: load r0 x; skip r0 1 1; .store y 3; store y 1; store x 1\n" +
			"q: store y 1\nr: store x 1; store x 1",
		"main: go s; go q; go r; go p\np: store x 1; load r2 z; skip r2 1 1; .store x 2\nq: store x 1\n" +
			"r: load r0 x; store x 4\ns: load r1 y; store z 1",
	} {
		compare(t, testkit.ParseProgram(text))
	}
}

// TestNothingRedundant does so on programs each of which needs a certain rule.
func TestNothingRedundant(t *testing.T) {
	for name, text := range map[string]string{
		"two readers that a writer has to overtake both": "main: go p; go r; go q\np: rlock m; lock m; " +
			"runlock m\n" +
			"q: lock m; unlock m\nr: rlock m; lock m; runlock m",
		"several sums of Adds that are zero": "main: go q; go p; add w 1; done w; add w 1; add w 2; done " +
			"w; wait w; done w; done w\n" +
			"p: wait w\nq: add w 1; add w 1; done w; done w; add w 1; done w; add w 1; wait w; done w",
		"what a partner would have done commutes with something asleep": "main: go r; go p; go q\n" +
			"p: either r2 d b1 5; send b1 2\nq: send d 3\nr: poll r0 c; select r2 c d",
		"a sleeper that cannot run where it woke": "main: go r; go p; go q; select r2 c d\n" +
			"p: load r0 x; select r2 c b1\n" +
			"q: send d 3\nr: send c 1",
		"something asleep deep in a wakeup tree": "main: go r; go q; store x 1; go p; lock m; .unlock m\n" +
			"p: .offer r0 d 7\nq: .load r0 x; .either r2 d b1 5; .sleep 2\nr: send b1 2; offer r1 c 6",
		"something asleep that would make those who wait fewer": "main: go r; go s; go q; go p\n" +
			"r: select r2 c d\n" +
			"s: offer r1 c 3; either r2 c d 4\nq: offer r1 c 3\np: either r2 d b1 5",
		"alternatives that are fewer than when they fell asleep": "main: go p; go r; go q; select r2 c d\n" +
			"p: poll r1 b1; offer r0 d 7\nq: either r2 d b1 5; offer r0 d 7\nr: either r2 c c 8; load r0 x",
	} {
		t.Run(name, func(t *testing.T) {
			var o optimality
			o.add(t, testkit.ParseProgram(text))
			if o.programs != 1 || o.redundant > 0 {
				t.Errorf("%+v", o)
			}
		})
	}
}
