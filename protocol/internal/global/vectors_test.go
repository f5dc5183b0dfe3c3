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
// have room for goes on with wider vectors, or without, and misses nothing.
func TestNarrow(t *testing.T) {
	for _, most := range []int{1, 2, 3, 15, 16, 70, 300} {
		for workers := 1; workers <= 2; workers++ {
			// Of m messages that were sent, 0 to m are under way.
			c := Config{Table: table.New(1, false, sender{most, true}), Nodes: 1, Workers: workers}
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
			if fits := newLayout(&c, 0) != nil; fits != (most < 300) {
				t.Errorf("%d messages fit into a vector: %v", most, fits)
			}
		}
	}
}

// TestLayout: what is encoded is decoded again, and vectors of different states differ.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Config{Faults: Faults{rapid.IntRange(-1, 3).Draw(t, "drops"), 0, 2, 0}}
		log := rapid.UintRange(0, maxLog).Draw(t, "log")
		l := &layout{config: c, log: log, messages: rapid.IntRange(0, 20).Draw(t, "messages")}
		if !l.place([]int{3, 60, 1}, 1, rapid.IntRange(1, 5).Draw(t, "bits")) {
			t.Skip("too long")
		}
		draw := func() *state {
			s := &state{left: c.Faults}
			for _, most := range []int{2, 59, 0} {
				s.locals = append(s.locals, table.Local(rapid.IntRange(0, most).Draw(t, "local")))
			}
			if c.Faults.Drops > 0 {
				s.left.Drops = rapid.IntRange(0, c.Faults.Drops).Draw(t, "left")
			}
			for m := range l.messages {
				for range rapid.IntRange(0, 1<<(1<<log)-1).Draw(t, "count") % 4 {
					s.messages = append(s.messages, table.Message(m))
				}
			}
			return s
		}
		same := func(a, b *state) bool {
			return slices.Equal(a.locals, b.locals) && a.left == b.left &&
				slices.Equal(a.messages, b.messages)
		}
		var vectors [2]space.Vector
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
		}
		if (vectors[0] == vectors[1]) != same(states[0], states[1]) {
			t.Fatalf("%x of %+v, %x of %+v", vectors[0], states[0], vectors[1], states[1])
		}
	})
}
