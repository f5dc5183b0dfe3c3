package dpor

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// BenchmarkReport measures the own time of DPOR per transition, in a search that has run before, on
// executions of which nothing is known: goroutines take turns at a mutex of their own, so that
// everything is new and nothing races, or at a common one, where everything does.
func BenchmarkReport(b *testing.B) {
	for _, goroutines := range []int{2, 16, 64} {
		for _, transitions := range []int{100, 1000, 10000} {
			for _, common := range []bool{false, true} {
				b.Run(fmt.Sprintf("goroutines=%d/transitions=%d/common=%v", goroutines, transitions,
					common), func(b *testing.B) {
					e := testkit.Turns(goroutines, transitions, common)
					d := New()
					for b.Loop() {
						d.trace.Truncate(0)
						d.path, d.nodes, d.sleep, d.recheck, d.Waiting = d.path[:0], d.nodes[:0],
							d.sleep[:0], nil, true
						if err := d.Report(e); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(transitions),
						"ns/transition")
				})
			}
		}
	}
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
				_, without = heldAfter(b, testkit.Turns(goroutines, transitions, false))
				branches, held = heldAfter(b, testkit.Turns(goroutines, transitions, true))
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
func heldAfter(b *testing.B, e core.Execution) (branches, held int) {
	b.Helper()
	before := heap()
	d := New()
	d.Next()
	if err := d.Report(e); err != nil {
		b.Fatal(err)
	}
	for i := range d.nodes {
		branches += len(d.nodes[i].todo.Branches)
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
