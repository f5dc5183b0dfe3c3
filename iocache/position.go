package iocache

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/internal/invariant"
)

// Position is where an execution or a group stands: its place in the tree of the group, and then,
// in connection scope, its place in the tree of each connection, in any order. In group scope it
// has one element. In connection scope the first element is where the group was started.
type Position []NodeID

// image is a physical checkpoint.
type image struct {
	at       Position // sorted but for its first element
	name     string
	backend  string // what took it
	restores int    // how often the group was restored from it
}

// images are all physical checkpoints.
type images struct {
	at    map[NodeID][]image // by one of their places: see Position.key
	count int
	ranks map[NodeID]rank // of Nearest
	// For a Snapshot: restores from checkpoints that are gone, by the same places, and how often a
	// group was started at a place.
	past, starts map[NodeID]int
}

// canonical is the form of a position in which equal ones are identical.
func (v Position) canonical() Position {
	v = slices.Clone(v)
	slices.Sort(v[1:])
	return v
}

// key is the place of a position under which its image is kept: any would do, and the newest
// is that of the fewest images.
func (v Position) key() NodeID { return slices.Max(v) }

// imageBytes estimates what an image costs.
func imageBytes(i image) int64 { return int64(88 + 4*cap(i.at) + len(i.name)) }

// SetImage notes that a physical checkpoint of the group exists at v, under the
// name image, which must not be empty, and which backend has taken it. It replaces an earlier one.
func (c *Cache) SetImage(v Position, name, backend string) {
	invariant.Check(name != "", "iocache: SetImage with an empty image name")
	for _, n := range v {
		c.mustBePlace(n)
	}
	c.DropImage(v)
	i := image{at: v.canonical(), name: name, backend: backend}
	c.images.at[i.at.key()] = append(c.images.at[i.at.key()], i)
	c.bytes += imageBytes(i)
	c.images.count++
}

// DropImage notes that there is no physical checkpoint at v any more. It does
// nothing where there was none.
func (c *Cache) DropImage(v Position) {
	v = v.canonical()
	list := c.images.at[v.key()]
	i := slices.IndexFunc(list, func(i image) bool { return slices.Equal(i.at, v) })
	if i < 0 {
		return
	}
	c.bytes -= imageBytes(list[i])
	c.images.count--
	if n := list[i].restores; n > 0 {
		c.images.past[v.key()] += n
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(c.images.at, v.key())
		return
	}
	c.images.at[v.key()] = list
}

// ForgetImages notes that there is no physical checkpoint at all any more.
func (c *Cache) ForgetImages() {
	for _, list := range c.images.at {
		for _, i := range list {
			c.bytes -= imageBytes(i)
		}
	}
	clear(c.images.at)
	clear(c.images.past)
	clear(c.images.starts)
	c.images.count = 0
}

// NoteRestore counts that the group was restored from the checkpoint at v.
func (c *Cache) NoteRestore(v Position) {
	v = v.canonical()
	list := c.images.at[v.key()]
	if i := slices.IndexFunc(list, func(i image) bool { return slices.Equal(i.at, v) }); i >= 0 {
		list[i].restores++
	}
}

// NoteStart counts that a group was started from nothing, which then stands at n.
func (c *Cache) NoteStart(n NodeID) { c.images.starts[n]++ }

// Nearest finds the physical checkpoint from which the fewest inputs lead to v. A checkpoint
// serves v if each of its places is above the place of v in that tree, or is it. If there is none,
// ok is false: the group has to be started anew. What Nearest returns must not be modified.
//
// It takes time in proportion to the inputs that lead to v, and to the checkpoints on the way. Of
// two that are equally near it takes the smaller position, so that two runs of the same search
// restore the same ones.
func (c *Cache) Nearest(v Position) (at Position, name string, ok bool) {
	all := c.rank(v)
	fewest := 0
	for n := range c.images.ranks {
		for _, i := range c.images.at[n] {
			missing, serves := c.missing(i.at, all)
			if serves && (!ok || missing < fewest || missing == fewest && slices.Compare(i.at, at) < 0) {
				at, name, ok, fewest = i.at, i.name, true, missing
			}
		}
	}
	return at, name, ok
}

// Distance is how many inputs lead from one position to another; ok is false if none do.
func (c *Cache) Distance(from, to Position) (inputs int, ok bool) {
	return c.missing(from, c.rank(to))
}

// rank is where a place lies on the way to a position.
type rank struct {
	below int // inputs from there to the place of the position in the same tree
	whole int // inputs from the top of the tree
}

// rank finds every place above those of v, and adds up how many inputs lead to v at all.
func (c *Cache) rank(v Position) (all int) {
	clear(c.images.ranks)
	for _, n := range v {
		c.mustBePlace(n)
		whole := c.inputsTo(n)
		for below := 0; ; n = c.nodes[n].parent {
			if c.nodes[n].answered {
				c.images.ranks[n] = rank{below, whole}
				below++
			}
			if c.isTop(n) {
				break
			}
		}
		all += whole
	}
	return all
}

// missing is Distance to the position that was ranked.
func (c *Cache) missing(from Position, all int) (inputs int, ok bool) {
	inputs = all
	for _, n := range from {
		r, above := c.images.ranks[n]
		if !above {
			return 0, false
		}
		inputs -= r.whole - r.below
	}
	return inputs, true
}

// Missing lists what to replay to bring a group that stands at from to the position to, tree
// by tree: in connection scope no other order is better. It panics unless from serves to.
func (c *Cache) Missing(from, to Position) ([]Step, error) {
	if _, ok := c.Distance(from, to); !ok {
		invariant.Failf("iocache: no inputs lead from %v to %v", from, to)
	}
	var steps []Step
	for _, n := range to {
		path, err := c.Path(c.in(from, c.Tree(n)), n)
		if err != nil {
			return nil, err
		}
		steps = append(steps, path...)
	}
	return steps, nil
}

// Places lists the places that Missing leads to, in the same order. It reads no reaction.
func (c *Cache) Places(from, to Position) (places []NodeID) {
	for _, n := range to {
		begin := len(places)
		for top := c.in(from, c.Tree(n)); n != top; n = c.base(n) {
			places = append(places, n)
		}
		slices.Reverse(places[begin:])
	}
	return places
}

// MissingKinds counts the inputs that Missing lists, by kind.
func (c *Cache) MissingKinds(from, to Position) map[Kind]int {
	kinds := map[Kind]int{}
	for _, n := range to {
		for top := c.in(from, c.Tree(n)); n != top; n = c.base(n) {
			kinds[c.nodes[n].kind]++
		}
	}
	return kinds
}

// HasPlace reports whether a number, which may come from elsewhere, is that of a place.
func (c *Cache) HasPlace(n NodeID) bool {
	return n >= 0 && int(n) < len(c.nodes) && c.nodes[n].answered
}

// IsOnTheWay reports whether a place is on the way to another one from the top of its tree, or is
// that. The first one may come from elsewhere.
func (c *Cache) IsOnTheWay(n, to NodeID) bool {
	for to != n && !c.isTop(to) {
		to = c.base(to)
	}
	return to == n
}

// in is the place of a position in a tree.
func (c *Cache) in(v Position, tree NodeID) NodeID {
	for _, n := range v {
		if c.Tree(n) == tree {
			return n
		}
	}
	return tree
}

// After is the position of a group that stood at v and was given the input that leads to n.
func (c *Cache) After(v Position, n NodeID) Position {
	v = slices.Clone(v)
	if i := slices.Index(v, c.base(n)); i >= 0 && !c.isTop(v[i]) { // without a look at the trees
		v[i] = n
		return v
	}
	for i := range v {
		if c.Tree(v[i]) == c.Tree(n) {
			v[i] = n
			return v
		}
	}
	return append(v, n)
}

// OpenedName is the name of the k-th connection, from 0 on, that the peers open when the SUT
// begins to listen, from the name of the listener.
func OpenedName(listener string, k int) string { return fmt.Sprintf("%s/%d", listener, k) }
