package global

import (
	"runtime"

	"github.com/tandem-mc/tandem/protocol/internal/judged"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// worker is what all workers have, in whatever form the states are: it counts, and it judges.
type worker struct {
	system.Expander
	*search
	number int       // among the workers
	at     space.Ref // of cur
	// judged are combinations of classes that are right.
	judged   judged.Set
	classes  []uint32
	expanded int
	told     int   // of them, to the search
	counted  int64 // transitions that the search does not know of yet
	steps    int   // transitions from cur
	leadsOn  bool  // one of them leads to a state that is to be expanded, or may
	late     late  // where that is not known yet
	// arrivable is what CanArrive is as a function, made once.
	arrivable func(int) bool
	alike     *chosen // nil: all states are visited as they are
	// metFirst is called for each state at the start, whether it is new or not; it may be nil.
	metFirst func(space.Ref) error
	// reached is called for each new state; it may be nil.
	reached func(space.Ref)
	// isOwn says whether a state that was reached by a step of a node is expanded by this search;
	// nil: all are. The node is given plus one.
	isOwn func(at space.Ref, node uint8) (bool, error)
	// isAgain says of a state that was visited before whether it has to be expanded again.
	isAgain func(space.Ref) bool
	// collect takes violations, and the search goes on; nil: a violation ends it.
	collect func(*finding) error
}

// stopEvery is after how many expanded states Stop is asked.
const stopEvery = 1 << 10

// flush tells the search how many transitions there were.
func (w *worker) flush() {
	w.transitions.Add(w.counted)
	w.expandings.Add(int64(w.expanded - w.told))
	w.counted, w.told = 0, w.expanded
}

// pause is called for each state that is expanded. Now and then it asks whether the search is to go
// on.
func (w *worker) pause() error {
	if w.expanded++; w.expanded%stopEvery != 0 {
		return nil
	}
	w.flush()
	runtime.Gosched()
	if w.ended.Load() {
		return errEnded
	}
	// What others have in doubt only they can look at. It is about as much.
	if w.isFull(w.late.bytes() * int64(w.Workers)) {
		return w.end(nil, "", ErrFull)
	}
	if w.Stop != nil {
		if reason := w.Stop(w.progress()); reason != "" {
			return w.end(nil, reason, nil)
		}
	}
	return nil
}

// selected are the nodes whose transitions from cur are enough to explore, as bits; in a second
// pass, the others.
func (w *worker) selected() uint64 {
	if w.Select == nil {
		return ^uint64(0)
	}
	nodes := w.Select(w.Cur.Locals, w.Cur.Messages, w.arrivable)
	if w.pass == secondPass {
		return ^nodes
	}
	return nodes
}

// begin begins with a state, of which nothing is known.
func (w *worker) begin(at space.Ref) {
	w.at, w.steps, w.leadsOn = at, 0, false
	w.late.reached = w.late.reached[:w.late.settled]
}

// wantsRest says whether the steps of the other nodes from cur are to be visited as well, after
// those of some nodes.
func (w *worker) wantsRest(nodes uint64) bool {
	if !w.Proviso || w.pass == secondPass {
		return false
	}
	// Who has no other steps need not be looked at again.
	isDoubted := w.leadsOn && ^nodes&(1<<w.Nodes-1) != 0
	if isDoubted && w.pass == firstPass {
		w.late.states = append(w.late.states, doubted{w.at, len(w.late.reached)})
		w.late.settled = len(w.late.reached)
	}
	return !w.leadsOn
}

// noted is what the worker has in doubt.
func (w *worker) noted() *late { return &w.late }

// take notes that a step of a node, which is given plus one, has led to a state. That it spends a
// fault takes the fault from others.
func (w *worker) take(at space.Ref, node uint8, isNew, spends bool) (err error) {
	if w.Proviso && !spends && (!w.leadsOn || w.pass == firstPass) && w.isOpen(at, isNew) {
		// Whether others have expanded a state of theirs is not known here.
		if w.leadsOn = true; w.isOwn != nil {
			w.leadsOn, err = w.isOwn(at, node)
		}
		if w.pass == firstPass {
			w.late.reached = append(w.late.reached, at)
		}
	}
	// Only a depth-first search within a bound comes back to a state.
	if w.reached != nil && (isNew || w.isAgain(at)) {
		w.reached(at)
	}
	return err
}

// isOpen says whether a state that was reached is still to be expanded. A depth-first search has
// mostly expanded what is not new, so it reduces less.
func (w *worker) isOpen(at space.Ref, isNew bool) bool {
	if isNew || w.DepthFirst {
		return isNew
	}
	shard, place := w.form.Split(at)
	return place >= w.levelEnd[shard]
}

// violated takes note of a violation that was met one step behind cur. It ends the search if no
// shorter run can be found any more: breadth first, those that end in a state of the present level.
func (w *worker) violated(f *finding) error {
	if w.collect != nil {
		f.isLonger = true
		return w.collect(f)
	}
	if w.JudgeEnd == nil || w.DepthFirst || w.at == space.None {
		return w.end(f, "", nil)
	}
	w.note(f)
	return nil
}

// judgeEnd judges a state in which nothing can happen any more: cur.
func (w *worker) judgeEnd() error {
	// Steps of the first pass are not counted in the second one.
	if w.steps != 0 || w.JudgeEnd == nil || w.pass == secondPass {
		return nil
	}
	property := w.JudgeEnd(w.classesOf(&w.Cur))
	if err := w.alike.compareEnd(&w.Cur, property); err != nil {
		return err
	}
	if property < 0 {
		return nil
	}
	f := &finding{Violation: Violation{Property: property}, at: w.at}
	if w.collect != nil {
		return w.collect(f)
	}
	return w.end(f, "", nil)
}

// judgeState judges all nodes of a state together.
func (w *worker) judgeState(at space.Ref, s *system.State) error {
	if w.Judge == nil {
		return nil
	}
	classes := w.classesOf(s)
	if w.judged.Has(classes) {
		return nil
	}
	j := w.Judge(classes)
	if err := w.alike.compare(s, j); err != nil {
		return err
	}
	if j.Reached != 0 {
		w.search.reached.Or(j.Reached)
	}
	if j.Violated >= 0 {
		return w.violated(&finding{Violation: Violation{Property: j.Violated}, at: at})
	}
	w.judged.Add(classes)
	return nil
}

// classesOf are the classes of the local states of a state, until the next call.
func (w *worker) classesOf(s *system.State) []uint32 {
	w.classes = w.classes[:0]
	for node, local := range s.Locals {
		w.classes = append(w.classes, w.Reader.State(node, local).Class)
	}
	return w.classes
}
