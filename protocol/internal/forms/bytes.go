package forms

import (
	"iter"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// Bytes keeps states as bytes. It is for all models: ordered networks, partitions, and states of
// any length.
type Bytes struct {
	*space.Set
	system *system.System
	packed []byte // of Add
	loaded Places
}

// NewBytes is empty.
func NewBytes(y *system.System, shards int) *Bytes { return &Bytes{Set: space.New(shards), system: y} }

// Add adds a state, unless it is there.
func (f *Bytes) Add(s *system.State, parent space.Ref) (at space.Ref, isNew bool, err error) {
	f.packed = f.system.Pack(f.packed[:0], s)
	return f.Insert(f.packed, parent)
}

// AddFrom remembers no node: what is expanded as bytes is expanded in full.
func (f *Bytes) AddFrom(s *system.State, parent space.Ref, _ uint8) (at space.Ref, isNew bool, err error) {
	return f.Add(s, parent)
}

// Node is not known.
func (f *Bytes) Node(space.Ref) uint8 { return 0 }

// Reset forgets all states.
func (f *Bytes) Reset() {
	f.Set.Reset()
	f.loaded = make(Places, f.Shards())
}

// Load remembers the place.
func (f *Bytes) Load(s *system.State, place uint64, _ space.Ref, _ uint8) (
	at space.Ref, isNew bool, err error) {
	at, isNew, err = f.Add(s, space.None)
	shard, _ := f.Split(at)
	f.loaded.Add(shard, at, place)
	return at, isNew, err
}

// PlaceOf searches by halves.
func (f *Bytes) PlaceOf(at space.Ref) uint64 {
	shard, _ := f.Split(at)
	return f.loaded.Of(shard, at)
}

// Look reads a state.
func (f *Bytes) Look(at space.Ref, s *system.State) { f.system.Unpack(s, f.State(at)) }

// LookLocals reads all.
func (f *Bytes) LookLocals(at space.Ref, s *system.State) { f.Look(at, s) }

// Cut leaves a part whole: there are many shards, and only some places are those of states.
func (f *Bytes) Cut(parts []Part, whole Part) []Part { return append(parts, whole) }

// Each visits the states of a shard between two places.
func (f *Bytes) Each(shard int, from, end uint64) iter.Seq[space.Ref] {
	return func(yield func(space.Ref) bool) {
		states := f.Range(shard, from, end)
		for at, _, ok := states.Next(); ok && yield(at); at, _, ok = states.Next() {
		}
	}
}

// EachMoved knows no nodes.
func (f *Bytes) EachMoved(shard int, from, end uint64, visit func(space.Ref, uint8) error) error {
	for at := range f.Each(shard, from, end) {
		if err := visit(at, 0); err != nil {
			return err
		}
	}
	return nil
}
