package dependence

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
)

// TestAdd: a step comes right after the last one of its goroutine, after what has started that, and
// after accesses that are not the same in both orders. A barrier is between all others.
func TestAdd(t *testing.T) {
	const object = 7
	d := New()
	for i, c := range []struct {
		name    string
		step    Step
		barrier bool
		access  model.AccessKind
		want    []int
	}{
		{"the first write", Step{Goroutine: 1, Stepped: true}, false, model.Write, nil},
		{"a read after it", Step{Goroutine: 2, Stepped: true}, false, model.Read, []int{0}},
		{"another read", Step{Goroutine: 3, Stepped: true, Starts: []uint64{4}}, false, model.Read, []int{0}},
		{"who was started, and adds", Step{Goroutine: 4, Stepped: true}, false, model.Commute,
			[]int{0, 1, 2}},
		{"adds, too", Step{Goroutine: 5, Stepped: true}, false, model.Commute, []int{0, 1, 2}},
		{"a write after both", Step{Goroutine: 5, Stepped: true}, false, model.Write,
			[]int{0, 1, 2, 3, 4}},
		{"the clock", Step{}, true, model.Read, []int{0, 1, 2, 3, 4, 5}},
		{"after the clock", Step{Goroutine: 1, Stepped: true}, false, model.Write, []int{0, 6}},
	} {
		got := d.Add(i, c.step, c.barrier, []model.Access{{Object: object, Kind: c.access}})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: after %v, want %v", c.name, got, c.want)
		}
	}
}
