package explore

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestClearlyAsleep: what is said to be covered by something asleep without having been planned is,
// once it has been; and that is said of many.
func TestClearlyAsleep(t *testing.T) {
	for _, f := range profiles {
		t.Run(f.name, func(t *testing.T) {
			clear, unclear := 0, 0
			for number := range 100 {
				p := rapid.Custom(f.generate).Example(number)
				d := newDPOR(newTrace())
				for range 300 {
					schedule, more := d.Next()
					if !more {
						break
					}
					if err := d.Report(run(p, schedule, 0).log); err != nil {
						t.Fatal(err)
					}
					for i := range d.reversible {
						f := &d.reversible[i]
						if f.counter >= 0 {
							continue // not planned before it is settled
						}
						asleep := d.isPlain(f) && d.clearlyAsleep(f)
						r := d.plan(f)
						covered := d.coveredAsleep(&d.nodes[r.node], r)
						if asleep && (!covered || !r.whole) {
							t.Fatalf("the reversal of event %d is taken for covered, and is not (whole: %v):\n%s", f.event, r.whole, p)
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

// TestClearlyCovered: a search that plans all reversals asks for the same schedules, one after the other.
func TestClearlyCovered(t *testing.T) {
	for _, f := range profiles {
		t.Run(f.name, func(t *testing.T) {
			for number := range 200 {
				p := rapid.Custom(f.generate).Example(number)
				quick, thorough := newDPOR(newTrace()), newDPOR(newTrace())
				quick.short, thorough.short = 0, maxTransitions
				for n := range 300 {
					schedule, more := quick.Next()
					want, wantMore := thorough.Next()
					if more != wantMore || !schedule.Equal(&want) {
						t.Fatalf("execution %d: %v, %t, want %v, %t:\n%s", n, schedule, more, want, wantMore, p)
					}
					if !more {
						break
					}
					e := run(p, schedule, number%3*5).log // some are cut off
					if err := errors.Join(quick.Report(e), thorough.Report(e)); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestGather compares what is gathered after each event of random executions, and of one in which little of much is,
// with what does not depend on it.
func TestGather(t *testing.T) {
	sparse := turns(2, 60, true)
	apart := Transition{Action: Action{Goroutine: 9}, Choices: 1, Accesses: []Access{{Object: 9, Kind: Write}}}
	sparse.Transitions = append(slices.Insert(sparse.Transitions, 2, apart), apart)
	executions := []Execution{sparse, turns(3, 30, false)}
	for number := range 50 {
		executions = append(executions, run(rapid.Custom(profiles[7].generate).Example(number), Schedule{}, 0).log)
	}
	for _, e := range executions {
		d := newDPOR(newTrace())
		d.Next()
		if err := d.Report(e); err != nil {
			t.Fatal(err)
		}
		for e := range int32(len(d.trace.events)) {
			for without := int32(-1); without < e; without += 3 {
				var want []int32
				for x := e + 1; int(x) < len(d.trace.events); x++ {
					if c := d.trace.clockOf(x); !d.trace.includes(c, e) && (without < 0 || !d.trace.includes(c, without)) {
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
