package local

import (
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Targets are local states that some nodes are to reach together, and what that needs.
//
// The search for them is guided (Kristensen, Schmidt, Valmari: "Question-guided Stubborn Set
// Methods for State Properties", Formal Methods in System Design 2006). In a state where a node is
// not at its target, that node has to move. So each run to the targets has a transition of this
// node, and, before that, maybe transitions of others. Moves of other nodes are independent of it,
// unless they send what it consumes: a message has one receiver, so nobody else can take it away.
// If all nodes that may still send it something are in the set as well, then the first transition
// of the set in the run can come first of all. So it is enough to explore the transitions of the
// set. Each step brings one such run nearer to its end, so no cycle needs care, and a shortest run
// stays one.
type Targets struct {
	fixpoint *Fixpoint
	goal     Goal
	// in are the targets by node and local state; nil of a node that may be anywhere.
	in [][]bool
	// cone says of each local state whether a target can be reached from it; nil if any state will
	// do.
	cone [][]bool
	// useful are the messages that take a node to another local state of the cone, or have it send
	// something there; future are those that it may still send. Both are sets, by node and local
	// state.
	useful, future [][]set
}

// set is a set of messages, as bits.
type set []uint64

func (s set) add(m table.Message) bool {
	word, bit := m/64, uint64(1)<<(m%64)
	was := s[word]&bit != 0
	s[word] |= bit
	return !was
}

func (s set) has(m table.Message) bool { return s[m/64]>>(m%64)&1 != 0 }

// hasAll says whether all of a list are members.
func (s set) hasAll(list []table.Message) bool {
	for _, m := range list {
		if !s.has(m) {
			return false
		}
	}
	return true
}

// addAll adds the members of another set, and says whether that changed anything.
func (s set) addAll(other set) (changed bool) {
	for i, word := range other {
		changed = changed || word&^s[i] != 0
		s[i] |= word
	}
	return changed
}

// Goal says what is to be reached.
type Goal struct {
	// In has the targets by node and local state; nil of a node stands for all local states.
	In [][]bool
	// Failing is a node whose targets are states from which a step that fails is to be taken;
	// negative if there is none.
	Failing int
	// Ordered: messages arrive in order. Then one that does nothing has to be taken, to get at the
	// next. Drops: messages may be lost.
	Ordered, Drops bool
}

// NewTargets prepares a search.
func NewTargets(f *Fixpoint, g Goal) *Targets {
	t := &Targets{fixpoint: f, in: slices.Clone(g.In), goal: g}
	in := g.In
	words := (f.Messages + 63) / 64
	for node, edges := range f.Edges {
		var cone []bool
		if in[node] != nil {
			cone = backward(edges, in[node])
		}
		t.cone = append(t.cone, cone)
		useful, future := make([]set, len(edges)), make([]set, len(edges))
		for l := range edges {
			useful[l], future[l] = make(set, words), make(set, words)
		}
		t.useful, t.future = append(t.useful, useful), append(t.future, future)
		t.fill(node)
	}
	// The step is the target, so the node has to move wherever it is.
	if g.Failing >= 0 {
		t.in[g.Failing] = make([]bool, len(f.Edges[g.Failing]))
	}
	return t
}

// backward are the local states from which a target can be reached.
func backward(edges [][]Edge, targets []bool) []bool {
	before := make([][]table.Local, len(edges))
	var queue []table.Local
	cone := make([]bool, len(edges))
	for l, list := range edges {
		for _, e := range list {
			if !e.Fails {
				before[e.Next] = append(before[e.Next], table.Local(l))
			}
		}
		if targets[l] {
			cone[l] = true
			queue = append(queue, table.Local(l))
		}
	}
	// Each local state is taken from the queue once.
	for len(queue) > 0 {
		l := queue[0]
		queue = queue[1:]
		for _, earlier := range before[l] {
			if !cone[earlier] {
				cone[earlier] = true
				queue = append(queue, earlier)
			}
		}
	}
	return cone
}

// Within says whether a node that is in a local state can still reach its target. Local states that
// a bound has left out are not of interest.
func (t *Targets) Within(node int, l table.Local) bool {
	return t.fixpoint.Has(node, l) && (t.cone[node] == nil || t.cone[node][l])
}

// fill computes what is useful to a node, and what it may send. The second goes against the edges,
// until nothing changes.
func (t *Targets) fill(node int) {
	edges := t.fixpoint.Edges[node]
	for l, list := range edges {
		// Losing a message gets at the next one, whatever it is.
		if t.goal.Ordered && t.goal.Drops {
			for i := range t.useful[node][l] {
				t.useful[node][l][i] = ^uint64(0)
			}
		}
		for _, e := range list {
			isIdle := int(e.Next) == l && len(e.Sent) == 0 && !e.Fails
			// A shortest run has no step that changes nothing, and none that leaves the cone.
			if isIdle && !t.goal.Ordered || !e.Fails && !t.Within(node, e.Next) {
				continue
			}
			for _, m := range e.Needs {
				t.useful[node][l].add(m)
			}
			for _, m := range e.Sent {
				t.future[node][l].add(m)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		// Later states mostly have higher numbers.
		for l := len(edges) - 1; l >= 0; l-- {
			for _, e := range edges[l] {
				if !e.Fails && t.Within(node, e.Next) && t.future[node][l].addAll(t.future[node][e.Next]) {
					changed = true
				}
			}
		}
	}
}

// Select returns the nodes whose transitions are enough to explore, as bits: the smallest such set
// that it finds. It is empty if no run from here leads to the targets. At the targets all are
// returned.
func (t *Targets) Select(locals []table.Local, messages []table.Message, _ func(int) bool) uint64 {
	here := make(set, (t.fixpoint.Messages+63)/64)
	for _, m := range messages {
		if int(m) < t.fixpoint.Messages {
			here.add(m)
		}
	}
	all := uint64(1)<<len(locals) - 1
	best, found := all, false
	for node, l := range locals {
		if t.in[node] == nil || t.in[node][l] {
			continue
		}
		found = true
		// Any of the nodes that have to move would do.
		if nodes := t.close(uint64(1)<<node, locals, here); bits.OnesCount64(nodes) < bits.OnesCount64(best) {
			best = nodes
		}
	}
	if !found {
		return all
	}
	return best
}

// close adds the nodes that may send something useful to a node of the set, which is not there yet.
func (t *Targets) close(nodes uint64, locals []table.Local, here set) uint64 {
	for todo := nodes; todo != 0; {
		node := bits.TrailingZeros64(todo)
		todo &= todo - 1
		useful := t.useful[node][locals[node]]
		for other, l := range locals {
			if nodes>>other&1 == 0 && overlaps(useful, t.future[other][l], here) {
				nodes |= 1 << other
				todo |= 1 << other
			}
		}
	}
	return nodes
}

// overlaps says whether two sets have a member that is not in a third, which may be nil.
func overlaps(a, b, without set) bool {
	for i := range a {
		both := a[i] & b[i]
		if without != nil {
			both &^= without[i]
		}
		if both != 0 {
			return true
		}
	}
	return false
}
