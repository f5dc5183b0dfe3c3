package image

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type name int

// named has names in all places where they may be.
type named struct {
	One  name
	List []name
	Set  map[name]bool
	By   map[name]*named
	Pair map[[2]name]int
	Any  any
	Int  int // is no name
	Next *named
}

// rename is what a renaming should do, without images.
func (n *named) rename(to []int) *named {
	if n == nil {
		return nil
	}
	in := func(x name) name {
		if x >= 0 && int(x) < len(to) {
			return name(to[x])
		}
		return x
	}
	other := &named{One: in(n.One), Int: n.Int, Next: n.Next.rename(to), Set: map[name]bool{},
		By: map[name]*named{}, Pair: map[[2]name]int{}}
	for _, x := range n.List {
		other.List = append(other.List, in(x))
	}
	for x, v := range n.Set {
		other.Set[in(x)] = v
	}
	for x, v := range n.By {
		other.By[in(x)] = v.rename(to)
	}
	for x, v := range n.Pair {
		other.Pair[[2]name{in(x[0]), in(x[1])}] = v
	}
	if x, ok := n.Any.(name); ok {
		other.Any = in(x)
	}
	return other
}

func drawNamed(t *rapid.T, depth int) *named {
	draw := rapid.IntRange(-1, 4)
	of := func() name { return name(draw.Draw(t, "name")) }
	n := &named{One: of(), Int: draw.Draw(t, "int"), Set: map[name]bool{}, By: map[name]*named{},
		Pair: map[[2]name]int{}}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		n.List = append(n.List, of())
		n.Set[of()] = rapid.Bool().Draw(t, "bool")
		n.Pair[[2]name{of(), of()}] = draw.Draw(t, "int")
		if n.Any = of(); depth > 0 {
			n.By[of()] = drawNamed(t, depth-1)
			n.Next = drawNamed(t, depth-1)
		}
	}
	return n
}

// TestRenaming: the image of a value with other names is the image of the value in which each name
// has been replaced. A mask looks the same before and after names that it hides are exchanged.
func TestRenaming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := New()
		if err != nil {
			t.Fatal(err)
		}
		m.SetRenamed(reflect.TypeFor[name]())
		to := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "to")
		n := drawNamed(t, 2)
		images := func(r *Renaming, values ...*named) (list [][]byte) {
			for _, v := range values {
				data, err := m.AppendRenamed(nil, v, r)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, data)
			}
			return list
		}
		renamed := images(&Renaming{To: to}, n)[0]
		if want := images(nil, n.rename(to))[0]; !bytes.Equal(renamed, want) {
			t.Fatalf("%x, want %x", renamed, want)
		}
		again, err := m.Decode(renamed)
		if err != nil || !bytes.Equal(images(nil, again.(*named))[0], renamed) {
			t.Fatalf("%+v, error %v", again, err)
		}
		// Node 3 looks, and does not tell 0, 1 and 2 apart.
		hidden := append(rapid.Permutation([]int{0, 1, 2}).Draw(t, "hidden"), 3)
		mask := &Renaming{To: []int{9, 9, 9, 8}, IsMask: true}
		if both := images(mask, n, n.rename(hidden)); !bytes.Equal(both[0], both[1]) {
			t.Fatalf("%x and %x look different", both[0], both[1])
		}
	})
}

// TestMaskTells: a mask tells values apart that differ in more than hidden names.
func TestMaskTells(t *testing.T) {
	m, err := New()
	if err != nil {
		t.Fatal(err)
	}
	m.SetRenamed(reflect.TypeFor[name]())
	mask := &Renaming{To: []int{9, 9, 8}, IsMask: true}
	seen := map[string]int{}
	for i, n := range []*named{{One: 0}, {One: 2}, {Set: map[name]bool{0: true}},
		{Set: map[name]bool{0: true, 1: true}}, {Set: map[name]bool{0: true, 1: false}}, {List: []name{0, 2}},
		{List: []name{2, 0}}} {
		data, err := m.AppendRenamed(nil, n, mask)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(data)] = i
	}
	if got := slices.Sorted(maps.Values(seen)); len(got) != 7 {
		t.Errorf("only %v differ from those after them", got)
	}
}
