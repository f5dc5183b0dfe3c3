package vector

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// TestLayout: what is encoded is decoded again, and vectors of different states differ.
func TestLayout(t *testing.T) {
	rapid.Check(t, checkLayout[[1]uint64])
	rapid.Check(t, checkLayout[[2]uint64])
	rapid.Check(t, checkLayout[[4]uint64])
}

func checkLayout[V space.Vector](t *rapid.T) {
	y := &system.System{Faults: system.Faults{Drops: rapid.IntRange(-1, 3).Draw(t, "drops"), Partitions: 2}}
	l := &Layout[V]{system: y}
	widths := []int{2 + rapid.IntRange(0, 4).Draw(t, "spare"), 6, 1}
	if !l.place(widths, rapid.UintRange(0, maxLog).Draw(t, "log")) {
		t.Fatal("too long")
	}
	for m := range l.messages {
		add(l.counter(m), &l.counters, 1)
	}
	draw := func() *system.State {
		s := &system.State{Left: y.Faults}
		for _, most := range []int{2, 59, 0} {
			s.Locals = append(s.Locals, table.Local(rapid.IntRange(0, most).Draw(t, "local")))
		}
		if y.Faults.Drops > 0 {
			s.Left.Drops = rapid.IntRange(0, y.Faults.Drops).Draw(t, "left")
		}
		for m := range min(l.messages, 20) {
			for range rapid.IntRange(0, 1<<(1<<l.log)-1).Draw(t, "count") % 4 {
				s.Messages = append(s.Messages, table.Message(m))
			}
		}
		return s
	}
	same := func(a, b *system.State) bool {
		return slices.Equal(a.Locals, b.Locals) && a.Left == b.Left && slices.Equal(a.Messages, b.Messages)
	}
	var vectors [2]V
	states := [2]*system.State{draw(), draw()}
	for i, s := range states {
		v, err := l.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		var again system.State
		if l.Decode(&again, &v); !same(&again, s) {
			t.Fatalf("%+v became %+v", s, again)
		}
		vectors[i] = v
		checkRecode(t, l, s, &v)
	}
	if (vectors[0] == vectors[1]) != same(states[0], states[1]) {
		t.Fatalf("%x of %+v, %x of %+v", vectors[0], states[0], vectors[1], states[1])
	}
}

// checkRecode: a vector of one shape becomes the one that the state has in a larger shape.
func checkRecode[V space.Vector](t *rapid.T, l *Layout[V], s *system.State, v *V) {
	for i, widths := range [][]int{{7, 8, 3}, {8, 9, 4}} {
		wider := &Layout[space.Widest]{system: l.system}
		if !wider.place(widths, min(l.log+rapid.UintRange(0, 1).Draw(t, "wider"), maxLog)) {
			t.Fatal("too long")
		}
		want, err := wider.Encode(s)
		if err != nil {
			continue // the layout with wider counters may have fewer of them
		}
		wide := space.Widen(v)
		if got := Recode(&l.Shape, &wider.Shape, &wide); got != want {
			t.Fatalf("layout %d: %x became %x, want %x", i, *v, got, want)
		}
	}
}
