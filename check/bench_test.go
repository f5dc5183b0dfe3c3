package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// BenchmarkLastZero is how many executions there are in a second of a whole check: the program, and
// everything that the checker does with what the program did.
func BenchmarkLastZero(b *testing.B) {
	for _, races := range [][]string{nil, {sut.RacesMain}} {
		p := buildForSpeed(b, races...)
		b.Run(fmt.Sprintf("13/races=%v", races), func(b *testing.B) {
			executions, seconds := 0, 0.0
			for b.Loop() {
				result := check(b, speedOptions(p, maxExecutions(dporSearch(), 20_000), "lastzero", 13))
				executions += result.Verdict.Executions
				seconds += result.Counts.Elapsed.Seconds()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(executions)/seconds, "executions/s")
		})
	}
}

// BenchmarkDepth is what a transition of a whole check costs in executions of different lengths.
// The time of a short execution is mostly that of its beginning and end.
func BenchmarkDepth(b *testing.B) {
	p := buildForSpeed(b)
	benchmarkGrowth(b, "transition", []int{100, 1_000, 10_000}, func(depth int) float64 {
		result := check(b, speedOptions(p, dporSearch(), "deep", depth))
		if v := result.Verdict; v.Kind != explore.Holds || v.Transitions < 120*depth {
			b.Fatalf("depth %d: %v", depth, v)
		}
		return float64(result.Counts.Elapsed.Nanoseconds()) / float64(result.Verdict.Transitions)
	})
}

// BenchmarkGoroutines is what a goroutine that does little costs in an execution with different
// numbers of them.
func BenchmarkGoroutines(b *testing.B) {
	p := buildForSpeed(b)
	benchmarkGrowth(b, "goroutine", []int{100, 1_000, 4_000}, func(goroutines int) float64 {
		const executions = 20
		result := check(b, speedOptions(p, maxExecutions(dporSearch(), executions), "many", goroutines))
		if v := result.Verdict; v.Executions != executions {
			b.Fatalf("%d goroutines: %v", goroutines, v)
		}
		return float64(result.Counts.Elapsed.Nanoseconds()) / executions / float64(goroutines)
	})
}

// benchmarkGrowth shows what a unit costs where there are different numbers of them. These take
// turns, so that the ratios are those of the same moments.
func benchmarkGrowth(b *testing.B, unit string, sizes []int, cost func(size int) (ns float64)) {
	costs := make([][]float64, len(sizes))
	for b.Loop() {
		for i, size := range sizes {
			costs[i] = append(costs[i], cost(size))
		}
	}
	b.ReportMetric(0, "ns/op")
	median := make([]float64, len(sizes))
	for i, size := range sizes {
		slices.Sort(costs[i])
		median[i] = costs[i][len(costs[i])/2]
		b.ReportMetric(median[i], fmt.Sprintf("ns/%s@%d", unit, size))
		if i > 0 {
			b.ReportMetric(median[i]/median[i-1], fmt.Sprintf("@%d/@%d", size, sizes[i-1]))
		}
	}
}

func buildForSpeed(b *testing.B, races ...string) *sut.Program {
	b.Helper()
	p, err := buildProgram("testdata/speed", filepath.Join(b.TempDir(), "speed"), races...)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func speedOptions(p *sut.Program, search *explore.Search, name string, n int) Options {
	return Options{Program: p, Package: name, Args: []string{name, fmt.Sprint(n)}, Search: search,
		Depth: 100_000}
}
