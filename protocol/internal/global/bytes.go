package global

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// byteForm keeps states as bytes. It is for all models: ordered networks, partitions, and states of
// any length.
type byteForm struct {
	*space.Set
	config *Config
	packed []byte // of add
	loaded [][]loaded
}

// newByteForm is empty.
func newByteForm(c *Config) *byteForm { return &byteForm{Set: space.New(c.shards()), config: c} }

func (f *byteForm) add(s *system.State, parent space.Ref) (at space.Ref, isNew bool, err error) {
	f.packed = f.config.Pack(f.packed[:0], s)
	return f.Insert(f.packed, parent)
}

// addFrom remembers no node: what is expanded as bytes is expanded in full.
func (f *byteForm) addFrom(s *system.State, parent space.Ref, _ uint8) (at space.Ref, isNew bool, err error) {
	return f.add(s, parent)
}

func (f *byteForm) origin(space.Ref) uint8 { return 0 }

func (f *byteForm) reset() {
	f.Reset()
	f.loaded = make([][]loaded, f.Shards())
}

// loaded is a state that was loaded, and its place among all of them.
type loaded struct {
	at    space.Ref
	place uint64
}

func (f *byteForm) load(s *system.State, place uint64, _ space.Ref, _ uint8) (
	at space.Ref, isNew bool, err error) {
	at, isNew, err = f.add(s, space.None)
	shard, _ := f.Split(at)
	f.loaded[shard] = append(f.loaded[shard], loaded{at, place})
	return at, isNew, err
}

// placeOf searches by halves: in a shard, states lie in the order in which they came.
func (f *byteForm) placeOf(at space.Ref) uint64 {
	shard, _ := f.Split(at)
	list := f.loaded[shard]
	i, _ := slices.BinarySearchFunc(list, at, func(l loaded, at space.Ref) int {
		return cmp.Compare(l.at, at)
	})
	return list[i].place
}

func (f *byteForm) look(at space.Ref, s *system.State) { f.config.Unpack(s, f.State(at)) }

func (f *byteForm) lookLocals(at space.Ref, s *system.State) { f.look(at, s) }

// cut leaves a part whole: there are many shards, and only some places are those of states.
func (f *byteForm) cut(parts []part, whole part) []part { return append(parts, whole) }

func (f *byteForm) each(shard int, from, end uint64) iter.Seq[space.Ref] {
	return func(yield func(space.Ref) bool) {
		states := f.Range(shard, from, end)
		for at, _, ok := states.Next(); ok && yield(at); at, _, ok = states.Next() {
		}
	}
}

func (f *byteForm) eachMoved(shard int, from, end uint64, visit func(space.Ref, uint8) error) error {
	for at := range f.each(shard, from, end) {
		if err := visit(at, 0); err != nil {
			return err
		}
	}
	return nil
}

func (f *byteForm) newExpands(w *worker) expands {
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
func (w *byteWorker) expandRange(p part) error {
	defer w.flush()
	for states := w.set.Range(p.shard, p.from, p.end); ; {
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
	w.at, w.steps, w.leadsOn = at, 0, false
	w.Unpack(&w.Cur, packed)
	nodes := w.selected()
	err := w.ExpandNodes(nodes, w.visitor)
	// The rest is expanded only if the proviso wants it.
	if err == nil && w.Proviso && !w.leadsOn {
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
