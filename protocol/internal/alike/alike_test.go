package alike

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/protocol/internal/table"
	"pgregory.net/rapid"
)

// lists are states that are lists of names, one byte each; so are the bodies of messages.
type lists struct{}

func (lists) Run(table.Call) ([]table.Effect, uint64, error)        { return nil, 0, nil }
func (lists) Describe(int, []byte) (d table.Description, err error) { return d, nil }
func (lists) Enough(table.Call) (bool, error)                       { return false, nil }

func (lists) RenameState(_ int, state []byte, to []int, isMask bool) ([]byte, error) {
	return lists{}.RenameMessage(state, to, isMask)
}

func (lists) RenameMessage(body []byte, to []int, isMask bool) (renamed []byte, err error) {
	for _, n := range body {
		if renamed = append(renamed, byte(to[n])); isMask {
			renamed = fmt.Append(renamed, to[n])
		}
	}
	return renamed, nil
}

// TestOf: of states that are permutations of each other the same one is chosen, and it is a
// permutation of them. So there are as many as orbits, however the nodes refer to each other.
func TestOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const nodes = 5
		tab := table.New(nodes, false, lists{})
		tab.SetRenamer(lists{})
		c := Config{Table: tab, Renamer: lists{}, Ordered: rapid.Bool().Draw(t, "ordered")}
		sets := [][][]int{{{0, 1, 2, 3, 4}}, {{1, 2, 3, 4}}, {{0, 2}, {1, 3, 4}}}
		c.Sets = sets[rapid.IntRange(0, 2).Draw(t, "sets")]
		name := rapid.IntRange(0, nodes-1)
		draw := func() (data []byte) {
			for range rapid.IntRange(0, 2).Draw(t, "length") {
				data = append(data, byte(name.Draw(t, "name")))
			}
			return data
		}
		s := State{Cut: uint64(rapid.IntRange(0, 15).Draw(t, "cut") * 2)}
		for node := range nodes {
			l, err := tab.Local(node, draw())
			if err != nil {
				t.Fatal(err)
			}
			s.Locals = append(s.Locals, l)
		}
		k := New(c, nodes)
		for range rapid.IntRange(0, 4).Draw(t, "messages") {
			s.Messages = append(s.Messages, tab.Number(table.Sent{From: name.Draw(t, "from"),
				To: name.Draw(t, "to"), Image: draw()}))
		}
		sortMessages(k, s.Messages)
		want, err := New(c, nodes).Of(s)
		if err != nil {
			t.Fatal(err)
		}
		var orbit []string
		each(c.Sets, nodes, func(to []int) {
			var other State
			if err := k.apply(k.renaming(to), s, &other); err != nil {
				t.Fatal(err)
			}
			orbit = append(orbit, fmt.Sprint(other))
			if got, err := k.Of(other); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%v of %v, error %v; want %v", got, other, err, want)
			}
		})
		if !slices.Contains(orbit, fmt.Sprint(want)) {
			t.Fatalf("%v is none of %v", want, orbit)
		}
	})
}

func sortMessages(k *Canonical, list []table.Message) {
	slices.Sort(list)
	if k.Ordered {
		slices.SortStableFunc(list, func(a, b table.Message) int { return k.channel(a) - k.channel(b) })
	}
}

// each visits all permutations of the sets.
func each(sets [][]int, nodes int, visit func(to []int)) {
	to := make([]int, nodes)
	for i := range to {
		to[i] = i
	}
	var in func(sets [][]int, at int)
	in = func(sets [][]int, at int) {
		switch {
		case len(sets) == 0:
			visit(to)
		case at == len(sets[0]):
			in(sets[1:], 0)
		default:
			set := sets[0]
			for i := at; i < len(set); i++ {
				to[set[at]], to[set[i]] = to[set[i]], to[set[at]]
				in(sets, at+1)
				to[set[at]], to[set[i]] = to[set[i]], to[set[at]]
			}
		}
	}
	in(sets, 0)
}
