package rows

import (
	"testing"

	"github.com/tandem-mc/tandem/report"
	"pgregory.net/rapid"
)

// No step is lost or shown twice, however rows are joined and folded.
func TestRowsCoverAllSteps(t *testing.T) {
	kinds := []report.Kind{report.Synchronisation, report.Channel, report.Lifetime, report.Socket}
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) report.Step {
			return report.Step{
				Goroutine: rapid.IntRange(0, 1).Draw(t, "goroutine"),
				Operation: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "operation"),
				Object:    rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "object"),
				Kind:      rapid.SampledFrom(kinds).Draw(t, "kind"),
			}
		}), 0, 60).Draw(t, "steps")
		rows := Of(steps)
		next := 0
		for _, r := range Fold(rows) {
			if r.First != next || r.Last < r.First {
				t.Fatalf("row of steps %d to %d, want it to begin with %d", r.First, r.Last, next)
			}
			next = r.Last + 1
			for i := r.First; i <= r.Last; i++ {
				if steps[i].Goroutine != r.Goroutine || r.Last > r.First && steps[i].Kind == report.Socket {
					t.Fatalf("step %d (%+v) is in the row %+v", i, steps[i], r)
				}
			}
		}
		if next != len(steps) {
			t.Fatalf("%d of %d steps are shown", next, len(steps))
		}
	})
}
