package iocache

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/tandem-mc/tandem/internal/invariant"
)

// placeTree is the tree of all inputs and reactions so far. What many nodes have is there once:
// labels, states of all connections, and answers.
type placeTree struct {
	answerStore
	nodes      []node
	edges      index // all nodes' children in one table: a step costs one access
	labels     index // by a node that has the label
	states     [][]connState
	stateIndex index
	masks      []Mask
	// changes counts the places that were made and verified, for Follow.
	changes int
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

// labelOf is what tells the edge of an input, but a Send, from others of its kind on its
// connection.
func labelOf(in Input) string {
	if in.Kind == Pass && in.Most != 0 {
		return strconv.FormatInt(int64(in.Most), 10)
	}
	return in.Addr
}

// sendEdge is the edge of requests on a connection that begin with a byte.
func sendEdge(from NodeID, conn int, first byte) edge {
	return edge{from: from, kind: Send, conn: int32(conn), first: first}
}

// hasPrefix reports whether a request begins with a label, without copying either.
func hasPrefix(data []byte, prefix string) bool {
	return len(data) >= len(prefix) && string(data[:len(prefix)]) == prefix
}

// commonPrefix is how many bytes two texts have in common at their beginning.
func commonPrefix[A, B []byte | string](a A, b B) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// answeredBelow lists the nearest answered nodes at or below the given ones.
func (t *placeTree) answeredBelow(tops []NodeID) []NodeID {
	var answered []NodeID
	for stack := slices.Clone(tops); len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if t.nodes[n].answered {
			answered = append(answered, n)
		} else {
			stack = append(stack, t.children(n)...)
		}
	}
	return answered
}

// answer gives a node a copy of its reaction, counted from base, and so makes it a place.
func (t *placeTree) answer(n, base NodeID, r Reaction, unverified bool) {
	d := &t.nodes[n]
	conns, changed := advance(t.states[t.nodes[base].conns], Input{Kind: d.kind, Conn: int(d.conn)}, r)
	if d.conns = t.nodes[base].conns; changed {
		d.conns = t.shareStates(conns)
	}
	d.answered, d.unverified, d.answer = true, unverified, t.shareAnswer(r)
	t.changes++
}

// add appends a node and links it below its parent. Nodes are never removed, so numbers stay
// valid.
func (t *placeTree) add(n node) NodeID {
	id := NodeID(len(t.nodes))
	n.label = t.shareLabel(n.label, id)
	return t.link(n)
}

// link is add for a label that is shared already.
func (t *placeTree) link(n node) NodeID {
	id := NodeID(len(t.nodes))
	n.nextSibling = t.nodes[n.parent].firstChild
	t.nodes = append(t.nodes, n)
	t.nodes[n.parent].firstChild = id
	t.edges.insert(t.hashOf(t.edgeTo(id)), int32(id))
	t.bytes += nodeBytes
	return id
}

// split puts a branching point into the edge to child, after length bytes. The child keeps its
// number and its reaction, which is still counted from the same base, since a branching point is
// no place.
func (t *placeTree) split(child NodeID, length int) NodeID {
	parent, conn, label := t.nodes[child].parent, t.nodes[child].conn, t.nodes[child].label
	if length <= 0 || length >= len(label) {
		invariant.Failf("iocache: split of an edge of %d bytes after %d", len(label), length)
	}
	t.unlink(child)
	branch := t.link(node{parent: parent, kind: Send, conn: conn, label: label[:length]})
	t.nodes[child].parent, t.nodes[child].label = branch, label[length:]
	t.nodes[child].nextSibling, t.nodes[branch].firstChild = Root, child
	t.edges.insert(t.hashOf(t.edgeTo(child)), int32(child))
	return branch
}

// unlink takes a node out of its parent's list of children, and out of the table of edges.
func (t *placeTree) unlink(child NodeID) {
	t.edges.remove(t.hashOf(t.edgeTo(child)), int32(child))
	link := &t.nodes[t.nodes[child].parent].firstChild
	for *link != child {
		link = &t.nodes[*link].nextSibling
	}
	*link = t.nodes[child].nextSibling
}

// children lists the children of a node, the youngest first.
func (t *placeTree) children(n NodeID) []NodeID {
	var children []NodeID
	for child := t.nodes[n].firstChild; child != Root; child = t.nodes[child].nextSibling {
		children = append(children, child)
	}
	return children
}

// control finds the child of any input but a Send.
func (t *placeTree) control(from NodeID, in *Input) (NodeID, bool) {
	if in.Name != "" {
		tree, ok := t.treeOf(from, in.Name)
		if !ok {
			return 0, false
		}
		from = tree
	}
	e := edge{from: from, kind: in.Kind, conn: int32(in.Conn), label: labelOf(*in)}
	child := t.child(e)
	return child, child != Root
}

// child is where an edge leads; Root: there is none.
func (t *placeTree) child(e edge) NodeID {
	return NodeID(t.edges.find(t.hashOf(e), func(n int32) bool {
		d := &t.nodes[n]
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
func (t *placeTree) edgeTo(n NodeID) edge {
	d := &t.nodes[n]
	if d.kind == Send {
		return sendEdge(d.parent, int(d.conn), d.label[0])
	}
	return edge{from: d.parent, conn: d.conn, kind: d.kind, label: d.label}
}

// hashOf is the hash of an edge. Equal edges have equal hashes in one cache.
func (t *placeTree) hashOf(e edge) uint32 {
	const a, b = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9 // any odd numbers whose bits are mixed
	h := (uint64(uint32(e.from))*a ^ uint64(uint32(e.conn))<<16 ^ uint64(e.kind)<<8 ^ uint64(e.first)) * b
	if e.label != "" {
		h = (h ^ maphash.String(t.seed, e.label)) * b
	}
	return uint32(h >> 32)
}

// base is the nearest answered node above n, which must not be the root.
func (t *placeTree) base(n NodeID) NodeID {
	for n = t.nodes[n].parent; !t.nodes[n].answered; {
		n = t.nodes[n].parent
	}
	return n
}

// inputOf is the input that leads from the base of n to n.
func (t *placeTree) inputOf(n NodeID) Input {
	in := t.stepOf(n)
	p := t.nodes[n].parent
	for ; !t.nodes[p].answered; p = t.nodes[p].parent {
		in.Data = append([]byte(t.nodes[p].label), in.Data...)
	}
	if t.nodes[p].kind == top {
		in.Name = t.nodes[p].label
	}
	return in
}

// stepOf is the input that leads from the parent of n to n.
func (t *placeTree) stepOf(n NodeID) Input {
	d := &t.nodes[n]
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

// mustBePlace is for numbers that callers give: they must be those of places that the cache has
// given out.
func (t *placeTree) mustBePlace(n NodeID) {
	if n < 0 || int(n) >= len(t.nodes) || !t.nodes[n].answered {
		invariant.Failf("iocache: there is no place %d", n)
	}
}

// place is what decides which inputs can be given at a node.
func (t *placeTree) place(n NodeID) place {
	d := &t.nodes[n]
	return place{d.kind, t.states[d.conns]}
}

// setReaction replaces the reaction of a node.
func (t *placeTree) setReaction(n NodeID, r Reaction) {
	earlier := t.nodes[n].answer
	t.nodes[n].answer = t.shareAnswer(r)
	t.release(earlier)
}

// Tree is the place where the tree of n begins: the Root, or that which names a connection.
func (t *placeTree) Tree(n NodeID) NodeID {
	for !t.isTop(n) {
		n = t.nodes[n].parent
	}
	return n
}

// Name is that of the connection in whose tree n is; empty in the tree of the group.
func (t *placeTree) Name(n NodeID) string { return t.nodes[t.Tree(n)].label }

// isTop reports whether a tree begins at n: that of the group, or that of a connection.
func (t *placeTree) isTop(n NodeID) bool { return n == Root || t.nodes[n].kind == top }

// treeOf finds the tree of a connection of a group that was started at from.
func (t *placeTree) treeOf(from NodeID, name string) (NodeID, bool) {
	tree := t.child(edge{from: from, kind: top, label: name})
	return tree, tree != Root
}

// inputsTo is how many inputs lead to n from the top of its tree.
func (t *placeTree) inputsTo(n NodeID) (inputs int) {
	for ; !t.isTop(n); n = t.base(n) {
		inputs++
	}
	return inputs
}

// afterSend is the place where a request ends, verified or not.
func (t *placeTree) afterSend(at NodeID, in Input) (NodeID, bool) {
	for left := in.Data; len(left) > 0; {
		child := t.child(sendEdge(at, in.Conn, left[0]))
		if child == Root || !hasPrefix(left, t.nodes[child].label) {
			n := &t.nodes[at]
			conns := t.states[n.conns]
			// then what is left reaches nobody
			return at, n.answered && in.Conn < len(conns) && conns[in.Conn].gone()
		}
		at, left = child, left[len(t.nodes[child].label):]
	}
	return at, t.nodes[at].answered
}

// reactionOf is the reaction of a node. The error is a *SpillError.
func (t *placeTree) reactionOf(n NodeID) (Reaction, error) { return t.read(t.nodes[n].answer) }

// shareLabel is a label equal to that of a node to be, of which the memory is then shared.
func (t *placeTree) shareLabel(label string, of NodeID) string {
	if label == "" {
		return ""
	}
	hash := uint32(maphash.String(t.seed, label))
	if same := t.labels.find(hash, func(n int32) bool { return t.nodes[n].label == label }); same != 0 {
		return t.nodes[same].label
	}
	t.labels.insert(hash, int32(of))
	t.bytes += labelBytes + int64(len(label))
	return label
}

// shareStates is the number of states equal to conns.
func (t *placeTree) shareStates(conns []connState) stateID {
	if len(conns) == 0 {
		return 0
	}
	hash := uint32(len(conns))
	for _, s := range conns {
		hash = hash*0x01000193 ^ uint32(s)
	}
	id := t.stateIndex.find(hash, func(n int32) bool { return slices.Equal(t.states[n], conns) })
	if id == 0 {
		id = int32(len(t.states))
		t.states = append(t.states, conns)
		t.stateIndex.insert(hash, id)
		t.bytes += stateBytes + int64(cap(conns))
	}
	return stateID(id)
}
