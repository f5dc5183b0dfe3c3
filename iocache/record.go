package iocache

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
)

// found is what the cache has of the answer to an input, as Lookup returns it.
type found struct {
	next   NodeID
	served Reaction
	rest   Input
	hit    bool
}

// lookup looks an input up. It is given where to put what it finds, and takes the input by its
// address, since both are large and every hit comes by here.
func (c *Cache) lookup(cur NodeID, in *Input, f *found) (err error) {
	at := c.place(cur)
	at.mustAccept(in)
	f.next = cur
	switch {
	case !at.reaches(in):
		f.hit = true
	case in.Kind == Send:
		return c.lookupSend(in, f)
	default:
		child, ok := c.control(cur, in)
		if !ok {
			f.rest = *in
			return nil
		}
		f.next = child
		f.served, err = c.reactionOf(child)
		f.hit = err == nil
	}
	return err
}

// lookupSend walks down while bytes and edges agree. The walk may pass branching
// points; what counts is the last answered node.
func (c *Cache) lookupSend(in *Input, f *found) error {
	var served model.Joined // of several answers
	answers, rest := 0, in.Data
	at, left := f.next, in.Data
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
		f.next, rest = at, left // the last answered node and what is left there
		r, err := c.reactionOf(child)
		if err != nil {
			return err
		}
		switch answers++; answers {
		case 1: // mostly it is the only one
			f.served = r
		case 2:
			served.Add(f.served)
			fallthrough
		default:
			served.Add(r)
		}
		if c.states[n.conns][in.Conn].gone() {
			rest = nil // the remaining bytes reach nobody
			break
		}
	}
	if answers > 1 {
		f.served = served.Reaction
	}
	if f.hit = len(rest) == 0; !f.hit {
		f.rest = Input{Kind: Send, Conn: in.Conn, Data: rest}
	}
	return nil
}

// recordControl adds the answer to any input but a Send: one edge. With a name the input begins a
// tree of its own, and so do the connections that the peers have opened in their reaction.
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
	if child, ok := c.control(from, &in); ok {
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

// Requests are matched as streams of bytes, so edges by Send are cut where requests end, as in a
// radix tree. An example: a program has sent "GET a" in one write, and the answer was "200". Then
// another execution sends "GE", to which there was no answer, and "T b", answered by "404":
//
//	before                        after
//
//	   |                           |
//	   | "GET a"                   | "GE" (a place: the group was there)
//	   |                           |
//	  200                          o "T " (a branching point: it was never there)
//	                              / \
//	                         "a" /   \ "b"
//	                           200   404
//
// The place after "GE" was asked about, so it has a reaction, here an empty one. What was recorded
// below it is now counted from there: "T a" is answered by what remains of "200" after the answer
// to "GE". That was not observed from a group that stood at that place. It is unverified until an
// execution takes that way with the real peers: their answer has to be the remainder, or the two
// contradict each other (Inconsistency). The node in the middle was never observed at all. It has
// no reaction, is never given out, and a lookup that ends there is a miss from the place above.
//
// A reaction is always counted from the nearest place above, its base. What a longer request was
// answered has to begin with what its beginning was answered; wherever both are known this is
// checked.

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

// reserve makes sure that there is room for nodes below base, and for bytes that
// they point to.
func (c *Cache) reserve(base NodeID, nodes int, bytes int64) error {
	states := int64(len(c.states[c.nodes[base].conns])+1) + stateBytes
	needed := bytes + states + answerBytes + int64(nodes)*(nodeBytes+labelBytes)
	o := &c.outage
	failed := o.failed
	if c.bytes+needed > c.limits.Bytes {
		c.makeRoom(needed, c.limits.Bytes)
	}
	if o.err != nil && o.failed == failed && !c.hasRoom(needed) { // perhaps the store works again by now
		o.next = 0
		c.makeRoom(needed, c.limits.Bytes)
	}
	hasRoom, over := c.hasRoom(needed), c.bytes+needed-c.limits.Bytes
	isWide := len(c.nodes)+nodes > c.limits.Nodes
	if isWide || !hasRoom {
		full := &LimitError{Limits: c.limits, Nodes: len(c.nodes), Bytes: c.bytes}
		if !isWide { // else no room in the store would help: places stay in memory
			full.Store = o.err
		}
		return full
	}
	if o.err != nil {
		o.exceeded = max(o.exceeded, over)
	}
	return nil
}

// hasRoom reports whether the cache may hold so many bytes more. A roomy one has no limit while its
// store works. When that fails it may hold a quarter of the limit more than it does then.
func (c *Cache) hasRoom(needed int64) bool {
	over, most := c.bytes+needed-c.limits.Bytes, c.outage.beyond(c.limits.Bytes)
	if c.isRoomy {
		most += max(0, c.outage.began-c.limits.Bytes)
	}
	return over <= most || c.isRoomy && c.outage.err == nil
}

// repeatedDifferently is the error for a request that was answered in two ways.
func (c *Cache) repeatedDifferently(base NodeID, in Input, want, got Reaction) error {
	path, err := c.Path(c.Tree(base), base)
	if err != nil {
		return err
	}
	return &Inconsistency{Path: path, Earlier: in, Now: in, Want: want, Got: got}
}

// makeTree makes the tree of a connection, if there is none yet. It begins with the states conns:
// of a connection that the peers have opened, there is one.
func (c *Cache) makeTree(from NodeID, name string, conns []connState) (NodeID, error) {
	if tree, ok := c.treeOf(from, name); ok {
		return tree, nil
	}
	if err := c.reserve(from, 2, int64(len(name))); err != nil { // with the place after the connect
		return 0, err
	}
	return c.add(node{parent: from, kind: top, label: strings.Clone(name), answered: true,
		conns: c.shareStates(conns)}), nil
}

// Restore records what a file says was recorded. If all entries before it in the file were
// restored, in order, places get the numbers that they had: these numbers are what entries name
// places by. An error means that this cannot be the next entry, or that there is no room; the
// cache is as it was before.
func (c *Cache) Restore(e Entry) error {
	if e.At < 0 || int(e.At) >= len(c.nodes) || !c.nodes[e.At].answered {
		return fmt.Errorf("iocache: a record follows place %d, which there is not", e.At)
	}
	if objection := c.place(e.At).objection(&e.Input); objection != "" {
		return errors.New("iocache: " + objection)
	}
	_, err := c.Record(e.At, e.Input, e.Reaction)
	return err
}

// Follow records what another cache has just recorded, at the place to which the same inputs lead
// here. The entry is what was recorded, for a file; isNew is false if it was known, and then
// nothing has changed. An *Inconsistency says that the caches have other answers.
func (c *Cache) Follow(other *Cache, e Entry) (here Entry, isNew bool, err error) {
	at, ok := c.counterpart(other, e.At)
	if !ok || c.place(at).objection(&e.Input) != "" {
		return e, false, fmt.Errorf("iocache: the inputs that lead to place %d do not lead anywhere in "+
			"the other cache", e.At)
	}
	e.At = at
	before := c.changes
	_, err = c.Record(at, e.Input, e.Reaction)
	return e, c.changes != before, err
}

// counterpart is the place to which the inputs lead that lead to n in the other cache.
func (c *Cache) counterpart(other *Cache, n NodeID) (at NodeID, ok bool) {
	var way []NodeID
	for ; n != Root; n = other.base(n) {
		way = append(way, n)
	}
	for _, n := range slices.Backward(way) {
		in := other.inputOf(n)
		in.Name = "" // the tree is that of the connection
		switch {
		case other.isTop(n):
			at, ok = c.treeOf(at, other.nodes[n].label)
		case in.Kind == Send:
			at, ok = c.afterSend(at, in)
		default:
			at, ok = c.control(at, &in)
		}
		if !ok {
			return at, false
		}
	}
	return at, true
}
