package forms

import (
	"errors"
	"iter"
	"sync"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/vector"
)

// Vectors keeps states as vectors. It is for states that fit into a few words, of networks
// without order. A partition changes all nodes at once, so there must be none.
type Vectors[V space.Vector] struct {
	*space.Words[V]
	Layout *vector.Layout[V]
	single [1]space.Candidate[V] // of insert
}

// NewVectors is empty. There is none if the states do not fit.
func NewVectors[V space.Vector](c Config) (f Form, fits bool) {
	l := vector.NewLayout[V](c.System, c.Log)
	return &Vectors[V]{Words: space.NewWords[V](c.Workers), Layout: l}, l != nil
}

// Add adds a state, unless it is there.
func (f *Vectors[V]) Add(s *system.State, parent space.Ref) (at space.Ref, isNew bool, err error) {
	return f.AddFrom(s, parent, 0)
}

// AddFrom is Add, with the node that has led to the state.
func (f *Vectors[V]) AddFrom(s *system.State, parent space.Ref, node uint8) (
	at space.Ref, isNew bool, err error) {
	v, err := f.Layout.Encode(s)
	if err != nil {
		return space.None, false, err
	}
	return f.insert(&v, parent, node)
}

// Node is the one that has led to a state.
func (f *Vectors[V]) Node(at space.Ref) uint8 {
	_, node := f.Origin(at)
	return node
}

// Load has nothing to remember: the number of a state is its place.
func (f *Vectors[V]) Load(s *system.State, _ uint64, parent space.Ref, node uint8) (
	at space.Ref, isNew bool, err error) {
	return f.AddFrom(s, parent, node)
}

// PlaceOf is the number of a state.
func (f *Vectors[V]) PlaceOf(at space.Ref) uint64 {
	_, number := f.Split(at)
	return number
}

// insert adds a vector. One goroutine may call it at a time.
func (f *Vectors[V]) insert(v *V, parent space.Ref, node uint8) (at space.Ref, isNew bool, err error) {
	hash := space.Hash(v)
	f.single[0].Set(v, hash, parent, node)
	err = f.Insert(0, f.single[:])
	return f.single[0].At, f.single[0].IsNew, err
}

// Look reads a state.
func (f *Vectors[V]) Look(at space.Ref, s *system.State) {
	v := f.State(at)
	f.Layout.Decode(s, &v)
}

// Cut has no part that is large, so that workers end at about the same time.
func (f *Vectors[V]) Cut(parts []Part, whole Part) []Part {
	if f.Shards() == 1 {
		return append(parts, whole)
	}
	const states = 1 << 9
	for from := whole.From; from < whole.End; from += states {
		parts = append(parts, Part{whole.Shard, from, min(from+states, whole.End)})
	}
	return parts
}

// Each visits the states of a shard between two places.
func (f *Vectors[V]) Each(shard int, from, end uint64) iter.Seq[space.Ref] {
	return func(yield func(space.Ref) bool) {
		for n := from; n < end && yield(f.Join(shard, n)); n++ {
		}
	}
}

// Shape is that of the vectors.
func (f *Vectors[V]) Shape() *vector.Shape { return &f.Layout.Shape }

// Width is in words.
func (f *Vectors[V]) Width() int {
	var v V
	return len(v)
}

// Read reads states of a shard, from a place on.
func (f *Vectors[V]) Read(list []Visited, shard int, from uint64) {
	states := f.Range(shard, from, from+uint64(len(list)))
	for i := range list {
		var v *V
		_, v, list[i].Parent, list[i].Node = states.Next()
		list[i].Words = space.Widen(v)
	}
}

// Adopt takes all states from a form that is as wide, in place.
func (f *Vectors[V]) Adopt(from OfWords) bool {
	old, ok := from.(*Vectors[V])
	if ok {
		f.Words = old.Words
		f.Change(func(v *V) {
			wide := space.Widen(v)
			wide = vector.Recode(old.Shape(), f.Shape(), &wide)
			*v = space.Narrow[V](&wide)
		})
	}
	return ok
}

// Put adds states that are new to a shard.
func (f *Vectors[V]) Put(list []Visited, shard int) error {
	var batch [Together]space.Candidate[V]
	for i := range list {
		v := space.Narrow[V](&list[i].Words)
		batch[i].Set(&v, space.Hash(&v), list[i].Parent, list[i].Node)
	}
	return f.Insert(shard, batch[:len(list)])
}

// LookLocals reads the local states.
func (f *Vectors[V]) LookLocals(at space.Ref, s *system.State) {
	v := f.State(at)
	f.Layout.DecodeLocals(s, &v)
}

// EachMoved visits states with the node that has led to each.
func (f *Vectors[V]) EachMoved(shard int, from, end uint64, visit func(space.Ref, uint8) error) error {
	for states := f.Range(shard, from, end); ; {
		at, v, _, node := states.Next()
		if v == nil {
			return nil
		}
		if err := visit(at, node); err != nil {
			return err
		}
	}
}

// OfWords is a form of vectors, of whatever width.
type OfWords interface {
	Form
	Shape() *vector.Shape
	Width() int // in words
	Reserve(states int)
	Release()
	// Read reads states of a shard, from a place on.
	Read(list []Visited, shard int, from uint64)
	// Put adds such states, which are all new, to a shard. Goroutines may call it for a shard each.
	Put(list []Visited, shard int) error
	// Adopt takes all states from a form that is as wide, in place. It is false of other forms.
	Adopt(from OfWords) bool
}

// Together is how many states are read at once, and put in.
const Together = 64

// Visited is a state with where it comes from.
type Visited struct {
	Words  space.Widest
	Parent space.Ref
	Node   uint8
}

// RecodeAll takes all states from one form of vectors to another. Vectors are not taken apart, and
// all states stay where they are.
func RecodeAll(from, to OfWords) error {
	if to.Adopt(from) {
		return nil
	}
	defer from.Release()
	states, _ := from.Size()
	to.Reserve(states)
	errs := make([]error, from.Shards())
	var done sync.WaitGroup
	for shard := range errs {
		done.Go(func() { errs[shard] = recodeShard(from, to, shard) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// recodeShard takes the states of one shard.
func recodeShard(from, to OfWords, shard int) error {
	list := make([]Visited, Together)
	a, b := from.Shape(), to.Shape()
	for n, end := uint64(0), from.End(shard); n < end; n += uint64(len(list)) {
		list = list[:min(uint64(len(list)), end-n)]
		from.Read(list, shard, n)
		for i := range list {
			list[i].Words = vector.Recode(a, b, &list[i].Words)
		}
		if err := to.Put(list, shard); err != nil {
			return err
		}
	}
	return nil
}
