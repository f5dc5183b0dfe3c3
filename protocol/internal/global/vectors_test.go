package global

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
	"pgregory.net/rapid"
)

// sender is a node that counts how often it has sent a message to itself. The messages are equal,
// or each is another one. They do nothing when they arrive.
type sender struct {
	most  int
	equal bool
}

func (s sender) Run(c table.Call) ([]table.Effect, uint64, error) {
	n := uint64(0)
	if c.Kind != table.Start {
		n, _ = binary.Uvarint(c.State)
	}
	if c.Kind != table.Act {
		return []table.Effect{{State: binary.AppendUvarint(nil, n)}}, 0, nil
	}
	image := []byte{}
	if !s.equal {
		image = binary.AppendUvarint(nil, n)
	}
	return []table.Effect{{State: binary.AppendUvarint(nil, n+1), Sent: []table.Sent{{Image: image}}}}, 0, nil
}

func (s sender) Describe(_ int, state []byte) (d table.Description, err error) {
	if n, _ := binary.Uvarint(state); n < uint64(s.most) {
		d.Own = []table.Own{{Kind: table.Act}}
	}
	return d, nil
}

func (s sender) Enough(table.Call) (bool, error) { return false, nil }

// TestNarrow: a search that meets more local states, messages, or equal messages than its vectors
// have room for goes on with wider vectors, or without, and misses nothing. So does one that is
// depth-first, with a bound on the depth and without.
func TestNarrow(t *testing.T) {
	for _, most := range []int{1, 2, 3, 15, 16, 70, 300} {
		for _, c := range []Config{{Workers: 1}, {Workers: 2}, {Workers: 1, DepthFirst: true},
			{Workers: 1, DepthFirst: true, Depth: 1000}} {
			// Of m messages that were sent, 0 to m are under way.
			c.Table, c.Nodes = table.New(1, false, sender{most, true}), 1
			r, err := Search(c)
			if states := (most + 1) * (most + 2) / 2; err != nil || r.States != states {
				t.Errorf("%d equal messages: %+v, error %v; want %d states", most, r, err, states)
			}
			// Where messages stay, only the number of those that were sent counts.
			c.Table, c.Duplicating = table.New(1, false, sender{most, false}), true
			r, err = Search(c)
			if err != nil || r.States != most+1 || r.Transitions != int64(most+most*(most+1)/2) {
				t.Errorf("%d messages: %+v, error %v; want %d states", most, r, err, most+1)
			}
			if _, isBytes := newForm(&c, 0).(*byteForm); isBytes != (most == 300) {
				t.Errorf("%d messages do not fit into a vector: %v", most, isBytes)
			}
		}
	}
}

// TestLayout: what is encoded is decoded again, and vectors of different states differ.
func TestLayout(t *testing.T) {
	rapid.Check(t, checkLayout[[1]uint64])
	rapid.Check(t, checkLayout[[2]uint64])
	rapid.Check(t, checkLayout[[4]uint64])
}

func checkLayout[V space.Vector](t *rapid.T) {
	c := &Config{Faults: Faults{rapid.IntRange(-1, 3).Draw(t, "drops"), 0, 2, 0}}
	l := &layout[V]{config: c}
	widths := []int{2 + rapid.IntRange(0, 4).Draw(t, "spare"), 6, 1}
	if !l.place(widths, rapid.UintRange(0, maxLog).Draw(t, "log")) {
		t.Fatal("too long")
	}
	for m := range l.messages {
		add(l.counter(m), &l.counters, 1)
	}
	draw := func() *state {
		s := &state{left: c.Faults}
		for _, most := range []int{2, 59, 0} {
			s.locals = append(s.locals, table.Local(rapid.IntRange(0, most).Draw(t, "local")))
		}
		if c.Faults.Drops > 0 {
			s.left.Drops = rapid.IntRange(0, c.Faults.Drops).Draw(t, "left")
		}
		for m := range min(l.messages, 20) {
			for range rapid.IntRange(0, 1<<(1<<l.log)-1).Draw(t, "count") % 4 {
				s.messages = append(s.messages, table.Message(m))
			}
		}
		return s
	}
	same := func(a, b *state) bool {
		return slices.Equal(a.locals, b.locals) && a.left == b.left && slices.Equal(a.messages, b.messages)
	}
	var vectors [2]V
	states := [2]*state{draw(), draw()}
	for i, s := range states {
		v, err := l.encode(s)
		if err != nil {
			t.Fatal(err)
		}
		var again state
		if l.decode(&again, &v); !same(&again, s) {
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
func checkRecode[V space.Vector](t *rapid.T, l *layout[V], s *state, v *V) {
	wider := &layout[widest]{config: l.config}
	if !wider.place([]int{7, 8, 3}, min(l.log+rapid.UintRange(0, 1).Draw(t, "wider"), maxLog)) {
		t.Fatal("too long")
	}
	want, err := wider.encode(s)
	if err != nil {
		return // the layout with wider counters may have fewer of them
	}
	f := &vectorForm[V]{Words: space.NewWords[V](2), layout: l}
	at, _, err := f.insert(v, space.None, 3)
	if err != nil {
		t.Fatal(err)
	}
	g := &vectorForm[widest]{Words: space.NewWords[widest](2), layout: wider}
	if err := recodeAll(f, g); err != nil {
		t.Fatal(err)
	}
	if got, node := g.State(at), g.origin(at); got != want || node != 3 {
		t.Fatalf("%x from node %d, want %x from 3", got, node, want)
	}
	// A layout that is as wide takes them in place.
	h := &vectorForm[widest]{Words: space.NewWords[widest](2), layout: &layout[widest]{config: l.config}}
	if !h.layout.place([]int{8, 9, 4}, wider.log) {
		t.Fatal("too long")
	}
	if want, err = h.layout.encode(s); err != nil {
		return
	}
	if err := recodeAll(g, h); err != nil {
		t.Fatal(err)
	}
	again, isNew, err := h.insert(&want, space.None, 0)
	if err != nil || isNew || again != at || h.origin(at) != 3 {
		t.Fatalf("%x is new: %v, at %d, error %v; want that at %d", want, isNew, again, err, at)
	}
}
