package local

import (
	"math/bits"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Stubborn selects a stubborn set of transitions in each global state (Valmari: "Stubborn Sets for
// Reduced State Space Generation", APN 1989). What the method has to know comes from the fixpoint:
// what a node may send from a local state on, what it can consume there, and which steps are
// visible. Nothing is annotated by hand, as MP-Basset's models are (Bokor et al., section IV).
//
// A set is made of all transitions of some nodes. Transitions of different nodes are independent,
// but for one that sends what the other consumes. So the set has to be closed: if a node of it can
// consume a message that is not under way, then the sender of that message is in the set, if it may
// still send it. Then whatever other nodes do first can as well come later.
//
//   - Quorum split: a transition that consumes k messages waits for k senders. Let a of them have
//
// sent.     As long as at most k-1-a of the others are left out, each set that is not complete
// lacks the     message of a sender in the set. So these may be left out.   - Reply split: a node
// that only answers those from whom it consumes sends nothing to others. That     needs no rule:
// the fixpoint has what each node may send from here on, message by message.
//
// A transition is visible if it changes the class of its node, or fails. If one of the set is
// enabled and visible, then all nodes that may still take a visible step are in the set. In each
// cycle of states some state has to be expanded in full, for which package global cares.
type Stubborn struct {
	fixpoint *Fixpoint
	senders  []int // by message
	states   [][]stubbornState
	drops    bool
}

// stubbornState is what a local state means for the selection.
type stubbornState struct {
	own      int // events without a message, but for crashes, of which others may use up the last
	consumes set // by single deliveries
	future   set // may still be sent
	// visible are the messages of visible steps; ownVisible says that there is one without a
	// message, and willBeVisible that there may be one from here on.
	visible                   set
	ownVisible, willBeVisible bool
	quorums                   []Quorum
}

// NewStubborn prepares the selection. Senders has the sender of each message. Drops says whether
// messages may be lost. IsVisible says whether a step of a node from one local state to another is
// visible.
func NewStubborn(f *Fixpoint, senders []int, drops bool,
	isVisible func(node int, from, to table.Local) bool) *Stubborn {
	s := &Stubborn{fixpoint: f, senders: senders, drops: drops}
	for node, edges := range f.Edges {
		s.states = append(s.states, make([]stubbornState, len(edges)))
		for _, l := range f.Reached[node] {
			s.states[node][l] = s.newState(node, l, isVisible)
		}
		s.close(node)
	}
	return s
}

func (s *Stubborn) newSet() set { return make(set, (s.fixpoint.Messages+63)/64) }

// newState looks at the steps from a local state.
func (s *Stubborn) newState(node int, l table.Local, isVisible func(int, table.Local,
	table.Local) bool) stubbornState {
	x := stubbornState{consumes: s.newSet(), future: s.newSet(), visible: s.newSet(),
		quorums: s.fixpoint.Quorums[node][l]}
	for _, e := range s.fixpoint.Edges[node][l] {
		switch len(e.Needs) {
		// The last crash that a run may have can be taken by another node.
		case 0:
			if !e.Crash {
				x.own++
			}
		case 1:
			x.consumes.add(e.Needs[0])
		}
		for _, m := range e.Sent {
			x.future.add(m)
		}
		if !e.Fails && !isVisible(node, l, e.Next) {
			continue
		}
		x.willBeVisible = true
		x.ownVisible = x.ownVisible || len(e.Needs) == 0
		for _, m := range e.Needs {
			x.visible.add(m)
		}
	}
	return x
}

// close adds what comes later to each local state, until nothing changes.
func (s *Stubborn) close(node int) {
	states := s.states[node]
	for changed := true; changed; {
		changed = false
		for l := len(states) - 1; l >= 0; l-- {
			// A step that fails ends the run, so nothing comes after it.
			for _, e := range s.fixpoint.Edges[node][l] {
				if e.Fails {
					continue
				}
				next := &states[e.Next]
				if states[l].future.addAll(next.future) {
					changed = true
				}
				if next.willBeVisible && !states[l].willBeVisible {
					states[l].willBeVisible = true
					changed = true
				}
			}
		}
	}
}

// Select returns the nodes whose transitions are a stubborn set, as bits. Of several sets it takes
// one with the fewest enabled transitions. CanArrive says whether a message, given by index, may
// arrive next.
func (s *Stubborn) Select(locals []table.Local, messages []table.Message, canArrive func(i int) bool) uint64 {
	// What is under way need not be sent; what is enabled can come next.
	here, enabled := s.newSet(), s.newSet()
	for i, m := range messages {
		here.add(m)
		if canArrive(i) {
			enabled.add(m)
		}
	}
	all := uint64(1)<<len(locals) - 1
	best, least := all, 1<<30
	// Each node is tried as the first of a set.
	for node := range locals {
		nodes := s.closed(uint64(1)<<node, locals, here, enabled)
		if nodes == all {
			continue
		}
		// A set without an enabled transition says nothing.
		if n := s.enabled(nodes, locals, enabled); n > 0 && n < least {
			best, least = nodes, n
		}
	}
	return best
}

// enabled counts the enabled transitions of some nodes, roughly: a quorum transition counts for
// each message.
func (s *Stubborn) enabled(nodes uint64, locals []table.Local, messages set) (n int) {
	for ; nodes != 0; nodes &= nodes - 1 {
		node := bits.TrailingZeros64(nodes)
		x := &s.states[node][locals[node]]
		n += x.own + count(x.consumes, messages)
		for _, q := range x.quorums {
			n += s.ready(q, messages)
		}
	}
	return n
}

// ready counts the messages of a quorum transition that are there, if they are enough.
func (s *Stubborn) ready(q Quorum, messages set) int {
	if n := bits.OnesCount64(s.arrived(q, messages)); n >= max(1, q.Size) {
		return n
	}
	return 0
}

// arrived are the senders, as bits, whose messages are there.
func (s *Stubborn) arrived(q Quorum, messages set) (senders uint64) {
	for _, m := range q.Waits {
		if messages.has(m) {
			senders |= 1 << s.senders[m]
		}
	}
	return senders
}

// closed adds nodes to a set until it is stubborn.
func (s *Stubborn) closed(nodes uint64, locals []table.Local, here, enabled set) uint64 {
	visible := false
	for todo := nodes; todo != 0; {
		node := bits.TrailingZeros64(todo)
		todo &= todo - 1
		x := &s.states[node][locals[node]]
		// Each node of the set brings those that it waits for.
		add := s.producers(node, x, locals, here)
		if !visible && (x.ownVisible || overlaps(x.visible, enabled, nil)) {
			visible = true
			for other, l := range locals {
				if s.states[other][l].willBeVisible {
					add |= 1 << other
				}
			}
		}
		add |= s.missing(nodes|add, x, locals, here)
		todo |= add &^ nodes
		nodes |= add
	}
	return nodes
}

// producers are the nodes that may still send what a node consumes by itself.
func (s *Stubborn) producers(node int, x *stubbornState, locals []table.Local, here set) (nodes uint64) {
	for other, l := range locals {
		future := s.states[other][l].future
		switch {
		case other == node:
		case s.drops && s.sendsTo(future, node, here):
			nodes |= 1 << other
		case overlaps(x.consumes, future, here):
			nodes |= 1 << other
		}
	}
	return nodes
}

// sendsTo says whether a set has a message to a node that is not there yet. It may be lost when it
// comes, so losing it is a transition of its receiver.
func (s *Stubborn) sendsTo(future set, node int, here set) bool {
	for _, m := range s.fixpoint.Inbox[node] {
		if future.has(m) && !here.has(m) {
			return true
		}
	}
	return false
}

// missing are the nodes that have to be in a set for its quorum transitions: of those that may
// still send a message, all but as many as cannot complete a set by themselves.
func (s *Stubborn) missing(nodes uint64, x *stubbornState, locals []table.Local, here set) (add uint64) {
	for _, q := range x.quorums {
		arrived := s.arrived(q, here)
		// So many senders can be left out, none if any number is accepted.
		leave := q.Size - 1 - bits.OnesCount64(arrived)
		var late uint64 // senders outside of the set that may still send
		for _, m := range q.Waits {
			from := s.senders[m]
			if !here.has(m) && s.states[from][locals[from]].future.has(m) {
				late |= 1 << from
			}
		}
		// A sender whose message is there may send another one; that is no set of its own then.
		late &^= nodes
		for ; late != 0; late &= late - 1 {
			if leave > 0 && arrived&(late&-late) == 0 {
				leave--
				continue
			}
			add |= late & -late
		}
	}
	return add
}
