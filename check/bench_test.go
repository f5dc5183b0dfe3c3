package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// BenchmarkLastZero is how many executions there are in a second of a whole check: the
// program, and everything that the checker does with what the program did.
func BenchmarkLastZero(b *testing.B) {
	for _, races := range [][]string{nil, {sut.RacesMain}} {
		p := buildForSpeed(b, races...)
		b.Run(fmt.Sprintf("13/races=%v", races), func(b *testing.B) {
			executions, seconds := 0, 0.0
			for b.Loop() {
				result := check(b, speedOptions(p, explore.MaxExecutions(explore.DPOR(), 20_000), "lastzero", 13))
				executions += result.Verdict.Executions
				seconds += result.Counts.Elapsed.Seconds()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(executions)/seconds, "executions/s")
		})
	}
}

// BenchmarkDepth is what a transition of a whole check costs in executions of different
// lengths. They take turns, so that the ratio is that of the same moments. The time of a
// short execution is mostly that of its beginning and end.
func BenchmarkDepth(b *testing.B) {
	p := buildForSpeed(b)
	depths := []int{100, 1_000, 10_000}
	cost := make([][]float64, len(depths))
	for b.Loop() {
		for i, depth := range depths {
			result := check(b, speedOptions(p, explore.DPOR(), "deep", depth))
			if v := result.Verdict; v.Kind != explore.Holds || v.Transitions < 120*depth {
				b.Fatalf("depth %d: %v", depth, v)
			}
			cost[i] = append(cost[i], float64(result.Counts.Elapsed.Nanoseconds())/float64(result.Verdict.Transitions))
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, depth := range depths {
		slices.Sort(cost[i])
		b.ReportMetric(cost[i][len(cost[i])/2], fmt.Sprintf("ns/transition@%d", depth))
	}
	b.ReportMetric(cost[2][len(cost[2])/2]/cost[1][len(cost[1])/2], "@10000/@1000")
}

func buildForSpeed(b *testing.B, races ...string) *sut.Program {
	b.Helper()
	p, err := buildProgram("testdata/speed", filepath.Join(b.TempDir(), "speed"), races...)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func speedOptions(p *sut.Program, search explore.Search, name string, n int) Options {
	return Options{Program: p, Package: name, Args: []string{name, fmt.Sprint(n)}, Search: search, Depth: 100_000}
}
