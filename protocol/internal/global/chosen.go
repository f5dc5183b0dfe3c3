package global

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/alike"
)

// chosen chooses one of the states that differ in the names of alike nodes only.
type chosen struct {
	*alike.Canonical
	state    state
	compared int // judgements
}

// newChosen is for one worker.
func newChosen(c *Config) *chosen { return &chosen{Canonical: alike.New(*c.Alike, c.Nodes)} }

// choose returns the state that is visited for a state, until the next call.
func (w *worker) choose(s *state) (*state, error) {
	if w.alike == nil {
		return s, nil
	}
	// Faults have no names.
	k, err := w.alike.Of(alike.State{Locals: s.locals, Messages: s.messages, Cut: s.cut})
	w.alike.state = state{k.Locals, s.left, k.Cut, k.Messages}
	return &w.alike.state, err
}

// AsymmetryError is of a property that tells alike nodes apart.
type AsymmetryError struct {
	Property int
	// Swap is the number of the exchange of two nodes that shows it.
	Swap int
}

func (e *AsymmetryError) Error() string {
	return fmt.Sprintf("property %d tells alike nodes apart", e.Property)
}

// So many judgements are compared with those of states in which two alike nodes are exchanged, and
// later each of some.
const (
	firstCompared = 512
	comparedEvery = 16
)

// compare wants a judgement to be the same for other names of alike nodes.
func (w *worker) compare(s *state, j Judgement) error {
	return w.eachSwap(s, func(swap int, classes []uint32) error {
		other := w.Judge(classes)
		switch {
		case other == j:
			return nil
		case other.Violated != j.Violated:
			// One of them is negative, or both are different properties.
			low, high := min(other.Violated, j.Violated), max(other.Violated, j.Violated)
			if low < 0 {
				low = high
			}
			return &AsymmetryError{low, swap}
		}
		return &AsymmetryError{bits.TrailingZeros64(other.Reached ^ j.Reached), swap}
	})
}

// compareEnd is that for the end of a run.
func (w *worker) compareEnd(s *state, property int) error {
	return w.eachSwap(s, func(swap int, classes []uint32) error {
		if other := w.JudgeEnd(classes); other != property {
			return &AsymmetryError{max(other, property), swap}
		}
		return nil
	})
}

// eachSwap calls check with the classes after each exchange of two alike nodes, for a sample.
func (w *worker) eachSwap(s *state, check func(swap int, classes []uint32) error) error {
	if w.alike == nil {
		return nil
	}
	// Each worker has a sample of its own.
	if w.alike.compared++; w.alike.compared > firstCompared && w.alike.compared%comparedEvery != 0 {
		return nil
	}
	// Classes are used again by whoever asks next.
	classes := slices.Clone(w.classes)
	defer func() { w.classes = append(w.classes[:0], classes...) }()
	for i := range w.alike.Swaps() {
		locals, err := w.alike.Swap(i, s.locals)
		if err != nil {
			return err
		}
		if err := check(i, w.classesOf(&state{locals: locals})); err != nil {
			return err
		}
	}
	return nil
}
