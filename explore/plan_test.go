package explore

import (
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
				d := DPOR().(*dpor)
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
						asleep := d.clearlyAsleep(f)
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
