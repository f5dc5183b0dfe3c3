package dpor

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// TestMayOverdraw: where no counter may get below zero, following any reversal finds none that
// does.
func TestMayOverdraw(t *testing.T) {
	may, below := 0, 0
	blocks := []string{"add w 1", "add w 2", "done w", "rlock m; runlock m", "lock m; |; unlock " +
		"m", "add v 1; done v", "store x 1", "wait w", "wait w; add w 2"}
	for number := range 600 {
		p := rapid.Custom(testkit.Profile{Blocks: blocks, Seal: number%2 == 0}.Generate).Example(number)
		d := New()
		d.Next()
		if err := d.Report(testkit.Run(p, core.Schedule{}, 0).Log); err != nil {
			t.Fatal(err)
		}
		found := false
		for e := range int32(len(d.trace.Events)) {
			clear(d.counters)
			d.gather(e, -1, nil)
			found = found || slices.ContainsFunc(d.scratch, func(x int32) bool { return d.overdraws(e, x) })
		}
		if found && !d.accounts.mayOverdraw() {
			t.Fatalf("a counter gets below zero:\n%v", p)
		}
		if found {
			below++
		}
		if d.accounts.mayOverdraw() {
			may++
		}
	}
	if below < 20 || may > 400 {
		t.Errorf("in %d of 600 programs a counter may get below zero, in %d one does: the test says "+
			"little", may, below)
	}
}

// TestCountBefore: a writer that announces itself while a reader is inside does not say so.
func TestCountBefore(t *testing.T) {
	d := New()
	d.Next()
	transition := func(g core.GoroutineID, a core.Access) core.Transition {
		a.Object = 1
		return core.Transition{Action: core.Action{Goroutine: g}, Choices: 1, Accesses: []core.Access{a}}
	}
	err := d.Report(core.Execution{Outcome: core.Completed, Transitions: []core.Transition{
		transition(1, core.Access{Kind: core.Commute, Delta: 1}),
		transition(2, core.Access{Kind: core.Write}),
		transition(1, core.Access{Kind: core.Commute, Delta: -1, Count: 1}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for e, want := range []int32{0, 1, 1} {
		if got := d.trace.CountBefore(&d.trace.Objects[0], int32(e)); got != want {
			t.Errorf("before event %d the counter is %d, want %d", e, got, want)
		}
	}
}
