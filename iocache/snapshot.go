package iocache

import (
	"cmp"
	"container/heap"
	"slices"
)

// Snapshot is a bounded part of a cache, as people look at it. A place comes after the one above
// it, and right before what is below it. Below a place the path comes first, then what most
// executions came by, then the order is that of the inputs. So nothing depends on when each place
// was made. What peers have drawn at random, such as keys, decides last.
type Snapshot struct {
	Places []Place
	// LeftOut is how many more there are.
	LeftOut int
}

// Place is a place of a Snapshot: an input with its answer.
type Place struct {
	Node   NodeID
	Parent int // index of the place above; -1: it is the Root
	// Input leads here from the place above. Where the tree of a connection begins, it has nothing
	// but the Name; at the Root, not even that.
	Input    Input
	Reaction Reaction
	// Connections is how many connections and listeners there are by now, in this tree.
	Connections int
	// Given is which of the inputs of View.Path led here; -1: none did.
	Given int
	// Hits is how many of the executions that gave the input were answered by the cache.
	Hits int
	// Image is the backend that has taken the checkpoint that is here; empty: there is none.
	// Restores is how often a group was restored from here, Starts how often one was started.
	Image            string
	Restores, Starts int
}

// View says what a Snapshot is to show. Places that no execution has come by, that are not on the
// path, and that were not known before are never shown: nothing in the search rests on them.
type View struct {
	// Path are the places that an execution was led to by its inputs, in order. They are never left
	// out.
	Path []NodeID
	// Ends is how many executions ended at a place, by its number; in connection scope each ends in
	// several trees. What is beyond the end is 0.
	Ends []uint32
	// Known is how many nodes the cache had before these executions. What is there was answered by
	// the cache the first time, too.
	Known int
	// Most is how many places there are to be at most, but for the path.
	Most int
}

// SnapshotOf shows the places that most executions came by: those of the path, and then from the
// top always the next one that most did. It takes time and memory in proportion to the whole cache.
// The error is a *SpillError.
func SnapshotOf(c *Cache, v View) (*Snapshot, error) {
	s := snapshot{cache: c, view: v, given: map[NodeID]int{}, kept: map[NodeID]bool{}}
	s.findPath()
	s.count()
	s.keep()
	if err := s.add(Root, -1); err != nil {
		return nil, err
	}
	s.result.LeftOut = s.eligible - len(s.result.Places)
	return &s.result, nil
}

// snapshot is one under way. Slices are by the number of a node.
type snapshot struct {
	cache  *Cache
	view   View
	given  map[NodeID]int // of nodes on the path: the index of the input that led there
	visits []uint32       // executions that came by
	shown  []bool         // nodes that may be shown, and what is above them
	// eligible counts the places that may be, kept has those that are, and result what was added.
	eligible int
	kept     map[NodeID]bool
	result   Snapshot
}

// findPath goes up from each place of the path to what is known of it already.
func (s *snapshot) findPath() {
	c := s.cache
	s.given[Root] = -1
	for i, n := range s.view.Path {
		c.mustBePlace(n)
		for {
			if _, ok := s.given[n]; ok {
				break
			}
			// A program that chooses how the peers behave gives them nothing.
			if s.given[n] = i; c.isTop(n) || c.nodes[n].kind == Choose {
				s.given[n] = -1
			}
			n = c.nodes[n].parent
		}
	}
}

// count counts who came by each node, and which places may be shown.
func (s *snapshot) count() {
	c := s.cache
	s.visits, s.shown = make([]uint32, len(c.nodes)), make([]bool, len(c.nodes))
	copy(s.visits, s.view.Ends)
	order := make([]NodeID, 1, len(c.nodes)) // what is above comes before what is below
	for i := 0; i < len(order); i++ {
		for n := c.nodes[order[i]].firstChild; n != Root; n = c.nodes[n].nextSibling {
			order = append(order, n)
		}
	}
	for _, n := range slices.Backward(order) {
		_, onPath := s.given[n]
		s.shown[n] = s.shown[n] || onPath || s.visits[n] > 0 || int(n) < s.view.Known
		if s.shown[n] && c.nodes[n].answered {
			s.eligible++
		}
		if n == Root {
			return
		}
		parent := c.nodes[n].parent
		s.shown[parent] = s.shown[parent] || s.shown[n]
		// Whoever ends in the tree of a connection ends at the Root, too.
		if !c.isTop(n) {
			s.visits[parent] += s.visits[n]
		}
	}
}

// keep chooses the places.
func (s *snapshot) keep() {
	room := s.view.Most
	for n := range s.given {
		if s.cache.nodes[n].answered {
			s.kept[n] = true
			room--
		}
	}
	next := &byVisits{s: s, list: []waiting{{Root, 0}}}
	for number := 1; next.Len() > 0; {
		n := heap.Pop(next).(waiting).node
		if !s.kept[n] {
			if room <= 0 {
				return
			}
			s.kept[n] = true
			room--
		}
		for _, child := range s.below(n) {
			heap.Push(next, waiting{child, number})
			number++
		}
	}
}

// below lists the places right below one that may be shown, in the order of a Snapshot.
func (s *snapshot) below(n NodeID) []NodeID {
	c := s.cache
	list := slices.DeleteFunc(c.answeredBelow(c.children(n)), func(n NodeID) bool { return !s.shown[n] })
	if len(list) < 2 {
		return list
	}
	inputs := map[NodeID]Input{}
	for _, n := range list {
		inputs[n] = s.input(n)
	}
	off := func(n NodeID) int {
		if _, onPath := s.given[n]; onPath {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b NodeID) int {
		return cmp.Or(cmp.Compare(off(a), off(b)), cmp.Compare(s.visits[b], s.visits[a]),
			compareInputs(inputs[a], inputs[b]))
	})
	return list
}

// input is that of a place, see Place.Input.
func (s *snapshot) input(n NodeID) Input {
	switch d := &s.cache.nodes[n]; {
	case n == Root:
		return Input{}
	case d.kind == top:
		return Input{Name: d.label}
	}
	in := s.cache.inputOf(n)
	in.Name = ""
	return in
}

// compareInputs orders inputs by what they say.
func compareInputs(a, b Input) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Conn, b.Conn), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Most, b.Most), cmp.Compare(len(a.Data), len(b.Data)),
		slices.Compare(a.Data, b.Data))
}

// add adds a place, and all below it that are kept. The stack is the program's own, since a path
// may be very long.
func (s *snapshot) add(n NodeID, parent int) error {
	type todo struct {
		node   NodeID
		parent int
	}
	for stack := []todo{{n, parent}}; len(stack) > 0; {
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		p, err := s.place(t.node)
		if err != nil {
			return err
		}
		p.Parent = t.parent
		s.result.Places = append(s.result.Places, p)
		for _, child := range slices.Backward(s.below(t.node)) {
			if s.kept[child] {
				stack = append(stack, todo{child, len(s.result.Places) - 1})
			}
		}
	}
	return nil
}

// place is what is known of a place.
func (s *snapshot) place(n NodeID) (p Place, err error) {
	c := s.cache
	p = Place{Node: n, Input: s.input(n), Given: -1, Connections: len(c.states[c.nodes[n].conns])}
	if i, ok := s.given[n]; ok {
		p.Given = i
	}
	// The first one had to ask the peers.
	if p.Hits = int(s.visits[n]); p.Input.Kind == 0 {
		p.Hits = 0
	} else if int(n) >= s.view.Known {
		p.Hits = max(p.Hits-1, 0)
	}
	p.Starts, p.Restores = c.images.starts[n], c.images.past[n]
	for _, i := range c.images.at[n] {
		p.Image = i.backend
		p.Restores += i.restores
	}
	p.Reaction, err = c.reactionOf(n)
	return p, err
}

// waiting is a place whose turn may come. Numbers are given in an order that does not depend on
// when the places were made.
type waiting struct {
	node   NodeID
	number int
}

// byVisits is a heap with the place on top that most executions came by.
type byVisits struct {
	s    *snapshot
	list []waiting
}

// Len implements heap.Interface.
func (h *byVisits) Len() int { return len(h.list) }

// Less implements heap.Interface.
func (h *byVisits) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	if x, y := h.s.visits[a.node], h.s.visits[b.node]; x != y {
		return x > y
	}
	return a.number < b.number
}

// Swap implements heap.Interface.
func (h *byVisits) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }

// Push implements heap.Interface.
func (h *byVisits) Push(x any) { h.list = append(h.list, x.(waiting)) }

// Pop implements heap.Interface.
func (h *byVisits) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
