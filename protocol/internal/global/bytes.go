package global

import (
	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// newByteWorker returns a worker that expands states that are bytes.
func newByteWorker(f *forms.Bytes, w *worker) expands {
	b := &byteWorker{worker: w, set: f.Set}
	b.visitor = b.visit
	return b
}

// byteWorker expands states that are bytes, for one goroutine.
type byteWorker struct {
	*worker
	set    *space.Set
	packed []byte // next
	// visitor is what visit is as a function, made once.
	visitor func(system.Step) error
}

func (w *byteWorker) reset() {}

// settle has nothing to do: each state is inserted at once.
func (w *byteWorker) settle() error { return nil }

// expandRange expands all states of a part of a level.
func (w *byteWorker) expandRange(p forms.Part) error {
	defer w.flush()
	for states := w.set.Range(p.Shard, p.From, p.End); ; {
		at, packed, ok := states.Next()
		if !ok {
			return nil
		}
		if err := w.expandBytes(at, packed); err != nil {
			return err
		}
	}
}

// expandOne has nothing to settle.
func (w *byteWorker) expandOne(at space.Ref) error { return w.expandBytes(at, w.set.State(at)) }

// expandShared needs no other state: all transitions are visited.
func (w *byteWorker) expandShared(at space.Ref, _ *system.State) error { return w.expandOne(at) }

// expandBytes visits all transitions from a state, or as many as are needed.
func (w *byteWorker) expandBytes(at space.Ref, packed []byte) error {
	if err := w.pause(); err != nil {
		return err
	}
	// The bytes lie in the arena; what is unpacked can be changed.
	w.begin(at)
	w.Unpack(&w.Cur, packed)
	nodes := w.selected()
	err := w.ExpandNodes(nodes, w.visitor)
	// The rest is expanded only if the proviso wants it.
	if err == nil && w.wantsRest(nodes) {
		err = w.ExpandNodes(^nodes, w.visitor)
	}
	if err != nil {
		return err
	}
	return w.judgeEnd()
}

// visit takes note of one transition from cur to next.
func (w *byteWorker) visit(step system.Step) error {
	w.steps++
	w.counted++
	if step.Outcome != nil && step.Outcome.Failure != "" {
		violation := Violation{Property: -1, Failure: step.Outcome.Failure}
		failed := step // so that others stay on the stack
		return w.violated(&finding{Violation: violation, at: w.at, step: &failed})
	}
	// A handler has returned, or none has run.
	chosen, err := w.alike.choose(&w.Next)
	if err != nil {
		return err
	}
	w.packed = w.Pack(w.packed[:0], chosen)
	at, isNew, err := w.set.Insert(w.packed, w.at)
	if err != nil {
		return err
	}
	if err := w.take(at, uint8(step.Node)+1, isNew, w.Next.Left != w.Cur.Left); err != nil {
		return err
	}
	// Most models have properties; an assertion of a node has been judged with its local state.
	was := w.Reader.State(step.Node, w.Cur.Locals[step.Node])
	is := w.Reader.State(step.Node, w.Next.Locals[step.Node])
	switch {
	case !isNew:
	case is.Failure != "":
		return w.violated(&finding{Violation: Violation{Property: -1, Failure: is.Failure}, at: at})
	case is.Class != was.Class:
		return w.judgeState(at, &w.Next)
	}
	return nil // what holds there holds here
}
