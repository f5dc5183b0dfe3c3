package system

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// TestPack: a state has bytes of its own, and is made from them again, whatever faults are bounded.
func TestPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(Any, 3)
		y := &System{Nodes: 3, Ordered: rapid.Bool().Draw(t, "ordered"), Faults: Faults{
			bound.Draw(t, "drops"), bound.Draw(t, "duplicates"), bound.Draw(t, "partitions"),
			bound.Draw(t, "crashes")}}
		a, b := drawState(t, y), drawState(t, y)
		var again State
		y.Unpack(&again, y.Pack(nil, a))
		if !isSame(&again, a) {
			t.Fatalf("%+v became %+v", a, again)
		}
		if slices.Equal(y.Pack(nil, a), y.Pack(nil, b)) != isSame(a, b) {
			t.Fatalf("%+v and %+v: the bytes are equal, or the states are, and not both", a, b)
		}
	})
}

// drawState draws a state of a system with three nodes.
func drawState(t *rapid.T, y *System) *State {
	s := &State{Left: y.Faults}
	for range y.Nodes {
		s.Locals = append(s.Locals, table.Local(rapid.IntRange(0, 300).Draw(t, "local")))
	}
	for _, left := range []*int{&s.Left.Drops, &s.Left.Duplicates, &s.Left.Partitions, &s.Left.Crashes} {
		if *left > 0 {
			*left = rapid.IntRange(0, *left).Draw(t, "left")
		}
	}
	if y.Faults.Partitions != 0 {
		s.Cut = rapid.Uint64Range(0, 3).Draw(t, "cut") * 2
	}
	for _, m := range rapid.SliceOfN(rapid.IntRange(0, 200), 0, 5).Draw(t, "messages") {
		s.Messages = append(s.Messages, table.Message(m))
	}
	if !y.Ordered {
		slices.Sort(s.Messages)
	}
	return s
}

func isSame(a, b *State) bool {
	return slices.Equal(a.Locals, b.Locals) && a.Left == b.Left && a.Cut == b.Cut &&
		slices.Equal(a.Messages, b.Messages)
}

// chatter has nodes that send a message to each node at the start, and do nothing later.
type chatter int

func (nodes chatter) Run(c table.Call) ([]table.Effect, uint64, error) {
	e := table.Effect{State: []byte{0}}
	for to := range int(nodes) {
		for n := range uint64(3) {
			e.Sent = append(e.Sent, table.Sent{To: to, Image: binary.AppendUvarint(nil, n)})
		}
	}
	return []table.Effect{e}, 0, nil
}

func (chatter) Describe(int, []byte) (d table.Description, err error) { return d, nil }

func (chatter) Enough(table.Call) (bool, error) { return false, nil }

// TestExchange compares what is under way after a step with that of a network of lists.
func TestExchange(t *testing.T) {
	const nodes = 3
	y := &System{Table: table.New(nodes, true, chatter(nodes)), Nodes: nodes}
	var known []table.Message
	for node := range nodes {
		e, err := y.Table.Start(node)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, e.Outcomes[0].Sent...)
	}
	if len(known) != 3*nodes*nodes {
		t.Fatalf("%d messages are known", len(known))
	}
	for name, network := range map[string]System{"any order": {}, "ordered": {Ordered: true},
		"duplicating": {Duplicating: true}} {
		t.Run(name, func(t *testing.T) {
			y.Ordered, y.Duplicating = network.Ordered, network.Duplicating
			x := NewExpander(y, table.NewReader(y.Table))
			rapid.Check(t, func(t *rapid.T) {
				some := rapid.SliceOfN(rapid.SampledFrom(known), 0, 4)
				x.Cur.Messages = nil
				x.Exchange(nil, sortedUnless(y.Ordered, some.Draw(t, "before")))
				before := slices.Clone(x.Next.Messages)
				x.Cur.Messages = before
				var gone []int
				for i := range before {
					if x.CanArrive(i) && rapid.Bool().Draw(t, "gone") {
						gone = append(gone, i)
					}
				}
				sent := sortedUnless(y.Ordered, some.Draw(t, "sent"))
				x.Exchange(gone, sent)
				if want := plainExchange(&x, y, before, gone, sent); !slices.Equal(x.Next.Messages, want) {
					t.Fatalf("%v without %v and with %v: %v, want %v",
						before, gone, sent, x.Next.Messages, want)
				}
			})
		})
	}
}

func sortedUnless(isOrdered bool, list []table.Message) []table.Message {
	if !isOrdered {
		slices.Sort(list)
	}
	return list
}

// plainExchange is the reference: it sorts anew.
func plainExchange(x *Expander, y *System, before []table.Message, gone []int,
	sent []table.Message) (list []table.Message) {
	for i, m := range before {
		if y.Duplicating || !slices.Contains(gone, i) {
			list = append(list, m)
		}
	}
	list = append(list, sent...)
	if y.Ordered {
		slices.SortStableFunc(list, func(a, b table.Message) int { return x.channel(a) - x.channel(b) })
		return list
	}
	slices.Sort(list)
	if y.Duplicating {
		list = slices.Compact(list)
	}
	return list
}
