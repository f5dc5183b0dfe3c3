package global

import (
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
	"github.com/tandem-mc/tandem/protocol/internal/vector"
)

// newVectorWorker returns a worker that expands states that are vectors.
func newVectorWorker[V space.Vector](f *forms.Vectors[V], w *worker) expands {
	x := &vectorWorker[V]{worker: w, set: f.Words, layout: f.Layout,
		moves: vector.NewMoves(f.Layout, w.Reader, w.Judge != nil)}
	x.parent = space.None
	w.Cur.Locals = slices.Repeat([]table.Local{noLocal}, w.Nodes)
	return x
}

// vectorWorker expands states that are vectors, for one goroutine. A transition is an addition to
// the vector: what to add depends on the local state and the event only, so it is computed once. It
// visits the same transitions as a byteWorker, in the same order.
type vectorWorker[V space.Vector] struct {
	*worker
	set    *space.Words[V]
	layout *vector.Layout[V]
	moves  *vector.Moves[V]
	// vector is what is expanded, combination that of the classes of its nodes. Its local states
	// are those of cur.
	vector      V
	combination uint64
	// below are nodes whose moves lead to nothing new, as bits, unless they need a message that was
	// not under way before: in the state that vector was reached from, which is parent.
	below  uint64
	before V
	parent space.Ref
	batch  batch[V]
}

// batchSize is how many successors are inserted together.
const batchSize = 32

// batch has successors that are not inserted yet. Few of them are to be judged, and pointers cost
// something while the collector runs, so only those have a cause.
type batch[V space.Vector] struct {
	size   int
	list   [batchSize]space.Candidate[V]
	causes [batchSize]cause[V]
	// judged are those to be judged, spending those whose step spends a fault, as bits.
	judged, spending uint32
}

// cause is what has led to a successor that is to be judged.
type cause[V space.Vector] struct {
	move        *vector.Move[V]
	combination uint64 // of the classes there
}

// reset forgets what is not inserted yet, and the parent, whose number another state may have now.
func (w *vectorWorker[V]) reset() {
	w.parent, w.batch.size, w.batch.judged, w.batch.spending = space.None, 0, 0, 0
}

// settle inserts the successors that are left.
func (w *vectorWorker[V]) settle() error {
	if w.batch.size == 0 {
		return nil
	}
	return w.insertBatch()
}

// expandRange expands all states of a part of a level.
func (w *vectorWorker[V]) expandRange(p forms.Part) error {
	defer w.flush()
	for states := w.set.Range(p.Shard, p.From, p.End); ; {
		at, v, parent, node := states.Next()
		if v == nil {
			return nil
		}
		// A selection has its own reasons to leave something out.
		if w.below = 0; node > 0 && w.Select == nil {
			w.below = 1<<(node-1) - 1
			if parent != w.parent {
				w.parent, w.before = parent, w.set.State(parent)
			}
		}
		if err := w.expandVector(at, v); err != nil {
			return err
		}
	}
}

func (w *vectorWorker[V]) expandOne(at space.Ref) error {
	v := w.set.State(at)
	if err := w.expandVector(at, &v); err != nil {
		return err
	}
	return w.settle()
}

// expandVector visits all transitions from a state, or as many as are needed.
func (w *vectorWorker[V]) expandVector(at space.Ref, v *V) error {
	if err := w.pause(); err != nil {
		return err
	}
	w.vector = *v
	w.begin(at)
	for node, f := range w.layout.Locals {
		number := table.Local(vector.Get(f, v))
		if number == w.Cur.Locals[node] {
			continue // as in the state before
		}
		if err := w.turn(node, number); err != nil {
			return err
		}
	}
	if err := w.expandSelected(); err != nil {
		return err
	}
	w.counted += int64(w.steps)
	return w.judgeEnd()
}

// noLocal is the local state of a node before the first state.
const noLocal = ^table.Local(0)

// turn has a node be in another local state than in the state that was expanded before.
func (w *vectorWorker[V]) turn(node int, number table.Local) error {
	l, err := w.moves.Local(node, number)
	if err != nil {
		return err
	}
	if w.Cur.Locals[node] != noLocal {
		w.combination -= w.here(node).Combination
	}
	w.Cur.Locals[node] = number
	w.combination += l.Combination
	return nil
}

// here is what a node may do in its local state.
func (w *vectorWorker[V]) here(node int) *vector.Local[V] {
	return w.moves.Known(node, w.Cur.Locals[node])
}

// expandSelected expands as many nodes as are needed.
func (w *vectorWorker[V]) expandSelected() error {
	if w.Select == nil {
		return w.expandNodes(^uint64(0))
	}
	// Selections look at local states and messages.
	w.layout.Decode(&w.Cur, &w.vector)
	nodes := w.selected()
	if err := w.expandNodes(nodes); err != nil || !w.Proviso {
		return err
	}
	// Only what is inserted is known to lead on.
	err := w.settle()
	if err != nil || !w.wantsRest(nodes) {
		return err
	}
	if err = w.expandNodes(^nodes); err == nil {
		err = w.settle()
	}
	return err
}

// expandNodes visits the transitions of some nodes, which are given as bits. What nodes do by
// themselves comes first, then messages in the order of their numbers.
//
// Transitions of the nodes below are only counted, if they were possible before. Take one, b of a
// node below, and say that the state was reached by a. Both commute, as they are of two nodes. So b
// followed by a leads to the same state, in as many steps. If that is only counted as well, then
// since a node above that of a has led to where b leads; so there is another way, and so on. Nodes
// get higher each time, so in the end there is a way on which nothing was only counted.
func (w *vectorWorker[V]) expandNodes(nodes uint64) error {
	var idle, known V
	for node := range w.Cur.Locals {
		if nodes>>node&1 == 0 {
			continue
		}
		l := w.here(node)
		isBelow := w.below>>node&1 != 0
		for i := range len(idle) {
			idle[i] |= l.Idle[i]
			if isBelow {
				known[i] |= l.Single[i]
			}
		}
		if isBelow && l.Spending == 0 {
			w.steps += len(l.Own)
		} else if err := w.propose(l.Own); err != nil {
			return err
		}
		if l.HasQuorums && l.MayGather(w.layout, &w.vector) {
			if err := w.gather(node, l, isBelow); err != nil {
				return err
			}
		}
	}
	for word := range len(idle) {
		present := w.layout.Present(&w.vector, word)
		counted := idle[word]
		if w.below != 0 {
			counted |= known[word] & w.layout.Present(&w.before, word)
		}
		w.steps += bits.OnesCount64(present & counted)
		if err := w.arrivals(nodes, word, present&^counted); err != nil {
			return err
		}
	}
	return nil
}

// gather visits the quorum transitions of a node, or counts them.
func (w *vectorWorker[V]) gather(node int, l *vector.Local[V], isBelow bool) error {
	number := w.Cur.Locals[node]
	waiting, err := w.moves.Waiting(node, number, l, &w.vector)
	if err != nil {
		return err
	}
	list, err := w.moves.Gathered(node, number, l, &waiting)
	if err != nil || len(list) == 0 {
		return err
	}
	// A set that has a message which is new was not possible before.
	if isBelow {
		before, err := w.moves.Waiting(node, number, l, &w.before)
		if err != nil {
			return err
		}
		if before == waiting {
			w.steps += len(list)
			return nil
		}
	}
	return w.propose(list)
}

// arrivals delivers some messages, if they are to some nodes.
func (w *vectorWorker[V]) arrivals(nodes uint64, word int, rest uint64) error {
	for ; rest != 0; rest &= rest - 1 {
		m := w.layout.Message(word, rest)
		to := w.moves.Receiver(m)
		if nodes>>to.Node&1 == 0 {
			continue
		}
		list := w.here(int(to.Node)).ArrivalsOf(to.Place)
		if list == nil {
			var err error
			if list, err = w.moves.Arrival(int(to.Node), w.Cur.Locals[to.Node], m); err != nil {
				return err
			}
		}
		if err := w.propose(list); err != nil {
			return err
		}
	}
	return nil
}

// propose keeps the successors that some moves lead to, until there are enough.
func (w *vectorWorker[V]) propose(list []vector.Move[V]) error {
	v := &w.vector
	for i := range list {
		m := &list[i]
		// The bounds on faults are those of the run.
		if m.Spends != 0 && vector.Get(w.layout.Left[m.Spends-1], v) == 0 {
			continue
		}
		w.steps++
		if m.Fails {
			if err := w.fail(m.Step); err != nil {
				return err
			}
			continue
		}
		// Most vectors have one word, for which the loop is empty.
		var next V
		full := (*v)[0] & m.Full[0]
		next[0] = ((*v)[0] + m.Add[0]) | m.Or[0]
		for j := 1; j < len(next); j++ {
			full |= (*v)[j] & m.Full[j]
			next[j] = ((*v)[j] + m.Add[j]) | m.Or[j]
		}
		if full != 0 {
			return vector.ErrCounter
		}
		if next == *v {
			continue // what changes nothing leads to nothing new
		}
		// The batch waits until it is full.
		b := &w.batch
		b.list[b.size].Set(&next, space.Hash(&next), w.at, m.Node+1)
		if m.Judged {
			b.causes[b.size] = cause[V]{m, w.combination + m.Combination}
			b.judged |= 1 << b.size
		}
		if m.Spends != 0 {
			b.spending |= 1 << b.size
		}
		if b.size++; b.size == batchSize {
			if err := w.insertBatch(); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertBatch inserts successors, and judges those that are new.
func (w *vectorWorker[V]) insertBatch() error {
	b := &w.batch
	list, judged, spending := b.list[:b.size], b.judged, b.spending
	b.size, b.judged, b.spending = 0, 0, 0
	if err := w.set.Insert(w.number, list); err != nil {
		return err
	}
	if w.Proviso || w.reached != nil {
		for i := range list {
			err := w.take(list[i].At, list[i].Node(), list[i].IsNew, spending>>i&1 != 0)
			if err != nil {
				return err
			}
		}
	}
	// Few steps change the class of a node, to a combination that is new.
	for ; judged != 0; judged &= judged - 1 {
		i := bits.TrailingZeros32(judged)
		if !list[i].IsNew {
			continue
		}
		if err := w.judge(&list[i], &b.causes[i]); err != nil {
			return err
		}
	}
	return nil
}

// judge judges a successor in which the class of a node has changed.
func (w *vectorWorker[V]) judge(c *space.Candidate[V], cause *cause[V]) error {
	if step := cause.move.Step; cause.move.Wrong {
		is := w.Reader.State(step.Node, step.Outcome.Next)
		violation := Violation{Property: -1, Failure: is.Failure}
		return w.violated(&finding{Violation: violation, at: c.At})
	}
	if !w.moves.IsWide && w.judged.HasNumber(cause.combination) {
		return nil
	}
	w.layout.DecodeLocals(&w.Next, &c.State)
	return w.judgeState(c.At, &w.Next)
}

// fail takes note of a step that fails, behind the successors that were met before it.
func (w *vectorWorker[V]) fail(step *system.Step) error {
	err := w.settle()
	if err == nil {
		violation := Violation{Property: -1, Failure: step.Outcome.Failure}
		err = w.violated(&finding{Violation: violation, at: w.at, step: step})
	}
	if err != nil {
		w.counted += int64(w.steps)
	}
	return err
}
