package explore

import (
	"fmt"
	"testing"
)

// BenchmarkReport measures the own time of DPOR per transition, in a search that has
// run before, on executions of which nothing is known: goroutines take turns at a mutex of their own, so that
// everything is new and nothing races, or at a common one, where everything does.
func BenchmarkReport(b *testing.B) {
	for _, goroutines := range []int{2, 16, 64} {
		for _, transitions := range []int{100, 1000, 10000} {
			for _, common := range []bool{false, true} {
				b.Run(fmt.Sprintf("goroutines=%d/transitions=%d/common=%v", goroutines, transitions, common), func(b *testing.B) {
					e := turns(goroutines, transitions, common)
					d := DPOR().(*dpor)
					for b.Loop() {
						d.trace.truncate(0)
						d.path, d.nodes, d.sleep, d.waiting = d.path[:0], d.nodes[:0], d.sleep[:0], true
						if err := d.Report(e); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(transitions), "ns/transition")
				})
			}
		}
	}
}

// turns is an execution in which goroutines lock and unlock mutexes in turn.
func turns(goroutines, transitions int, common bool) Execution {
	var e Execution
	for i := range transitions {
		g := i / 2 % goroutines
		o := ObjectID(1)
		if !common {
			o += ObjectID(g)
		}
		t := Transition{Action: Action{Goroutine: GoroutineID(g + 1)}, Choices: 1}
		if i%2 == 0 {
			t.Needs = []Need{{Object: o, Mask: ReadyExclusive}}
			t.Accesses = []Access{{Object: o, Kind: Write, Ready: ReadyExclusive}}
		} else {
			t.Accesses = []Access{{Object: o, Kind: Write}}
		}
		e.Transitions = append(e.Transitions, t)
	}
	return e
}
