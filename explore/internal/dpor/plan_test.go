package dpor

import (
	"errors"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// TestClearlyAsleep: what is said to be covered by something asleep without having been planned is,
// once it has been; and that is said of many.
func TestClearlyAsleep(t *testing.T) {
	for _, f := range testkit.Profiles {
		t.Run(f.Name, func(t *testing.T) {
			clear, unclear := 0, 0
			for number := range 100 {
				p := rapid.Custom(f.Generate).Example(number)
				d := New()
				for range 300 {
					schedule, more := d.Next()
					if !more {
						break
					}
					if err := d.Report(testkit.Run(p, schedule, 0).Log); err != nil {
						t.Fatal(err)
					}
					for i := range d.races {
						f := &d.races[i]
						if f.Counter >= 0 {
							continue // not planned before it is settled
						}
						asleep := d.isPlain(f) && d.clearlyAsleep(f)
						r := d.plan(f)
						covered := d.coveredAsleep(&d.nodes[r.Node], r)
						if asleep && (!covered || !r.Whole) {
							t.Fatalf("the reversal of event %d is taken for covered, and is not (whole: "+
								"%v):\n%s", f.Event, r.Whole, p)
						}
						if asleep {
							clear++
						} else if covered {
							unclear++
						}
					}
				}
			}
			t.Logf("of %d reversals that are covered %d were known to be", clear+unclear, clear)
			if clear == 0 {
				t.Error("none was known to be covered")
			}
		})
	}
}

// TestClearlyCovered: a search that plans all reversals asks for the same schedules, one after the
// other.
func TestClearlyCovered(t *testing.T) {
	for _, f := range testkit.Profiles {
		t.Run(f.Name, func(t *testing.T) {
			for number := range 200 {
				p := rapid.Custom(f.Generate).Example(number)
				quick, thorough := New(), New()
				quick.Short, thorough.Short = 0, core.MaxTransitions
				for n := range 300 {
					schedule, more := quick.Next()
					want, wantMore := thorough.Next()
					if more != wantMore || !schedule.Equal(&want) {
						t.Fatalf("execution %d: %v, %t, want %v, %t:\n"+
							"%s", n, schedule, more, want, wantMore, p)
					}
					if !more {
						break
					}
					e := testkit.Run(p, schedule, number%3*5).Log // some are cut off
					if err := errors.Join(quick.Report(e), thorough.Report(e)); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestGather compares what is gathered after each event of random executions, and of one in which
// little of much is, with what does not depend on it.
func TestGather(t *testing.T) {
	sparse := testkit.Turns(2, 60, true)
	apart := core.Transition{Action: core.Action{Goroutine: 9}, Choices: 1,
		Accesses: []core.Access{{Object: 9, Kind: core.Write}}}
	sparse.Transitions = append(slices.Insert(sparse.Transitions, 2, apart), apart)
	executions := []core.Execution{sparse, testkit.Turns(3, 30, false)}
	for number := range 50 {
		executions = append(executions,
			testkit.Run(rapid.Custom(testkit.Profiles[7].Generate).Example(number), core.Schedule{}, 0).Log)
	}
	for _, e := range executions {
		d := New()
		d.Next()
		if err := d.Report(e); err != nil {
			t.Fatal(err)
		}
		for e := range int32(len(d.trace.Events)) {
			for without := int32(-1); without < e; without += 3 {
				var want []int32
				for x := e + 1; int(x) < len(d.trace.Events); x++ {
					if c := d.trace.ClockOf(x); !d.trace.Includes(c, e) &&
						(without < 0 || !d.trace.Includes(c, without)) {
						want = append(want, x)
					}
				}
				if d.gather(e, without, nil); !slices.Equal(d.scratch, want) {
					t.Fatalf("after event %d, without %d: %v, want %v", e, without, d.scratch, want)
				}
			}
		}
	}
}
