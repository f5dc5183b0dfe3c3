package check

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// BenchmarkWorkers is how many executions there are in a second with one worker and
// with two, which take turns, and the ratio. It needs two processors that are idle.
func BenchmarkWorkers(b *testing.B) {
	classic := func(name, size string, limit int) func(testing.TB) Options {
		return func(t testing.TB) Options {
			return Options{Program: buildExample(t, "classics"), Args: []string{name, size}, Depth: limit}
		}
	}
	for name, test := range map[string]struct {
		options func(testing.TB) Options
		search  func() explore.Search
	}{
		"lastzero(13)/dpor":   {classic("lastzero", "13", 10_000), explore.DPOR},
		"filesystem(25)/dpor": {classic("filesystem", "25", 10_000), explore.DPOR},
		"readers(14)/dpor":    {classic("readers", "14", 10_000), explore.DPOR},
		"lastzero(4)/dfs":     {classic("lastzero", "4", 10_000), func() explore.Search { return explore.MaxExecutions(explore.DFS(), 200_000) }},
		"filesystem/random":   {classic("filesystem", "19", 10_000), func() explore.Search { return explore.Random(40_000, 1) }},
		"httpget/dfs, peers":  {httpGet.options, func() explore.Search { return explore.MaxExecutions(explore.DFS(), 1_500) }},
	} {
		b.Run(name, func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(400))                       // as tandem does,
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)) // as this
			executions, seconds := [3]int{}, [3]float64{}
			for b.Loop() {
				for _, workers := range []int{1, 2} {
					o := test.options(b)
					o.Workers, o.Search = workers, test.search()
					result := check(b, o)
					executions[workers] += result.Verdict.Executions
					seconds[workers] += result.Counts.Elapsed.Seconds()
				}
			}
			one, two := float64(executions[1])/seconds[1], float64(executions[2])/seconds[2]
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(executions[1])/float64(b.N), "executions")
			for workers, rate := range map[int]float64{1: one, 2: two} {
				b.ReportMetric(rate, fmt.Sprintf("executions/s@%d", workers))
			}
			b.ReportMetric(two/one, "@2/@1")
		})
	}
}
