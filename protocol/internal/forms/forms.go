// Package forms keeps the states that a search has visited, in the narrowest form that will do: as
// vectors of one to four words, or as bytes. All forms are exact. They are behind one interface.
// What a search does with states does not depend on which one it is.
//
// Only the insertion into vectors may be done by several goroutines at a time (package space).
package forms

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/vector"
)

// Form is how the visited states are kept.
type Form interface {
	Shards() int
	// End is where a shard's next state will be.
	End(shard int) uint64
	// Split returns the shard of a state, and its place there; Join is the reverse.
	Split(at space.Ref) (shard int, place uint64)
	Join(shard int, place uint64) space.Ref
	Parent(at space.Ref) space.Ref
	Size() (states int, bytes int64)
	Add(s *system.State, parent space.Ref) (at space.Ref, isNew bool, err error)
	Look(at space.Ref, s *system.State)
	// LookLocals reads the local states, and perhaps the rest.
	LookLocals(at space.Ref, s *system.State)
	// AddFrom is Add, with the node that has led to the state; Node returns it. A form may not
	// remember it: it only saves steps.
	AddFrom(s *system.State, parent space.Ref, node uint8) (at space.Ref, isNew bool, err error)
	Node(at space.Ref) uint8
	// Cut appends the parts of a part of a level that workers are to expand at a time.
	Cut(parts []Part, whole Part) []Part
	// Each visits the states of a shard between two places.
	Each(shard int, from, end uint64) iter.Seq[space.Ref]
	// EachMoved visits them with the node that has led to each, plus one, or zero if that is not
	// known.
	EachMoved(shard int, from, end uint64, visit func(at space.Ref, node uint8) error) error
	// Reset forgets all states. Load adds those to be expanded next, in their order; PlaceOf tells
	// which one a state is, if no other states came before them.
	Reset()
	Load(s *system.State, place uint64, parent space.Ref, node uint8) (at space.Ref, isNew bool, err error)
	PlaceOf(at space.Ref) uint64
}

// Part is a part of a level: states of a shard that lie between two places.
type Part struct {
	Shard     int
	From, End uint64
}

// Config says which states are kept, and for whom.
type Config struct {
	*system.System
	Workers int // that insert vectors
	Shards  int // of bytes
	// IsRenamed: alike nodes get other names. Then states are bytes.
	IsRenamed bool
	Log       uint // of the bits of a counter, to base 2
}

// New returns the narrowest form that will do: vectors, or else bytes.
func New(c Config) Form {
	// Channels are no sets. A partition changes all nodes at once, and so do other names of nodes.
	if c.Ordered || c.Faults.Partitions != 0 || c.IsRenamed {
		return NewBytes(c.System, c.Shards)
	}
	for _, newForm := range []func(Config) (Form, bool){NewVectors[[1]uint64], NewVectors[[2]uint64],
		NewVectors[[3]uint64], NewVectors[[4]uint64]} {
		if f, fits := newForm(c); fits {
			return f
		}
	}
	return NewBytes(c.System, c.Shards)
}

// IsNarrow says whether a search can go on with a wider form.
func IsNarrow(err error) bool {
	return errors.Is(err, vector.ErrNarrow) || errors.Is(err, vector.ErrCounter)
}

// Release gives the memory of a form back that nobody uses any more. That of other forms is the
// collector's.
func Release(f Form) {
	if words, ok := f.(OfWords); ok {
		words.Release()
	}
}

// Places are numbers of states, by shard, in the order in which the states lie there.
type Places [][]placed

// placed is a state with its number.
type placed struct {
	at    space.Ref
	place uint64
}

// Add adds a state behind the others of its shard.
func (p Places) Add(shard int, at space.Ref, place uint64) {
	p[shard] = append(p[shard], placed{at, place})
}

// Of is the number of a state that is there.
func (p Places) Of(shard int, at space.Ref) uint64 {
	i, _ := slices.BinarySearchFunc(p[shard], at, func(s placed, at space.Ref) int {
		return cmp.Compare(s.at, at)
	})
	return p[shard][i].place
}
