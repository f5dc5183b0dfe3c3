package image

import (
	"bytes"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// list, tree and graph are what nodes of protocols keep: cycles, sharing, hidden fields.
type list struct {
	value int
	next  *list
}

type tree struct {
	Name     string
	children map[string]*tree
	parent   *tree
	any      any
}

type sharing struct {
	a, b  []int
	p, q  *int
	m, n  map[int]string
	first *list
	items []list
}

// images returns an Images, and fails the test if it cannot.
func images(t testing.TB, constants ...any) *Images {
	t.Helper()
	m, err := New(constants...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// again decodes the image of a value, and wants that of the result to be the same.
func again[T any](t testing.TB, m *Images, value T) T {
	t.Helper()
	image, err := m.Append(nil, value)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := m.Decode(image)
	if err != nil {
		t.Fatalf("%x: %v", image, err)
	}
	if image2, err := m.Append([]byte{7}, decoded); err != nil || !bytes.Equal(image2[1:], image) {
		t.Fatalf("%x, decoded and encoded, is %x (%v)", image, image2, err)
	}
	return decoded.(T)
}

func TestRoundTrip(t *testing.T) {
	m := images(t)
	ring := &list{1, &list{2, nil}}
	ring.next.next = ring
	root := &tree{Name: "root", children: map[string]*tree{}}
	root.children["x"] = &tree{parent: root, any: []any{1, "two", 3.5, nil, ring}}
	n, shared := 5, []int{1, 2, 3}
	for _, value := range []any{
		nil, true, int8(-3), uint64(1) << 63, 2.5, complex(1, 2), "text", [3]int{1, 2, 3}, []byte{},
		[]byte(nil),
		ring, root, struct{}{}, &struct{}{}, map[struct{ x, y int }]bool{{1, 2}: true},
		&sharing{a: shared, b: shared, p: &n, q: &n, m: map[int]string{1: "a", 2: "b"}},
		time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC), time.Now().Round(0), big.NewInt(1 << 60), &sync.Mutex{},
		make([]struct{}, 3), []any{[]any{}}, errFunction,
	} {
		if got := again(t, m, &value); !reflect.DeepEqual(got, &value) {
			t.Errorf("%#v is %#v", value, *got)
		}
	}
}

// TestSharing: what two places share, they share in the copy, and no more.
func TestSharing(t *testing.T) {
	m := images(t)
	n, other, numbers, names := 5, 5, []int{1, 2, 3}, map[int]string{}
	s := again(t, m, &sharing{a: numbers, b: numbers, p: &n, q: &n, m: names, n: names})
	s.a[1], *s.p, s.m[1] = 9, 9, "x"
	if s.b[1] != 9 || *s.q != 9 || s.n[1] != "x" {
		t.Errorf("shared memory is not: %+v", s)
	}
	s = again(t, m, &sharing{a: numbers, b: []int{1, 2, 3}, p: &n, q: &other})
	s.a[1], *s.p = 9, 9
	if s.b[1] != 2 || *s.q != 5 {
		t.Errorf("memory is shared that was not: %+v", s)
	}
}

// TestOverlap: slices that share memory in part do so in the copy. Appending to the shorter one
// overwrites the longer, as in Go.
func TestOverlap(t *testing.T) {
	m := images(t)
	all := []int{1, 2, 3, 4}
	s := again(t, m, &sharing{a: all, b: all[1:2], p: &all[3]})
	s.b[0], *s.p = 20, 40
	s.b = append(s.b, 30)
	if want := []int{1, 20, 30, 40}; !reflect.DeepEqual(s.a, want) || cap(s.b) != 3 {
		t.Errorf("%v, want %v; capacity %d", s.a, want, cap(s.b))
	}
	s = again(t, m, &sharing{a: all, b: all[1:2:2]})
	if s.b = append(s.b, 30); s.a[2] != 3 {
		t.Error("an append beyond the capacity has overwritten what was behind it")
	}
	// An empty slice may have room in which another one lies.
	s = again(t, m, &sharing{a: all[:0], b: all[:2]})
	if s.a = append(s.a, 7); s.b[0] != 7 {
		t.Error("an append to an empty slice has not overwritten the other one")
	}
	items := []list{{1, nil}, {2, nil}}
	s = again(t, m, &sharing{items: items, first: &items[1]})
	if s.first != &s.items[1] {
		t.Error("a pointer to an element leads elsewhere")
	}
}

// TestCanonical: equal values have equal images, however they came about.
func TestCanonical(t *testing.T) {
	m := images(t)
	a, b := map[string]int{}, map[string]int{}
	for i := range 100 {
		a[fmt.Sprint(i)], b[fmt.Sprint(99-i)] = i, 99-i
	}
	roomy := append(make([]int, 0, 10), 1)
	for _, pair := range [][2]any{{a, b}, {roomy, []int{1}}, {roomy[:0], []int{}}} {
		x, _ := m.Append(nil, pair[0])
		y, _ := m.Append(nil, pair[1])
		if !bytes.Equal(x, y) {
			t.Errorf("%v: %x and %x", pair[0], x, y)
		}
	}
}

// TestConstants: constants and functions stay what they are.
func TestConstants(t *testing.T) {
	type logger struct{ done chan int }
	type node struct {
		log      *logger
		callback func() int
	}
	log := &logger{make(chan int)}
	m := images(t, log)
	n := again(t, m, &node{log, func() int { return 7 }})
	if n.log != log || n.callback() != 7 {
		t.Errorf("%+v", n)
	}
	m.Seal()
	x := 1
	if _, err := m.Append(nil, &node{callback: func() int { return x }}); err == nil ||
		!strings.Contains(err.Error(), "node.callback: the function was not there") {
		t.Error("a new function is not refused:", err)
	}
	if _, err := New(*log); err == nil {
		t.Error("a constant that is no pointer is not refused")
	}
}

// machine keeps functions as libraries do: what to do next, and with whom.
type machine struct {
	ticks int
	tick  func()
	next  func(*machine)
	peer  *machine
}

func (m *machine) count()      { m.ticks++ }
func (m *machine) countTwice() { m.ticks += 2 }
func declared(m *machine)      { m.tick = m.countTwice }

// TestFunctions: method values and declared functions may be made at any time. A copy of a method
// value has the copy as its receiver.
func TestFunctions(t *testing.T) {
	m := images(t)
	m.Seal()
	first := &machine{next: declared, peer: &machine{}}
	first.tick, first.peer.tick = first.count, first.count
	copied := again(t, m, first)
	copied.tick()
	copied.next(copied)
	copied.peer.tick()
	copied.tick()
	if first.ticks != 0 || copied.ticks != 4 {
		t.Errorf("%d and %d ticks; want none, and 4", first.ticks, copied.ticks)
	}
	// What a method value has as its receiver is seen, and which method it is.
	second := &machine{next: declared, peer: &machine{}}
	second.tick, second.peer.tick = second.count, second.peer.count
	third := &machine{next: declared, peer: &machine{}}
	third.tick, third.peer.tick = third.countTwice, third.count
	seen := map[string]bool{}
	for _, x := range []*machine{first, second, third} {
		image, err := m.Append(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(image)] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d images of three", len(seen))
	}
}

// TestFunctionsRefused: whatever else has captured something is refused once the check has begun.
func TestFunctionsRefused(t *testing.T) {
	m := images(t)
	m.Seal()
	x := &machine{}
	value := machineValue{}
	for name, f := range map[string]func(){
		"literal":             func() { x.ticks++ },
		"inlined literal":     func() { x.count() },
		"receiver no pointer": value.method,
		"interface":           counted(x).count,
		"reflection":          reflect.ValueOf(&bytes.Buffer{}).MethodByName("Reset").Interface().(func()),
		"unknown receiver":    (&bytes.Buffer{}).Reset,
	} {
		if _, err := m.Append(nil, &machine{tick: f}); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

type machineValue struct{ ticks [3]int }

func (m machineValue) method() { _ = m.ticks }

type counted interface{ count() }

// TestRefused: what has no image is named.
func TestRefused(t *testing.T) {
	type node struct {
		peers []struct{ done chan int }
		byKey map[string]any
		inner struct{ x, y int }
		y     *int
		ids   map[*int]int
	}
	m := images(t)
	middle := &node{}
	middle.y = &middle.inner.y
	for _, c := range []struct {
		value *node
		want  string
	}{
		{&node{peers: []struct{ done chan int }{{}, {make(chan int)}}}, "*image.node.peers[1].done: a " +
			"channel"},
		{&node{byKey: map[string]any{"k": make(chan int)}}, "*image.node.byKey[k]: a channel"},
		{&node{ids: map[*int]int{new(int): 1}}, "*image.node.ids: a map whose keys are pointers"},
		{middle, "*image.node: a pointer leads into the middle of a value"},
	} {
		if _, err := m.Append(nil, c.value); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestRandomValues: random values of random types are the same after a round trip, and other values
// have other images.
func TestRandomValues(t *testing.T) { rapid.Check(t, checkRandomValue) }

// FuzzRandomValues is the same with what the fuzzer comes upon.
func FuzzRandomValues(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkRandomValue)) }

// FuzzDecode: bytes that are no image are an error, and nothing worse.
func FuzzDecode(f *testing.F) {
	m := images(f)
	for _, seed := range []any{&list{1, &list{}}, &tree{children: map[string]*tree{"a": {}}},
		&sharing{a: []int{1}}} {
		image, err := m.Append(nil, seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := m.Decode(data)
		if err != nil {
			return
		}
		if _, err := m.Append(nil, value); err != nil && !strings.Contains(err.Error(), errKey.Error()) {
			t.Errorf("%x is a %T without an image: %v", data, value, err)
		}
	})
}
