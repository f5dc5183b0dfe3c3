package local

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Stubborn selects a stubborn set of transitions in each global state (Valmari: "Stubborn Sets for
// Reduced State Space Generation", APN 1989). What the method has to know comes from the fixpoint:
// what a node may send from a local state on, what it can consume there, and which steps are
// visible. Nothing is annotated by hand, as MP-Basset's models are (Bokor et al., section IV).
//
// A transition is a node and what it consumes, whatever its local state. Those of one node depend
// on each other; those of two do not, but that one may send what the other consumes. A set has some
// nodes as a whole: all that they can do in their local states. Of others it has transitions that
// cannot happen yet, since a message is not under way. For each of these there is a message in
// wanted, and the transitions that may send it are in the set as well:
//
//   - Quorum split: each set of messages is a transition of its own. It has to wait for one of
//     those that are not there, so one of their senders will do.
//   - Reply split: so is each message. If an acceptor has yet to be asked before it answers, then
//     the transition of its answer has to wait, whatever else the acceptor could do now.
//
// A transition is visible if it changes the class of its node, or fails. If one of the set is
// enabled and visible, then all that may still be visible are in the set. In each cycle of states
// some state has to be expanded in full, for which package global cares.
type Stubborn struct {
	StubbornConfig
	fixpoint *Fixpoint
	senders  []int               // by message
	needs    [][][]table.Message // by node and transition: what it consumes
	sentBy   [][]int             // by message: transitions of its sender
	states   [][]stubbornState
}

// StubbornConfig says what a Stubborn has to look at.
type StubbornConfig struct {
	// Drops: messages may be lost.
	Drops bool
	// WholeSenders leaves out the reply split, WholeQuorums the quorum split.
	WholeSenders, WholeQuorums bool
	// IsVisible says whether a step of a node from one local state to another is visible.
	IsVisible func(node int, from, to table.Local) bool
}

// stubbornState is what a local state means for the selection.
type stubbornState struct {
	own      int   // events without a message, but for crashes, of which others may use up the last
	consumes []int // transitions here that consume something
	ahead    set   // transitions from here on
	future   set   // messages that may still be sent
	// visible are the messages of visible steps; ownVisible says that there is one without a
	// message. visibleAhead are the transitions from here on that may be visible.
	visible, visibleAhead set
	ownVisible            bool
}

// NewStubborn prepares the selection. Senders has the sender of each message.
func NewStubborn(f *Fixpoint, senders []int, c StubbornConfig) *Stubborn {
	s := &Stubborn{StubbornConfig: c, fixpoint: f, senders: senders, sentBy: make([][]int, f.Messages)}
	for node, edges := range f.Edges {
		numbers := s.number(edges)
		s.states = append(s.states, make([]stubbornState, len(edges)))
		for _, l := range f.Reached[node] {
			s.states[node][l] = s.newState(node, l, numbers)
		}
		s.close(node)
	}
	return s
}

// number numbers the transitions of a node, by what they consume.
func (s *Stubborn) number(edges [][]Edge) (numbers map[string]int) {
	numbers = map[string]int{}
	var needs [][]table.Message
	for _, list := range edges {
		for _, e := range list {
			if _, isKnown := numbers[name(e.Needs)]; !isKnown {
				numbers[name(e.Needs)] = len(needs)
				needs = append(needs, e.Needs)
			}
		}
	}
	s.needs = append(s.needs, needs)
	return numbers
}

// name tells lists of messages apart.
func name(messages []table.Message) string {
	var b []byte
	for _, m := range messages {
		b = binary.AppendUvarint(b, uint64(m))
	}
	return string(b)
}

func newSet(size int) set { return make(set, (size+63)/64) }

// newState looks at the steps from a local state.
func (s *Stubborn) newState(node int, l table.Local, numbers map[string]int) stubbornState {
	messages, transitions := s.fixpoint.Messages, len(s.needs[node])
	x := stubbornState{ahead: newSet(transitions), visibleAhead: newSet(transitions),
		future: newSet(messages), visible: newSet(messages)}
	for _, e := range s.fixpoint.Edges[node][l] {
		transition := numbers[name(e.Needs)]
		isNew := x.ahead.add(table.Message(transition))
		// The last crash that a run may have can be taken by another node.
		switch {
		case len(e.Needs) == 0 && !e.Crash:
			x.own++
		case len(e.Needs) > 0 && isNew:
			x.consumes = append(x.consumes, transition)
		}
		for _, m := range e.Sent {
			x.future.add(m)
			if !slices.Contains(s.sentBy[m], transition) {
				s.sentBy[m] = append(s.sentBy[m], transition)
			}
		}
		if !e.Fails && !s.IsVisible(node, l, e.Next) {
			continue
		}
		x.visibleAhead.add(table.Message(transition))
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
				here, next := &states[l], &states[e.Next]
				sends := here.future.addAll(next.future)
				moves := here.ahead.addAll(next.ahead)
				isSeen := here.visibleAhead.addAll(next.visibleAhead)
				changed = changed || sends || moves || isSeen
			}
		}
	}
}

// selection is a stubborn set in the making.
type selection struct {
	*Stubborn
	locals []table.Local
	// here are the messages under way, enabled those that can come next.
	here, enabled set
	nodes, todo   uint64 // in the set as a whole, and those of them that are not looked at yet
	wanted        set
	waits         []table.Message // of those that are wanted: not looked at yet
	isVisible     bool
	counts        []int // of enabled transitions, by node
}

// Select returns the nodes whose transitions are a stubborn set, as bits. Of several sets it takes
// one with the fewest enabled transitions. CanArrive says whether a message, given by index, may
// arrive next.
func (s *Stubborn) Select(locals []table.Local, messages []table.Message, canArrive func(i int) bool) uint64 {
	size := s.fixpoint.Messages
	x := &selection{Stubborn: s, locals: locals, here: newSet(size), enabled: newSet(size),
		wanted: newSet(size)}
	// What is under way need not be sent; what is enabled can come next.
	for i, m := range messages {
		x.here.add(m)
		if canArrive(i) {
			x.enabled.add(m)
		}
	}
	for node := range locals {
		x.counts = append(x.counts, x.count(node))
	}
	all := uint64(1)<<len(locals) - 1
	best, least := all, 1<<30
	// Each node that can move is tried as the first of a set.
	for node, n := range x.counts {
		if n == 0 || n >= least {
			continue
		}
		x.closeFrom(node, all)
		if x.nodes == all {
			continue
		}
		n = 0
		for rest := x.nodes; rest != 0; rest &= rest - 1 {
			n += x.counts[bits.TrailingZeros64(rest)]
		}
		if n < least {
			best, least = x.nodes, n
		}
	}
	return best
}

// count counts the enabled transitions of a node.
func (x *selection) count(node int) int {
	state := &x.states[node][x.locals[node]]
	n := state.own
	for _, t := range state.consumes {
		if x.enabled.hasAll(x.needs[node][t]) {
			n++
		}
	}
	return n
}

// closeFrom begins a set with a node, and adds to it until it is stubborn, or has all nodes.
func (x *selection) closeFrom(node int, all uint64) {
	x.nodes, x.todo, x.isVisible = 0, 0, false
	clear(x.wanted)
	x.waits = x.waits[:0]
	x.add(node)
	for x.nodes != all {
		switch {
		case x.todo != 0:
			node := bits.TrailingZeros64(x.todo)
			x.todo &= x.todo - 1
			x.complete(node)
		case len(x.waits) > 0:
			m := x.waits[len(x.waits)-1]
			x.waits = x.waits[:len(x.waits)-1]
			x.addSenders(m)
		default:
			return
		}
	}
}

// add adds a node as a whole.
func (x *selection) add(node int) {
	if bit := uint64(1) << node; x.nodes&bit == 0 {
		x.nodes |= bit
		x.todo |= bit
	}
}

// complete adds what has to be in a set with a whole node.
func (x *selection) complete(node int) {
	state := &x.states[node][x.locals[node]]
	for _, t := range state.consumes {
		if needs := x.needs[node][t]; !x.here.hasAll(needs) {
			x.await(needs)
		}
	}
	// A message may be lost when it comes, so losing it is a transition of its receiver.
	if x.Drops {
		for _, m := range x.fixpoint.Inbox[node] {
			x.want(m)
		}
	}
	if !x.isVisible && (state.ownVisible || overlaps(state.visible, x.enabled, nil)) {
		x.isVisible = true
		for other, l := range x.locals {
			x.addTransitions(other, x.states[other][l].visibleAhead)
		}
	}
}

// addTransitions adds some transitions of a node. If one may be enabled, the node is added.
func (x *selection) addTransitions(node int, transitions set) {
	for i, word := range transitions {
		for ; word != 0 && x.nodes>>node&1 == 0; word &= word - 1 {
			x.addTransition(node, 64*i+bits.TrailingZeros64(word))
		}
	}
}

func (x *selection) addTransition(node, transition int) {
	if needs := x.needs[node][transition]; x.here.hasAll(needs) {
		x.add(node)
	} else {
		x.await(needs)
	}
}

// await adds what has to come before a transition that lacks a message.
func (x *selection) await(needs []table.Message) {
	if x.WholeQuorums {
		for _, m := range needs {
			x.want(m)
		}
		return
	}
	var first table.Message
	isFound := false
	for _, m := range needs {
		switch {
		case x.here.has(m):
		// What is never sent is never consumed; what is in the set need not be added.
		case !x.mayCome(m), x.wanted.has(m), x.nodes>>x.senders[m]&1 != 0:
			return
		case !isFound:
			first, isFound = m, true
		}
	}
	x.want(first)
}

// mayCome says whether a message may still be sent.
func (x *selection) mayCome(m table.Message) bool {
	sender := x.senders[m]
	return x.states[sender][x.locals[sender]].future.has(m)
}

// want adds the transitions that may send a message, unless it is there.
func (x *selection) want(m table.Message) {
	if !x.here.has(m) && x.mayCome(m) && x.wanted.add(m) {
		x.waits = append(x.waits, m)
	}
}

// addSenders adds the transitions that send a message.
func (x *selection) addSenders(m table.Message) {
	sender := x.senders[m]
	if x.WholeSenders {
		x.add(sender)
		return
	}
	ahead := x.states[sender][x.locals[sender]].ahead
	for _, t := range x.sentBy[m] {
		// A sender that is in the set as a whole does nothing outside of it.
		if x.nodes>>sender&1 != 0 {
			return
		}
		if ahead.has(table.Message(t)) {
			x.addTransition(sender, t)
		}
	}
}
