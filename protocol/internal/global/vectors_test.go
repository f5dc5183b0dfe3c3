package global

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
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
			if _, isBytes := newForm(&c, 0).(*forms.Bytes); isBytes != (most == 300) {
				t.Errorf("%d messages do not fit into a vector: %v", most, isBytes)
			}
		}
	}
}

// TestRecodeAll: states stay where they are when they are taken to a form of vectors of another
// shape, with what they were reached from, whether the vectors are wider or taken in place.
func TestRecodeAll(t *testing.T) {
	y := system.System{Table: table.New(1, false, sender{most: 15}), Nodes: 1}
	if _, err := Search(Config{System: y, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := &system.State{Locals: []table.Local{table.Local(rapid.IntRange(0, 15).Draw(t, "local"))}}
		for m := range 15 {
			for range rapid.IntRange(0, 1).Draw(t, "count") {
				s.Messages = append(s.Messages, table.Message(m))
			}
		}
		f := formOf[[1]uint64](t, &y, 0)
		wider, other := formOf[space.Widest](t, &y, 0), formOf[space.Widest](t, &y, 2)
		at, _, err := f.AddFrom(s, space.None, 3)
		if err != nil {
			t.Fatal(err)
		}
		var last forms.Form = f
		for _, to := range []forms.OfWords{wider, other} {
			if err := forms.RecodeAll(last.(forms.OfWords), to); err != nil {
				t.Fatal(err)
			}
			again, isNew, err := to.AddFrom(s, space.None, 0)
			if err != nil || isNew || again != at || to.Node(at) != 3 {
				t.Fatalf("%+v is new: %v, at %d, error %v; want that at %d", s, isNew, again, err, at)
			}
			last = to
		}
	})
}

// formOf is an empty form of vectors, with two shards.
func formOf[V space.Vector](t *rapid.T, y *system.System, log uint) *forms.Vectors[V] {
	f, fits := forms.NewVectors[V](forms.Config{System: y, Workers: 2, Log: log})
	if !fits {
		t.Fatalf("no layout with counters of %d bits", 1<<log)
	}
	return f.(*forms.Vectors[V])
}
