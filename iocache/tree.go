package iocache

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/tandem-mc/tandem/internal/invariant"
	"github.com/tandem-mc/tandem/internal/model"
)

// Cache is the tree of all inputs and reactions so far. Make one with New.
type Cache struct {
	limits Limits
	nodes  []node
	edges  index              // all nodes' children in one table: a step costs one access
	images map[NodeID][]image // by one of their places, see vector.go
	bytes  int64
	hits   int
	misses int
	// changes counts the places that were made and verified, for Follow.
	changes int

	// What many nodes have in common is there once: see shared.go.
	seed        maphash.Seed
	labels      index // by a node that has the label
	states      [][]connState
	stateIndex  index
	answers     []answer
	answerIndex index
	free        []answerID

	masks      []Mask
	store      Store // for reactions for which there is no room; nil: there is none
	least      int64 // bytes that a reaction takes which goes there
	spilled    map[answerID]stored
	hand       answerID // what was looked at last, to be put there
	imageCount int
	ranks      map[NodeID]rank // of Nearest
}

// edge finds a child: by its first byte for a Send, whole for the rest. As in a
// radix tree no two children by Send on one connection begin with the same byte.
type edge struct {
	from  NodeID
	conn  int32
	kind  Kind
	first byte   // of a Send
	label string // of the rest
}

// node is a place in the tree, or a branching point in the middle of sends that
// the group was never asked about (answered is false). Branching points have no
// reaction and are never given out: a node's reaction is counted from the nearest
// answered node above it, its base.
type node struct {
	parent, firstChild, nextSibling NodeID

	conn int32
	// label is, of a Send, the bytes from the parent to here, not empty; of a Connect or Listen the
	// address; of a Pass the most that may pass; of the top of a tree the name of its connection.
	label    string
	answer   answerID
	conns    stateID // states of all connections
	kind     Kind
	answered bool

	// unverified marks a reaction that was not observed from a group standing at
	// the base but was left over when the edge to here was cut. The first walk
	// over it must be performed by the peers.
	unverified bool
}

// nodeBytes estimates what a node costs besides what it points to: the node, its
// entry in the table of edges, and their shares of unused capacity.
const nodeBytes = int64(unsafe.Sizeof(node{})+unsafe.Sizeof(slot{})) * 3 / 2

// top is the kind of the place where the tree of one connection begins. Nothing leads there from
// the place above, at which the group was started.
const top Kind = math.MaxUint8

func (c *Cache) lookup(cur NodeID, in Input) (NodeID, Reaction, Input, bool, error) {
	at := c.place(cur)
	at.mustAccept(in)
	if !at.reaches(in) {
		return cur, Reaction{}, Input{}, true, nil
	}
	if in.Kind == Send {
		return c.lookupSend(cur, in)
	}
	child, ok := c.control(cur, in)
	if !ok {
		return cur, Reaction{}, in, false, nil
	}
	r, err := c.reactionOf(child)
	return child, r, Input{}, err == nil, err
}

// lookupSend walks down while bytes and edges agree. The walk may pass branching
// points; what counts is the last answered node.
func (c *Cache) lookupSend(cur NodeID, in Input) (NodeID, Reaction, Input, bool, error) {
	var served model.Joined
	last, rest := cur, in.Data // the last answered node and what is left there
	at, left := cur, in.Data
	for len(left) > 0 {
		child := c.child(sendEdge(at, in.Conn, left[0]))
		if child == Root {
			break
		}
		n := &c.nodes[child]
		if n.unverified || !hasPrefix(left, n.label) {
			break
		}
		at, left = child, left[len(n.label):]
		if !n.answered {
			continue
		}
		last, rest = at, left
		r, err := c.reactionOf(child)
		if err != nil {
			return cur, Reaction{}, Input{}, false, err
		}
		served.Add(r)
		if c.states[n.conns][in.Conn].gone() {
			rest = nil // the remaining bytes reach nobody
			break
		}
	}
	if len(rest) == 0 {
		return last, served.Reaction, Input{}, true, nil
	}
	return last, served.Reaction, Input{Kind: Send, Conn: in.Conn, Data: rest}, false, nil
}

func (c *Cache) recordControl(from NodeID, in Input, r Reaction) (NodeID, error) {
	if in.Name != "" {
		tree, err := c.makeTree(from, in.Name, nil)
		if err != nil {
			return 0, err
		}
		group, name := from, in.Name
		in.Name = ""
		to, err := c.recordControl(tree, in, r)
		for k := 0; k < len(r.Opened) && err == nil; k++ {
			_, err = c.makeTree(group, OpenedName(name, k), c.states[c.nodes[to].conns][1+k:2+k])
		}
		return to, err
	}
	if child, ok := c.control(from, in); ok {
		want, err := c.reactionOf(child)
		if err == nil && !c.same(child, want, r) {
			err = c.repeatedDifferently(from, in, want, r)
		}
		return child, err
	}
	if err := c.reserve(from, 1, r.Size()+int64(len(in.Addr))); err != nil {
		return 0, err
	}
	n := node{parent: from, kind: in.Kind, conn: int32(in.Conn), label: strings.Clone(labelOf(in))}
	child := c.add(n)
	c.answer(child, from, r, false)
	return child, nil
}

// walk is how far recordSend has come.
type walk struct {
	base     NodeID   // the last answered node
	request  []byte   // what remained of the request there
	at       NodeID   // the last node
	left     []byte   // what remains of the request here
	reaction Reaction // what remains of the reaction, counted from base
}

// size is the memory that adding what remains of the walk takes, besides nodes.
func (w walk) size() int64 { return w.reaction.Size() + int64(len(w.left)) }

// recordSend walks down like lookupSend, but on through unverified nodes, taking
// from r what they have answered already, and adds what is new at the end.
func (c *Cache) recordSend(from NodeID, in Input, r Reaction) (NodeID, error) {
	w := walk{base: from, request: in.Data, at: from, left: in.Data, reaction: r}
	first := Root // the first answered node on the walk: the one that this run verifies
	for len(w.left) > 0 {
		child := c.child(sendEdge(w.at, in.Conn, w.left[0]))
		if child == Root || !hasPrefix(w.left, c.nodes[child].label) {
			break
		}
		n := &c.nodes[child]
		w.at, w.left = child, w.left[len(n.label):]
		if !n.answered {
			continue
		}
		if c.states[n.conns][in.Conn].gone() {
			w.left = nil // the remaining bytes reached nobody
		}
		known, err := c.reactionOf(child)
		if err != nil {
			return 0, err
		}
		if len(w.left) == 0 && c.same(child, known, w.reaction) {
			w.reaction = known
		}
		remainder, ok := c.unmasked(child, w.reaction, known).Minus(known)
		if !ok || len(w.left) == 0 && !remainder.Empty() {
			return 0, c.contradiction(child, known, w, in.Conn)
		}
		if first == Root {
			first = child
		}
		w.base, w.request, w.reaction = child, w.left, remainder
	}
	to, err := c.finishSend(w, in.Conn, w.base != from)
	if err == nil && first != Root && c.nodes[first].unverified {
		c.nodes[first].unverified = false
		c.changes++
	}
	return to, err
}

// finishSend makes the place where the walk has ended, if there is none yet.
func (c *Cache) finishSend(w walk, conn int, unverified bool) (NodeID, error) {
	if len(w.left) == 0 {
		if c.nodes[w.at].answered {
			return w.at, nil
		}
		return c.answerBranch(w, conn, Root, unverified)
	}
	child := c.child(sendEdge(w.at, conn, w.left[0]))
	if child == Root {
		return c.addLeaf(w, conn, unverified)
	}
	common := commonPrefix(c.nodes[child].label, w.left)
	if common == len(w.left) { // the request ends in the middle of the edge
		return c.answerBranch(w, conn, child, unverified)
	}
	if err := c.reserve(w.base, 2, w.size()); err != nil {
		return 0, err
	}
	w.at, w.left = c.split(child, common), w.left[common:]
	return c.addLeaf(w, conn, unverified)
}

// addLeaf adds what remains of the request as a new edge.
func (c *Cache) addLeaf(w walk, conn int, unverified bool) (NodeID, error) {
	if err := c.reserve(w.base, 1, w.size()); err != nil {
		return 0, err
	}
	leaf := c.add(node{parent: w.at, kind: Send, conn: int32(conn), label: string(w.left)})
	c.answer(leaf, w.base, w.reaction, unverified)
	return leaf, nil
}

// answerBranch makes a place of the branching point at which the walk has ended
// or, if cut is not the Root, of the point in the edge to cut where it has ended.
// Nodes below now count their reactions from there, and await verification.
func (c *Cache) answerBranch(w walk, conn int, cut NodeID, unverified bool) (NodeID, error) {
	if err := c.reserve(w.base, 1, w.size()); err != nil {
		return 0, err
	}
	place, tops := w.at, []NodeID{cut}
	if cut == Root {
		tops = c.children(place)
	}
	below := c.answeredBelow(tops)
	remainders := make([]Reaction, len(below))
	for i, n := range below {
		known, err := c.reactionOf(n)
		if err != nil {
			return 0, err
		}
		remainder, ok := c.unmasked(n, known, w.reaction).Minus(w.reaction)
		if !ok {
			return 0, c.contradiction(n, known, w, conn)
		}
		remainders[i] = remainder
	}
	if cut != Root {
		place = c.split(cut, len(w.left))
	}
	for i, n := range below {
		c.setReaction(n, remainders[i])
		c.nodes[n].unverified = true
	}
	c.answer(place, w.base, w.reaction, unverified)
	return place, nil
}

// contradiction is the error for a walk that does not agree with the reaction of
// the node known, whose base is the walk's.
func (c *Cache) contradiction(known NodeID, want Reaction, w walk, conn int) error {
	earlier := c.inputOf(known)
	path, err := c.Path(c.Tree(w.base), w.base)
	if err != nil {
		return err
	}
	return &Inconsistency{
		Path:    path,
		Earlier: earlier,
		Now:     Input{Kind: Send, Conn: conn, Data: w.request},
		Cut:     c.nodes[known].unverified || !bytes.Equal(earlier.Data, w.request),
		Want:    want,
		Got:     w.reaction,
	}
}

// answeredBelow lists the nearest answered nodes at or below the given ones.
func (c *Cache) answeredBelow(tops []NodeID) []NodeID {
	var answered []NodeID
	for stack := slices.Clone(tops); len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if c.nodes[n].answered {
			answered = append(answered, n)
		} else {
			stack = append(stack, c.children(n)...)
		}
	}
	return answered
}

// answer gives a node a copy of its reaction, counted from base, and so makes it a place.
func (c *Cache) answer(n, base NodeID, r Reaction, unverified bool) {
	d := &c.nodes[n]
	conns, changed := advance(c.states[c.nodes[base].conns], Input{Kind: d.kind, Conn: int(d.conn)}, r)
	if d.conns = c.nodes[base].conns; changed {
		d.conns = c.shareStates(conns)
	}
	d.answered, d.unverified, d.answer = true, unverified, c.shareAnswer(r)
	c.changes++
}

// add appends a node and links it below its parent.
func (c *Cache) add(n node) NodeID {
	id := NodeID(len(c.nodes))
	n.label = c.shareLabel(n.label, id)
	return c.link(n)
}

// link is add for a label that is shared already.
func (c *Cache) link(n node) NodeID {
	id := NodeID(len(c.nodes))
	n.nextSibling = c.nodes[n.parent].firstChild
	c.nodes = append(c.nodes, n)
	c.nodes[n.parent].firstChild = id
	c.edges.insert(c.hashOf(c.edgeTo(id)), int32(id))
	c.bytes += nodeBytes
	return id
}

// split puts a branching point into the edge to child, after length bytes.
func (c *Cache) split(child NodeID, length int) NodeID {
	parent, conn, label := c.nodes[child].parent, c.nodes[child].conn, c.nodes[child].label
	if length <= 0 || length >= len(label) {
		invariant.Failf("iocache: split of an edge of %d bytes after %d", len(label), length)
	}
	c.unlink(child)
	branch := c.link(node{parent: parent, kind: Send, conn: conn, label: label[:length]})
	c.nodes[child].parent, c.nodes[child].label = branch, label[length:]
	c.nodes[child].nextSibling, c.nodes[branch].firstChild = Root, child
	c.edges.insert(c.hashOf(c.edgeTo(child)), int32(child))
	return branch
}

// unlink takes a node out of its parent's list of children, and out of the table of edges.
func (c *Cache) unlink(child NodeID) {
	c.edges.remove(c.hashOf(c.edgeTo(child)), int32(child))
	link := &c.nodes[c.nodes[child].parent].firstChild
	for *link != child {
		link = &c.nodes[*link].nextSibling
	}
	*link = c.nodes[child].nextSibling
}

func (c *Cache) children(n NodeID) []NodeID {
	var children []NodeID
	for child := c.nodes[n].firstChild; child != Root; child = c.nodes[child].nextSibling {
		children = append(children, child)
	}
	return children
}

// control finds the child of any input but a Send.
func (c *Cache) control(from NodeID, in Input) (NodeID, bool) {
	if in.Name != "" {
		tree, ok := c.tree(from, in.Name)
		if !ok {
			return 0, false
		}
		from = tree
	}
	e := edge{from: from, kind: in.Kind, conn: int32(in.Conn), label: labelOf(in)}
	child := c.child(e)
	return child, child != Root
}

// child is where an edge leads; Root: there is none.
func (c *Cache) child(e edge) NodeID {
	return NodeID(c.edges.find(c.hashOf(e), func(n int32) bool {
		d := &c.nodes[n]
		if d.parent != e.from || d.conn != e.conn || d.kind != e.kind {
			return false
		}
		if e.kind == Send {
			return d.label[0] == e.first
		}
		return d.label == e.label
	}))
}

// edgeTo is the edge that leads to n.
func (c *Cache) edgeTo(n NodeID) edge {
	d := &c.nodes[n]
	if d.kind == Send {
		return sendEdge(d.parent, int(d.conn), d.label[0])
	}
	return edge{from: d.parent, conn: d.conn, kind: d.kind, label: d.label}
}

func (c *Cache) hashOf(e edge) uint32 {
	const a, b = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9 // any odd numbers whose bits are mixed
	h := (uint64(uint32(e.from))*a ^ uint64(uint32(e.conn))<<16 ^ uint64(e.kind)<<8 ^ uint64(e.first)) * b
	if e.label != "" {
		h = (h ^ maphash.String(c.seed, e.label)) * b
	}
	return uint32(h >> 32)
}

// base is the nearest answered node above n, which must not be the root.
func (c *Cache) base(n NodeID) NodeID {
	for n = c.nodes[n].parent; !c.nodes[n].answered; {
		n = c.nodes[n].parent
	}
	return n
}

// inputOf is the input that leads from the base of n to n.
func (c *Cache) inputOf(n NodeID) Input {
	in := c.stepOf(n)
	p := c.nodes[n].parent
	for ; !c.nodes[p].answered; p = c.nodes[p].parent {
		in.Data = append([]byte(c.nodes[p].label), in.Data...)
	}
	if c.nodes[p].kind == top {
		in.Name = c.nodes[p].label
	}
	return in
}

// stepOf is the input that leads from the parent of n to n.
func (c *Cache) stepOf(n NodeID) Input {
	d := &c.nodes[n]
	in := Input{Kind: d.kind, Conn: int(d.conn)}
	switch {
	case d.kind == Send:
		in.Data = []byte(d.label)
	case in.Opens():
		in.Addr = d.label
	case d.kind == Pass && d.label != "":
		n, err := strconv.ParseInt(d.label, 10, 64)
		if err != nil {
			invariant.Failf("iocache: the label of a place is damaged: %v", err)
		}
		in.Most = time.Duration(n)
	}
	return in
}

// labelOf is what tells the edge of an input, but a Send, from others of its kind on its
// connection.
func labelOf(in Input) string {
	if in.Kind == Pass && in.Most != 0 {
		return strconv.FormatInt(int64(in.Most), 10)
	}
	return in.Addr
}

func (c *Cache) mustBePlace(n NodeID) {
	if n < 0 || int(n) >= len(c.nodes) || !c.nodes[n].answered {
		invariant.Failf("iocache: there is no place %d", n)
	}
}

func sendEdge(from NodeID, conn int, first byte) edge {
	return edge{from: from, kind: Send, conn: int32(conn), first: first}
}

func hasPrefix(data []byte, prefix string) bool {
	return len(data) >= len(prefix) && string(data[:len(prefix)]) == prefix
}

func commonPrefix[A, B []byte | string](a A, b B) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
