package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestResumeDivided interrupts divided searches of random programs at random places: those that go on,
// with the parts that there were, report what undivided ones do, and run nothing twice.
func TestResumeDivided(t *testing.T) {
	everything := profile{blocks: join(variables, mutexes, waitGroups, channels, choices, times, branches)}
	for name, make := range divisibles {
		if name == "dpor" {
			continue // see TestResumeDividedDPOR
		}
		t.Run(name, func(t *testing.T) {
			parts := 0
			rapid.Check(t, func(t *rapid.T) {
				p := everything.generate(t)
				whole := make()
				want, ran := undivided(t, whole, p)
				often := 1 + len(want)/rapid.SampledFrom([]int{1, 10, 50}).Draw(t, "interruptions")
				moments := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "moments"), 0))
				verdict := Verdict{}
				got := drive(t, make(), p, func(d *driver) {
					if moments.IntN(often) == 0 {
						d.interrupt(make())
						parts += len(d.tasks) - 1
					}
					verdict = d.tasks[0].search.Verdict()
				})
				if diff := cmp.Diff(want, got.seen); diff != "" {
					t.Fatalf("executions (-undivided +divided and resumed):\n%s%v", diff, p)
				}
				if got, want := verdict.Executions, whole.Verdict().Executions; got != want {
					t.Fatalf("%d executions are counted, want %d\n%v", got, want, p)
				}
				if diff := cmp.Diff(ran, got.ran); diff != "" && name != "bounded" { // else parts may run ahead
					t.Fatalf("what was run, how often (-undivided +divided and resumed):\n%s%v", diff, p)
				}
			})
			if parts == 0 {
				t.Error("no part was ever resumed")
			}
		})
	}
}

// TestResumeDividedDPOR does so with DPOR, of which parts that have not been taken to their ends
// are run again: in the end the reports are the same.
func TestResumeDividedDPOR(t *testing.T) {
	everything := profile{blocks: join(variables, mutexes, waitGroups, channels, choices, times, branches), size: 5}
	joined := 0
	rapid.Check(t, func(t *rapid.T) {
		p := everything.generate(t)
		newSearch := func() Search { return MaxExecutions(DPOR(), 500) }
		whole := newSearch()
		want, _ := undivided(t, whole, p)
		often := 1 + len(want)/rapid.SampledFrom([]int{1, 10, 50}).Draw(t, "interruptions")
		moments := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "moments"), 0))
		verdict := Verdict{}
		got := drive(t, newSearch(), p, func(d *driver) {
			if moments.IntN(often) == 0 {
				settled := Settled(d.tasks[0].search)
				d.interrupt(newSearch())
				joined += len(d.seen) - settled
				d.seen = d.seen[:d.tasks[0].search.Verdict().Executions]
			}
			verdict = d.tasks[0].search.Verdict()
		})
		if diff := cmp.Diff(want, got.seen); diff != "" {
			t.Fatalf("executions (-undivided +divided and resumed):\n%s%v", diff, p)
		}
		if got, want := verdict.Executions, whole.Verdict().Executions; got != want {
			t.Fatalf("%d executions are counted, want %d\n%v", got, want, p)
		}
	})
	if joined == 0 {
		t.Error("nothing was ever run again")
	}
}

// interrupt has another search go on, with parts that go on where those of the one are.
func (d *driver) interrupt(to Search) {
	from := d.tasks[0]
	state, err := Save(from.search)
	if err != nil {
		d.t.Fatal(err)
	}
	if state == nil {
		return
	}
	if err := Resume(to, state); err != nil {
		d.t.Fatal(err)
	}
	again, err := Save(to)
	if err != nil || !slices.Equal(state, again) {
		d.t.Fatalf("a search that was resumed is saved differently (%v):\n%x\n%x", err, state, again)
	}
	whole := &divided{search: to, reported: from.reported, done: from.done}
	tasks := []*divided{whole}
	var resume func(from, to Search)
	resume = func(from, to Search) {
		was, is := Parts(from), Parts(to)
		if len(was) != len(is) {
			d.t.Fatalf("%d parts, want %d", len(is), len(was))
		}
		for i := range was {
			x := &divided{search: is[i].Search, part: is[i]}
			if j := slices.IndexFunc(d.tasks, func(t *divided) bool { return t.part == was[i] }); j >= 0 {
				x.reported, x.done = d.tasks[j].reported, d.tasks[j].done
			}
			tasks = append(tasks, x)
			resume(was[i].Search, is[i].Search)
		}
	}
	resume(from.search, to)
	d.tasks = tasks
}
