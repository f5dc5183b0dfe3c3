package explore

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
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
					d := newDPOR(newTrace())
					for b.Loop() {
						d.trace.truncate(0)
						d.path, d.nodes, d.sleep, d.unsettled, d.waiting = d.path[:0], d.nodes[:0], d.sleep[:0], nil, true
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
		t := Transition{Action: Action{Goroutine: GoroutineID(g + 1)}, Choices: 1, Settled: true}
		if i%2 == 0 {
			t.Needs = []Need{{Object: o, Mask: model.ReadyExclusive}}
			t.Accesses = []Access{{Object: o, Kind: Write, Ready: model.ReadyExclusive}}
		} else {
			t.Accesses = []Access{{Object: o, Kind: Write}}
		}
		e.Transitions = append(e.Transitions, t)
	}
	return e
}

// BenchmarkOpenBranches measures the memory that a search holds for each branch that it has
// yet to explore, after one execution: what it holds when goroutines take turns at a common mutex,
// where each of them could have been first, less what it holds when each has its own.
func BenchmarkOpenBranches(b *testing.B) {
	for _, transitions := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("transitions=%d", transitions), func(b *testing.B) {
			const goroutines = 16
			var branches, held, without int
			for b.Loop() {
				_, without = heldAfter(b, turns(goroutines, transitions, false))
				branches, held = heldAfter(b, turns(goroutines, transitions, true))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(branches), "branches")
			b.ReportMetric(float64(held-without)/float64(branches), "B/branch")
			b.ReportMetric(float64(without)/float64(transitions), "B/transition")
		})
	}
}

// heldAfter is how many open branches DPOR has after an execution, and the memory that it
// then holds.
func heldAfter(b *testing.B, e Execution) (branches, held int) {
	b.Helper()
	before := heap()
	d := newDPOR(newTrace())
	d.Next()
	if err := d.Report(e); err != nil {
		b.Fatal(err)
	}
	for i := range d.nodes {
		branches += len(d.nodes[i].todo.branches)
	}
	held = heap() - before
	runtime.KeepAlive(d)
	return branches, held
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
