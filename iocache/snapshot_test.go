package iocache

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// ran is an execution: the places that its inputs led to, and what the group was given in it.
type ran struct {
	places  []NodeID
	history history
	counted bool
}

// TestSnapshot: a snapshot has the places that executions came by, with how many did, and those of
// the path. A list of all executions says which these are.
func TestSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(Limits{})
		w := &twin{world: drawWorld(t, false), made: map[string]int{"": 0}, images: map[string]string{}}
		var all []ran
		for range rapid.IntRange(1, 12).Draw(t, "executions") {
			e := ran{counted: rapid.IntRange(0, 4).Draw(t, "counted") > 0}
			cur := Root
			for range rapid.IntRange(1, 8).Draw(t, "inputs") {
				cur, e.history = twinStep(t, c, w, cur, e.history)
				e.places = append(e.places, cur)
			}
			all = append(all, e)
		}
		v := View{Path: all[0].places, Most: len(c.nodes), Ends: make([]uint32, len(c.nodes))}
		for _, e := range all {
			if e.counted {
				v.Ends[e.places[len(e.places)-1]]++
			}
		}
		whole := must(SnapshotOf(c, v))
		checkSnapshot(t, c, w, all, whole)
		v.Most = rapid.IntRange(0, len(c.nodes)).Draw(t, "most")
		checkPart(t, c, whole, must(SnapshotOf(c, v)), v)
	})
}

// checkSnapshot compares a snapshot that has room for all with the executions.
func checkSnapshot(t *rapid.T, c *Cache, w *twin, all []ran, s *Snapshot) {
	t.Helper()
	// begins says whether a history goes through a place.
	begins := func(h history, place string) bool { return strings.HasPrefix(h.key()+" ", place+" ") }
	want := map[string]int{}
	for place := range w.made {
		visits, onPath := 0, place == "" || begins(all[0].history, place)
		for _, e := range all {
			if e.counted && (place == "" || begins(e.history, place)) {
				visits++
			}
		}
		if visits > 0 || onPath {
			want[place] = max(visits-1, 0)
		}
	}
	want[""] = 0 // nobody asks for it
	got := map[string]int{}
	keys := make([]history, len(s.Places))
	for i, p := range s.Places {
		keys[i] = pathHistory(c, p.Node)
		got[keys[i].key()] = p.Hits
		if p.Parent >= i || p.Parent < 0 != (i == 0) {
			t.Fatalf("place %d is below %d", i, p.Parent)
		}
		// The input leads here from the place above, and has the group's answer.
		if i > 0 && (!slices.Equal(keys[p.Parent].with(p.Input), keys[i]) ||
			!p.Reaction.Equal(w.between(keys[p.Parent], keys[i]))) {
			t.Fatalf("%v at %q leads to %q with %v", p.Input, keys[p.Parent].key(), keys[i].key(), p.Reaction)
		}
		if n := len(w.after(keys[i]).conns); p.Connections != n {
			t.Fatalf("%d connections at %q, want %d", p.Connections, keys[i].key(), n)
		}
		given := slices.IndexFunc(all[0].places, func(n NodeID) bool {
			return n == p.Node || begins(pathHistory(c, n), keys[i].key())
		})
		if chosen := p.Input.Kind == Choose; i == 0 || chosen {
			given = -1
		}
		if p.Given != given {
			t.Fatalf("input %d of the path leads to %q, want %d", p.Given, keys[i].key(), given)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || s.LeftOut != 0 {
		t.Fatalf("%d left out; places and hits (-want +got):\n%s", s.LeftOut, diff)
	}
}

// checkPart checks that a snapshot with less room has the path, and else what most executions came
// by, from the top.
func checkPart(t *rapid.T, c *Cache, whole, part *Snapshot, v View) {
	t.Helper()
	has := map[NodeID]int{}
	for i, p := range part.Places {
		has[p.Node] = i
		if i > 0 && part.Places[p.Parent].Node != c.base(p.Node) {
			t.Fatalf("place %d is below another one", p.Node)
		}
	}
	least := 1 << 30 // hits of a place that is there beside the path
	path := 0
	for _, p := range whole.Places {
		i, ok := has[p.Node]
		switch {
		case c.onPath(p.Node, v.Path):
			if path++; !ok {
				t.Fatalf("place %d of the path is missing", p.Node)
			}
		case ok:
			least = min(least, p.Hits)
		}
		if ok {
			p.Parent = part.Places[i].Parent
			if diff := cmp.Diff(p, part.Places[i]); diff != "" {
				t.Fatalf("(-whole +part):\n%s", diff)
			}
		}
	}
	for _, p := range whole.Places {
		_, ok := has[p.Node]
		_, above := has[c.baseOrRoot(p.Node)]
		if !ok && above && p.Hits > least && p.Hits > 0 {
			t.Fatalf("place %d with %d hits is missing, one with %d is there", p.Node, p.Hits, least)
		}
	}
	if n := len(part.Places); n > max(v.Most, path) || n+part.LeftOut != len(whole.Places) ||
		n < min(v.Most, len(whole.Places)) {
		t.Fatalf("%d places of %d, %d are left out, at most %d", n, len(whole.Places), part.LeftOut, v.Most)
	}
}

func (c *Cache) onPath(n NodeID, path []NodeID) bool {
	return n == Root || slices.ContainsFunc(path, func(to NodeID) bool {
		for ; to != Root && to != n; to = c.base(to) {
		}
		return to == n
	})
}

func (c *Cache) baseOrRoot(n NodeID) NodeID {
	if n == Root {
		return Root
	}
	return c.base(n)
}

// TestSnapshotInAnyOrder: which execution was the first makes no difference.
func TestSnapshotInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, false)
		var executions [][]Input
		for range rapid.IntRange(1, 12).Draw(t, "executions") {
			var inputs []Input
			g := w.group()
			for range rapid.IntRange(1, 8).Draw(t, "inputs") {
				inputs = append(inputs, w.drawInput(t, g.conns, len(inputs) > 0))
				g.perform(inputs[len(inputs)-1])
			}
			// A request that the peers reset in the middle ends where it was first seen to end.
			if !slices.ContainsFunc(g.conns, func(s connState) bool { return s&reset != 0 }) {
				executions = append(executions, inputs)
			}
		}
		if len(executions) == 0 {
			return
		}
		most := rapid.IntRange(0, 20).Draw(t, "most")
		path := rapid.IntRange(0, len(executions)-1).Draw(t, "path")
		order := make([]int, len(executions))
		for i := range order {
			order[i] = i
		}
		first := w.snapshotOf(t, executions, order, path, most)
		second := w.snapshotOf(t, executions, rapid.Permutation(order).Draw(t, "order"), path, most)
		if diff := cmp.Diff(first, second, cmpopts.IgnoreFields(Place{}, "Node")); diff != "" {
			t.Fatalf("in another order (-first +second):\n%s", diff)
		}
	})
}

// snapshotOf runs executions in an order, with a cache of their own.
func (w world) snapshotOf(t *rapid.T, executions [][]Input, order []int, path, most int) *Snapshot {
	c := New(Limits{})
	places := make([][]NodeID, len(executions))
	v := View{Most: most}
	for _, i := range order {
		cur := Root
		var seen, answer Reaction
		for _, in := range executions[i] {
			var err error
			if cur, answer, err = w.ask(t, c, cur, in, seen); err != nil {
				t.Fatal(err)
			}
			seen = accumulate(seen, answer)
			places[i] = append(places[i], cur)
		}
		v.Ends = append(v.Ends, make([]uint32, len(c.nodes)-len(v.Ends))...)
		v.Ends[cur]++
	}
	v.Path = places[path]
	return must(SnapshotOf(c, v))
}

// TestSnapshotOfConnections: in connection scope each connection has a tree below the place where
// the group was started. An execution ends in several of them.
func TestSnapshotOfConnections(t *testing.T) {
	c := New(Limits{})
	x := c.Cursor(Connection)
	run := func(inputs ...Input) (path []NodeID) {
		x.Rewind()
		for _, in := range inputs {
			if _, rest, hit, err := x.Lookup(in); err != nil || !hit {
				must(x.Record(rest, Reaction{}))
			}
			path = append(path, x.Node())
		}
		return path
	}
	open := func(conn int, name string) Input {
		return Input{Kind: Connect, Conn: conn, Addr: "a:1", Name: name}
	}
	ends := make([]uint32, 100)
	count := func() {
		for _, n := range x.At() {
			ends[n]++
		}
	}
	run(open(0, "b"), open(1, "a"), Input{Kind: Send, Conn: 1, Data: []byte("x")})
	count()
	path := run(open(0, "a"), Input{Kind: Send, Data: []byte("x")}, Input{Kind: Close})
	count()
	c.SetImage(x.At(), "image", "memory")
	c.NoteRestore(x.At())
	c.NoteStart(Root)
	s := must(SnapshotOf(c, View{Path: path, Ends: ends, Most: 10}))
	want := []Place{
		{Parent: -1, Given: -1, Starts: 1},
		{Parent: 0, Given: -1, Input: Input{Name: "a"}},
		{Parent: 1, Given: 0, Connections: 1, Hits: 1, Input: Input{Kind: Connect, Addr: "a:1"}},
		{Parent: 2, Given: 1, Connections: 1, Hits: 1, Input: Input{Kind: Send, Data: []byte("x")}},
		{Parent: 3, Given: 2, Connections: 1, Input: Input{Kind: Close}, Image: "memory", Restores: 1},
		{Parent: 0, Given: -1, Input: Input{Name: "b"}},
		{Parent: 5, Given: -1, Connections: 1, Input: Input{Kind: Connect, Addr: "a:1"}},
	}
	if diff := cmp.Diff(want, s.Places, cmpopts.IgnoreFields(Place{}, "Node")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSnapshotOfCheckpoints: restores are counted beyond the end of a checkpoint, as long as the
// group is there. What was known before was never asked for.
func TestSnapshotOfCheckpoints(t *testing.T) {
	c, places := recorded(t, Limits{}, []Input{connect(0), send("x")}, []Reaction{{}, says("y")})
	at := Position{places[1]}
	c.NoteRestore(at) // there is none
	c.SetImage(at, "first", "criu")
	c.NoteRestore(at)
	c.NoteRestore(at)
	c.SetImage(at, "second", "memory")
	c.NoteRestore(at)
	view := View{Path: places[1:], Ends: []uint32{0, 0, 5}, Known: len(c.nodes), Most: 10}
	look := func() (image string, restores, hits int) {
		p := must(SnapshotOf(c, view)).Places[1]
		return p.Image, p.Restores, p.Hits
	}
	if image, restores, hits := look(); image != "memory" || restores != 3 || hits != 5 {
		t.Errorf("%q, %d restores, %d hits", image, restores, hits)
	}
	c.DropImage(at)
	if image, restores, _ := look(); image != "" || restores != 3 {
		t.Errorf("after it was dropped: %q, %d restores", image, restores)
	}
	c.ForgetImages()
	if _, restores, _ := look(); restores != 0 {
		t.Errorf("of another group: %d restores", restores)
	}
}
