package global

import (
	"encoding/binary"
	"runtime"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// worker expands states, for one goroutine.
type worker struct {
	expander
	*search
	at       space.Ref            // of cur
	packed   []byte               // next
	judged   map[string]Judgement // by classes
	numbered map[uint64]Judgement // by classes that are small numbers
	classes  []uint32
	name     []byte
	expanded int
	counted  int64 // transitions that the search does not know of yet
	// visitor is what visit is as a function, made once.
	visitor func(Step) error
	steps   int  // transitions from cur
	leadsOn bool // one of them leads to a state that is to be expanded
	// arrivable is what canArrive is as a function, made once.
	arrivable func(int) bool
	// insert adds next to the visited states.
	insert func() (at space.Ref, isNew bool, err error)
	// reached is called for each new state; it may be nil.
	reached func(space.Ref)
	// isAgain says of a state that was visited before whether it has to be expanded again.
	isAgain func(space.Ref) bool
}

// newWorker returns a worker that has seen nothing of the table.
func (s *search) newWorker() *worker {
	w := &worker{search: s, judged: map[string]Judgement{}, numbered: map[uint64]Judgement{}}
	w.expander = expander{config: s.Config, reader: table.NewReader(s.Table)}
	w.visitor, w.arrivable, w.insert = w.visit, w.canArrive, w.insertBytes
	return w
}

// maxJudged bounds how many combinations of classes a worker remembers.
const maxJudged = 1 << 18

// stopEvery is after how many expanded states Stop is asked.
const stopEvery = 1 << 10

// flush tells the search how many transitions there were.
func (w *worker) flush() {
	w.transitions.Add(w.counted)
	w.counted = 0
}

// insertBytes adds next to a set of bytes.
func (w *worker) insertBytes() (at space.Ref, isNew bool, err error) {
	w.packed = w.pack(w.packed[:0], &w.next)
	return w.set.Insert(w.packed, w.at)
}

// settle has nothing to do: each state is inserted at once.
func (w *worker) settle() error { return nil }

// expandRange expands all states of a part of a level.
func (w *worker) expandRange(p part) error {
	defer w.flush()
	for states := w.set.Range(p.shard, p.from, p.end); ; {
		at, packed, ok := states.Next()
		if !ok {
			return nil
		}
		if err := w.expandState(at, packed); err != nil {
			return err
		}
	}
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
	if w.Stop != nil {
		if reason := w.Stop(w.progress()); reason != "" {
			return w.end(nil, reason, nil)
		}
	}
	return nil
}

// expandState visits all transitions from a state.
func (w *worker) expandState(at space.Ref, packed []byte) error {
	if err := w.pause(); err != nil {
		return err
	}
	// The bytes lie in the arena; what is unpacked can be changed.
	w.at, w.steps = at, 0
	w.unpack(&w.cur, packed)
	if err := w.expandSelected(); err != nil {
		return err
	}
	// Nothing can happen any more.
	if w.steps == 0 && w.JudgeEnd != nil {
		if property := w.JudgeEnd(w.classesOf(&w.cur)); property >= 0 {
			return w.end(&finding{Violation: Violation{Property: property}, at: at}, "", nil)
		}
	}
	return nil
}

// expandSelected expands as many nodes as are needed.
func (w *worker) expandSelected() error {
	if w.Select == nil {
		return w.expand(w.visitor)
	}
	// The rest is expanded only if the proviso wants it.
	nodes := w.Select(w.cur.locals, w.cur.messages, w.arrivable)
	w.leadsOn = false
	if err := w.expandNodes(nodes, w.visitor); err != nil || !w.Proviso || w.leadsOn {
		return err
	}
	return w.expandNodes(^nodes, w.visitor)
}

// isOpen says whether a state that was reached is still to be expanded. A depth-first search has
// mostly expanded what is not new, so it reduces less.
func (w *worker) isOpen(at space.Ref, isNew bool) bool {
	if isNew || w.DepthFirst {
		return isNew
	}
	shard, offset := w.set.Split(at)
	return offset >= w.levelEnd[shard]
}

// visit takes note of one transition from cur to next.
func (w *worker) visit(step Step) error {
	w.steps++
	w.counted++
	if step.Outcome != nil && step.Outcome.Failure != "" {
		violation := Violation{Property: -1, Failure: step.Outcome.Failure}
		failed := step // so that others stay on the stack
		return w.end(&finding{violation, w.at, &failed}, "", nil)
	}
	// A handler has returned, or none has run.
	at, isNew, err := w.insert()
	if err != nil {
		return err
	}
	// A step that spends a fault takes it from other nodes, so it does not count.
	if w.Proviso && w.next.left == w.cur.left && w.isOpen(at, isNew) {
		w.leadsOn = true
	}
	if !isNew {
		// Only a depth-first search within a bound comes back to a state.
		if w.isAgain != nil && w.isAgain(at) {
			w.reached(at)
		}
		return nil
	}
	if w.reached != nil {
		w.reached(at)
	}
	// Most models have properties; an assertion of a node has been judged with its local state.
	if w.Judge == nil && w.reader.State(step.Node, w.next.locals[step.Node]).Failure == "" {
		return nil
	}
	return w.judge(at, step.Node)
}

// judge looks at a new state, in which one node has changed.
func (w *worker) judge(at space.Ref, node int) error {
	was := w.reader.State(node, w.cur.locals[node])
	is := w.reader.State(node, w.next.locals[node])
	if is.Failure != "" {
		return w.end(&finding{Violation: Violation{Property: -1, Failure: is.Failure}, at: at}, "", nil)
	}
	if is.Class == was.Class {
		return nil // what holds there holds here
	}
	return w.judgeState(at, &w.next)
}

// judgeState judges all nodes of a state together.
func (w *worker) judgeState(at space.Ref, s *state) error {
	if w.Judge == nil {
		return nil
	}
	classes := w.classesOf(s)
	j, ok := w.remembered(classes)
	if !ok {
		j = w.Judge(classes)
		w.remember(classes, j)
		if j.Reached != 0 {
			w.search.reached.Or(j.Reached)
		}
	}
	if j.Violated >= 0 {
		return w.end(&finding{Violation: Violation{Property: j.Violated}, at: at}, "", nil)
	}
	return nil
}

// remembered returns the judgement of classes. They are in the name of a key; most fit into a
// number.
func (w *worker) remembered(classes []uint32) (Judgement, bool) {
	if number, ok := numberOf(classes); ok {
		j, ok := w.numbered[number]
		return j, ok
	}
	w.name = w.name[:0]
	for _, c := range classes {
		w.name = binary.AppendUvarint(w.name, uint64(c))
	}
	// The conversion of a key takes no memory in a look-up.
	j, ok := w.judged[string(w.name)]
	return j, ok
}

// remember keeps the judgement of the classes that were looked up last. What is forgotten is judged
// again, which is slower and not wrong.
func (w *worker) remember(classes []uint32, j Judgement) {
	if len(w.judged)+len(w.numbered) >= maxJudged {
		clear(w.judged)
		clear(w.numbered)
	}
	if number, ok := numberOf(classes); ok {
		w.numbered[number] = j
		return
	}
	w.judged[string(w.name)] = j
}

// numberOf makes one number of classes, if each is small enough.
func numberOf(classes []uint32) (number uint64, ok bool) {
	width := 64 / len(classes)
	for _, c := range classes {
		if uint64(c)>>width != 0 {
			return 0, false
		}
		number = number<<width | uint64(c)
	}
	return number, true
}

// classesOf are the classes of the local states of a state, until the next call.
func (w *worker) classesOf(s *state) []uint32 {
	w.classes = w.classes[:0]
	for node, local := range s.locals {
		w.classes = append(w.classes, w.reader.State(node, local).Class)
	}
	return w.classes
}
