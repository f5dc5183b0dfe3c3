package iocache

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/internal/invariant"
)

// Scope says what an answer of the peers may depend on.
type Scope uint8

// The scopes.
const (
	Group      Scope = iota // on all inputs to the group, in their order
	Connection              // on the inputs on the same connection only
)

// String names the scope as configurations do.
func (s Scope) String() string {
	if s == Connection {
		return "connection"
	}
	return "group"
}

// Cursor is where an execution stands in the cache, in either scope. Connections are numbered by
// the order in which the execution opens them.
type Cursor struct {
	cache *Cache
	scope Scope
	at    Position // in connection scope at[1+n] is the place of connection n
	last  int      // in at, of the place that the last input led to
}

// Rewind puts the cursor back to the start.
func (x *Cursor) Rewind() { x.at, x.last = append(x.at[:0], Root), 0 }

// CursorAt returns a cursor that stands where one in a copy of the cache does. The copy may lack
// what was recorded last. The error says why nobody can stand there, or give the input there.
func CursorAt(c *Cache, s Scope, at Position, in Input) (*Cursor, error) {
	for i, n := range at {
		if !c.HasPlace(n) {
			return nil, fmt.Errorf("iocache: there is no place %d", n)
		}
		if (i == 0) != (c.Tree(n) == Root) || slices.ContainsFunc(at[:i], func(other NodeID) bool {
			return c.Tree(other) == c.Tree(n)
		}) {
			return nil, fmt.Errorf("iocache: place %d of %v is in the tree of another one", i, at)
		}
	}
	if len(at) == 0 || s == Group && len(at) > 1 {
		return nil, fmt.Errorf("iocache: nobody stands at %d places in scope %v", len(at), s)
	}
	x := &Cursor{cache: c, scope: s, at: slices.Clone(at)}
	tree := 0
	if s == Connection && in.Kind != Choose {
		tree = 1 + in.Conn
		if named := in.Name != ""; in.Conn < 0 || tree > len(at) || in.Opens() != named ||
			named != (tree == len(at)) {
			return nil, fmt.Errorf("iocache: %v, and %d connections were opened", in, len(at)-1)
		}
	}
	_, local := x.localise(in)
	from := at[0]
	if tree < len(at) {
		from = at[tree]
	}
	if objection := c.place(from).objection(&local); objection != "" {
		return nil, errors.New("iocache: " + objection)
	}
	return x, nil
}

// At is where the cursor stands. The position is valid until it moves on.
func (x *Cursor) At() Position { return x.at }

// Node is the place that the last input led to.
func (x *Cursor) Node() NodeID { return x.at[x.last] }

// Lookup answers an input as Cache.Lookup does. The rest of a miss is the input that the
// group must be given when it stands At the execution's places. In connection scope a Connect
// needs its Name.
func (x *Cursor) Lookup(in Input) (served Reaction, rest Input, hit bool, err error) {
	i, local := x.localise(in)
	cur := x.at[0]
	if i < len(x.at) {
		cur, x.last = x.at[i], i
	}
	next, served, rest, hit, err := x.cache.Lookup(cur, local)
	if err != nil {
		return Reaction{}, Input{}, false, err
	}
	if next != cur {
		x.move(i, next)
	}
	if rest.Kind != 0 {
		rest.Conn = in.Conn
	}
	if hit {
		x.adopt(in, served)
	}
	return x.globalise(served, in), rest, hit, nil
}

// adopt gives places to the connections that the group has opened in its reaction to an input.
// Each begins in the tree that is named after the listener, or is unknown if the cache has none.
func (x *Cursor) adopt(in Input, r Reaction) {
	for k := range r.Opened {
		if x.scope == Group {
			return
		}
		tree, ok := x.cache.treeOf(x.at[0], OpenedName(in.Name, k))
		if !ok {
			tree = unknown
		}
		x.at = append(x.at, tree)
	}
}

// Record adds what the group has answered to in, as Cache.Record does, and moves
// behind it. The entry is what was recorded, for a file. In connection scope an answer on
// another connection than that of the input is a *Dependence.
func (x *Cursor) Record(in Input, r Reaction) (Entry, error) {
	i, local := x.localise(in)
	at := x.at[0]
	if i < len(x.at) {
		at = x.at[i]
	}
	if i > 0 {
		var err error
		if r, err = Own(r, in); err != nil {
			return Entry{}, err
		}
	}
	next, err := x.cache.Record(at, local, r)
	if err != nil {
		return Entry{}, err
	}
	x.move(i, next)
	x.adopt(in, r)
	return Entry{At: at, Input: local, Reaction: r}, nil
}

// Compare goes on with an input that was answered elsewhere. Known is whether the cache has an
// answer to it; if that is another one, the error is an *Inconsistency, or a *Dependence if
// something arrived on another connection. After an input that is not known, none on that
// connection is.
func (x *Cursor) Compare(in Input, got Reaction) (known bool, err error) {
	i, local := x.localise(in)
	if i > 0 {
		if got, err = Own(got, in); err != nil {
			return false, err
		}
	}
	cur := x.at[0]
	if i < len(x.at) {
		cur = x.at[i]
	}
	defer x.adopt(in, got)
	if cur == unknown {
		x.move(i, unknown)
		return false, nil
	}
	var f found
	if err := x.cache.lookup(cur, &local, &f); err != nil {
		return false, err
	}
	if !f.hit {
		x.move(i, unknown)
		return false, nil
	}
	x.move(i, f.next)
	if got = got.Normal(); !x.cache.same(f.next, f.served, got) {
		err := x.cache.repeatedDifferently(cur, local, f.served, got)
		if i, ok := err.(*Inconsistency); ok {
			i.Reordered = true
		}
		return true, err
	}
	return true, nil
}

// unknown is the place of a connection that the cache does not know.
const unknown NodeID = -1

// localise finds the tree of an input, as an index of at, and the input as it is there. In group
// scope there is one tree, and numbers stay as they are. In connection scope the tree is that of
// the connection, which has number 0 in it; an input that opens a connection begins a tree by its
// name.
func (x *Cursor) localise(in Input) (int, Input) {
	if x.scope == Group || in.Kind == Choose {
		in.Name = ""
		return 0, in
	}
	if in.Opens() != (in.Name != "") {
		invariant.Failf("iocache: in connection scope connects and listens have names, and nothing else "+
			"has: %v", in)
	}
	i := 1 + in.Conn
	if in.Conn < 0 || i > len(x.at) || in.Opens() != (i == len(x.at)) {
		invariant.Failf("iocache: %v, and %d connections were opened", in, len(x.at)-1)
	}
	in.Conn = 0
	return i, in
}

// Own is a reaction to an input as it is in the tree of the input's connection, which is number 0
// there. It is a *Dependence if something arrived on another connection. A Listen has what arrived
// on the connections that the group then opened with it; those follow it in number.
func Own(r Reaction, in Input) (Reaction, error) {
	r = r.Normal()
	last := in.Conn
	if in.Kind == Listen {
		last += len(r.Opened)
	}
	elsewhere := func(d Delivery) bool { return d.Conn < in.Conn || d.Conn > last }
	other := func(listener int) bool { return in.Kind != Listen || listener != in.Conn }
	if slices.ContainsFunc(r.Opened, other) || slices.ContainsFunc(r.Deliveries, elsewhere) {
		return r, &Dependence{Input: in, Reaction: r}
	}
	return shifted(r, -in.Conn), nil
}

// shifted is the reaction with other numbers for its connections.
func shifted(r Reaction, by int) Reaction {
	r.Deliveries, r.Opened = slices.Clone(r.Deliveries), slices.Clone(r.Opened) // the cache's own
	for i := range r.Deliveries {
		r.Deliveries[i].Conn += by
	}
	for i := range r.Opened {
		r.Opened[i] += by
	}
	return r
}

// globalise is the inverse of Own: it gives the connections of a reaction the numbers
// that they have in the execution.
func (x *Cursor) globalise(r Reaction, in Input) Reaction {
	if x.scope == Group || in.Conn == 0 || len(r.Deliveries)+len(r.Opened) == 0 {
		return r
	}
	return shifted(r, in.Conn)
}

// move notes that the place in tree i is another one, and that the last input led there. A tree
// that the cursor had no place in is added.
func (x *Cursor) move(i int, to NodeID) {
	if i == len(x.at) {
		x.at = append(x.at, to)
	}
	x.at[i], x.last = to, i
}

// Dependence says that an input on one connection made something arrive on another one, which
// connection scope assumes not to happen.
type Dependence struct {
	Input    Input
	Reaction Reaction
}

// Error says what has happened where.
func (e *Dependence) Error() string {
	return fmt.Sprintf("the connections to the peers depend on each other: after\n  %v\n"+
		"the peers did, on other connections too,\n  %v\n"+
		"Scope connection assumes that this does not happen. Use scope group", e.Input, e.Reaction)
}
