package deephash

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// node is one of a graph: it has whatever leads from one value to another.
type node struct {
	N     int
	text  string
	next  *node
	named map[string]*node
	list  []*node
	any   any
	set   map[int8]bool
	float float64
}

// graph makes nodes as some bytes say. Maps are filled in the order of the bytes, or the other way.
func graph(data []byte, backwards bool) *node {
	nodes := make([]*node, 4)
	order := []int{0, 1, 2, 3}
	if backwards {
		slices.Reverse(order)
	}
	for _, i := range order {
		nodes[i] = &node{named: map[string]*node{}, set: map[int8]bool{}}
	}
	// Entries of maps are collected first: the last one of a key counts.
	var named [4]map[string]*node
	for len(data) >= 3 {
		from, to, value := nodes[data[0]&3], nodes[data[0]>>2&3], data[2]
		switch data[1] % 8 {
		case 0:
			from.N = int(value)
		case 1:
			from.text = strings.Repeat("x", int(value%20))
		case 2:
			from.next = to
		case 3:
			if i := data[0] & 3; named[i] == nil {
				named[i] = map[string]*node{}
			}
			named[data[0]&3][fmt.Sprint(value%4)] = to
		case 4:
			from.list = append(slices.Clone(from.list), to)
		case 5:
			from.any = [...]any{int(value), uint8(value), *to, to, nil}[value%5]
		case 6:
			from.set[int8(value)] = true
		case 7:
			from.float = math.Float64frombits(uint64(value) << 56)
		}
		data = data[3:]
	}
	for i, m := range named {
		keys := slices.Sorted(maps.Keys(m))
		if backwards {
			slices.Reverse(keys)
		}
		for _, k := range keys {
			nodes[i].named[k] = m[k]
		}
	}
	return nodes[0]
}

// dump is the simple twin: a text that two graphs have in common if they have the same shape and
// contents.
func dump(n *node) string {
	var text strings.Builder
	numbers := map[*node]int{}
	var see func(n *node)
	fields := func(n *node) {
		fmt.Fprintf(&text, "{%d %q %x ", n.N, n.text, math.Float64bits(n.float))
		see(n.next)
		for _, k := range slices.Sorted(maps.Keys(n.named)) {
			fmt.Fprintf(&text, "%s:", k)
			see(n.named[k])
		}
		if n.list == nil {
			text.WriteString("nil")
		}
		for _, m := range n.list {
			see(m)
		}
		fmt.Fprintf(&text, "%v %T", n.set, n.any)
		switch x := n.any.(type) {
		case *node:
			see(x)
		case node:
			see(x.next)
			fmt.Fprintf(&text, "%d %q %v", x.N, x.text, x.set)
		default:
			fmt.Fprint(&text, x)
		}
		text.WriteString("}")
	}
	see = func(n *node) {
		if n == nil {
			text.WriteString("-")
			return
		}
		number, known := numbers[n]
		if !known {
			number = len(numbers)
			numbers[n] = number
		}
		fmt.Fprintf(&text, "#%d", number)
		if !known {
			fields(n)
		}
	}
	see(n)
	return text.String()
}

// holdsCopies tells of a graph for which the twin is too simple: it does not follow a node that is
// held by value.
func holdsCopies(data []byte) bool {
	for ; len(data) >= 3; data = data[3:] {
		if data[1]%8 == 5 && data[2]%5 == 2 {
			return true
		}
	}
	return false
}

func sum(t testing.TB, x any) Hash {
	t.Helper()
	h, err := Sum(x)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// compareGraphs sees that a graph has one hash, however it was built, and that two have the same
// exactly if the twin takes them for the same.
func compareGraphs(t testing.TB, a, b []byte) {
	one, other := graph(a, false), graph(b, true)
	h := sum(t, one)
	if again := sum(t, graph(a, true)); again != h {
		t.Fatalf("the graph of %v has the hashes %x and %x", a, h, again)
	}
	if holdsCopies(a) || holdsCopies(b) {
		return
	}
	if want, got := dump(one) == dump(other), h == sum(t, other); want != got {
		t.Fatalf("the same: %v, the same hash: %v\n%s\n%s", want, got, dump(one), dump(other))
	}
}

// TestTwin: equal hashes are those of graphs with equal shape and contents. Half of the graphs are
// those of others with one thing changed.
func TestTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a := make([]byte, 3*(1+random.IntN(8)))
		for i := range a {
			a[i] = byte(random.Uint32())
		}
		b := slices.Clone(a)
		b[random.IntN(len(b))] ^= 1 << random.IntN(8)
		compareGraphs(t, a, b)
		compareGraphs(t, a, a)
	}
}

// FuzzSum: hashes tell graphs apart as the twin does.
func FuzzSum(f *testing.F) {
	f.Add([]byte{4, 2, 0, 9, 2, 0}, []byte{4, 2, 0, 9, 3, 0})
	f.Add([]byte{4, 3, 1, 8, 3, 2, 1, 0, 7}, []byte{8, 3, 1, 4, 3, 2, 1, 0, 7})
	f.Add([]byte{0, 4, 0, 4, 4, 0}, []byte{0, 5, 3, 0, 6, 255})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a) <= 300 && len(b) <= 300 {
			compareGraphs(t, a, b)
		}
	})
}

type pair struct{ a, b any }

// TestTold: values that differ in something that a program can see have different hashes.
func TestTold(t *testing.T) {
	one, two := 1, 1
	shared := []int{1, 2}
	values := []any{
		nil, 0, int8(0), false, "", "\x00", []int(nil), []int{}, [0]int{}, map[int]int(nil), map[int]int{},
		(*int)(nil), &one, 1, -1, 1.0, math.Copysign(0, -1), 0.0, math.NaN(), math.Inf(1),
		pair{&one, &one}, pair{&one, &two}, pair{&one, 1}, pair{"a", "bc"}, pair{"ab", "c"},
		pair{shared, shared}, pair{shared, []int{1, 2}}, pair{shared, shared[:1]},
		map[string]int{"a": 1}, map[string]int{"a": 2}, map[any]int{"a": 1}, map[string]int{"a": 1, "b": 2},
		map[string]int{"a": 2, "b": 1}, struct{ x int }{}, struct{ y int8 }{}, complex(1, 2), complex(2, 1),
		[]byte("abcdefgh"), []byte("abcdefgi"), "abcdefgh", [2]bool{true}, [2]bool{false, true},
		time.Unix(5, 0).UTC(), time.Unix(6, 0).UTC(), errors.New("x"), (func())(nil), (chan int)(nil),
	}
	seen := map[Hash]int{}
	for i, v := range values {
		h := sum(t, v)
		if j, same := seen[h]; same {
			t.Errorf("values %d and %d have the same hash: %#v and %#v", i, j, values[j], v)
		}
		seen[h] = i
		if again := sum(t, v); again != h {
			t.Errorf("value %d has the hashes %x and %x", i, h, again)
		}
	}
}

// TestSame: values that differ in nothing that counts have the same hash.
func TestSame(t *testing.T) {
	type blank struct {
		n int
		_ int
	}
	a, b := 1, 1
	var p, q atomic.Pointer[int]
	p.Store(&a)
	q.Store(&b)
	var mu sync.Mutex
	wide := make([]int, 2, 10)
	cycle, same := &node{}, &node{}
	cycle.next, same.next = cycle, same
	for i, both := range [][2]any{
		{&a, &b}, {wide, make([]int, 2)}, {math.NaN(), -math.NaN()}, {cycle, same},
		{*(*blank)(unsafe.Pointer(&[2]int{1, 2})), *(*blank)(unsafe.Pointer(&[2]int{1, 3}))},
		{&p, &q}, {sync.NewCond(&mu), sync.NewCond(&sync.Mutex{})},
		{map[float64]int{math.NaN(): 1, -math.NaN(): 2}, map[float64]int{math.NaN(): 2, -math.NaN(): 1}},
		{map[*int]string{&a: "x"}, map[*int]string{&b: "x"}},
		{[]any{&a, &b, map[*int]bool{&a: true, &b: false}},
			[]any{&b, &a, map[*int]bool{&a: false, &b: true}}},
	} {
		if x, y := sum(t, both[0]), sum(t, both[1]); x != y {
			t.Errorf("pair %d: %v and %v have the hashes %x and %x", i, both[0], both[1], x, y)
		}
	}
	if sum(t, &p) == sum(t, &atomic.Pointer[int]{}) {
		t.Error("an atomic pointer has the same hash with nil")
	}
}

// TestRefused: what has no hash is named, with the way to it.
func TestRefused(t *testing.T) {
	nested := any(0)
	for range MaxDepth + 1 {
		nested = [1]any{nested}
	}
	x, y := &node{}, &node{}
	for _, c := range []struct {
		x    any
		want string
	}{
		{func() {}, ": it is a function, and nobody can see what it has captured (func())"},
		{[]any{1, pair{0, make(chan bool)}},
			"[1].b: it is a channel, and nobody can see what is in its buffer and who waits (chan bool)"},
		{struct{ p unsafe.Pointer }{unsafe.Pointer(x)},
			".p: it is an unsafe pointer, which has no size (unsafe.Pointer)"},
		{map[string]func(){"a": func() {}},
			"[key 1 of 1]: it is a function, and nobody can see what it has captured (func())"},
		{pair{map[*node]int{x: 1, y: 1}, x}, ".a: two keys of the map (*deephash.node) hold the same, and " +
			"differ only by where they point to: give what they point to a name or a number"},
		{make([]int, MaxParts), fmt.Sprintf("[%d]: there are more than %d parts up to here", MaxParts-1,
			MaxParts)},
		{nested, strings.Repeat("[0]", 32) + fmt.Sprintf(": there are more than %d values within each other",
			MaxDepth)},
	} {
		_, err := Sum(c.x)
		var e *Error
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("the error is %v, and not %s", err, c.want)
		}
	}
}

// TestLongList: a list takes no deep stack, and no bound but that on parts.
func TestLongList(t *testing.T) {
	type item struct {
		n    int
		next *item
	}
	var list *item
	for i := range 200_000 {
		list = &item{i, list}
	}
	sum(t, list)
}
