package skeleton

import (
	"math"
	"testing"
)

// TestManyTraces: a group may have more executions than an int can be. Then it has as many as that.
func TestManyTraces(t *testing.T) {
	g := &grouping{Groups: Groups{Of: []int{0, 0, 0, 1}}}
	in := &inside{items: []string{"a", "b", "a", "c"}}
	for traces, want := range map[int]int{0: 0, 3: 18, 1 << 31: math.MaxInt} {
		explored := map[string]Result{"a": {Traces: traces}, "b": {Traces: 2}, "c": {Traces: 5}}
		if got := g.tracesOf(in, explored); got != want {
			t.Errorf("components with %d executions each: %d, want %d", traces, got, want)
		}
	}
	if got := plus(math.MaxInt, 1); got != math.MaxInt {
		t.Errorf("one more than an int can be is %d", got)
	}
}
