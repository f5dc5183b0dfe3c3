package global

import (
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/alike"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// chosen chooses one of the states that differ in the names of alike nodes only, for one worker. If
// it is nil, all states are visited as they are.
type chosen struct {
	*alike.Canonical
	worker   *worker
	state    system.State
	compared int // judgements
}

// newChosen has chosen nothing yet.
func newChosen(w *worker) *chosen {
	return &chosen{Canonical: alike.New(*w.Alike, w.Nodes), worker: w}
}

// choose returns the state that is visited for a state, until the next call.
func (c *chosen) choose(s *system.State) (*system.State, error) {
	if c == nil {
		return s, nil
	}
	// Faults have no names.
	k, err := c.Of(alike.State{Locals: s.Locals, Messages: s.Messages, Cut: s.Cut})
	c.state = system.State{Locals: k.Locals, Left: s.Left, Cut: k.Cut, Messages: k.Messages}
	return &c.state, err
}

// So many judgements are compared with those of states in which two alike nodes are exchanged, and
// later each of some.
const (
	firstCompared = 512
	comparedEvery = 16
)

// compare wants a judgement to be the same for other names of alike nodes.
func (c *chosen) compare(s *system.State, j Judgement) error {
	return c.eachSwap(s, func(swap int, classes []uint32) error {
		other := c.worker.Judge(classes)
		switch {
		case other == j:
			return nil
		case other.Violated != j.Violated:
			// One of them is negative, or both are different properties.
			low, high := min(other.Violated, j.Violated), max(other.Violated, j.Violated)
			if low < 0 {
				low = high
			}
			return &alike.AsymmetryError{Property: low, Swap: swap}
		}
		return &alike.AsymmetryError{Property: bits.TrailingZeros64(other.Reached ^ j.Reached), Swap: swap}
	})
}

// compareEnd is that for the end of a run.
func (c *chosen) compareEnd(s *system.State, property int) error {
	return c.eachSwap(s, func(swap int, classes []uint32) error {
		if other := c.worker.JudgeEnd(classes); other != property {
			return &alike.AsymmetryError{Property: max(other, property), Swap: swap}
		}
		return nil
	})
}

// eachSwap calls check with the classes after each exchange of two alike nodes, for a sample.
func (c *chosen) eachSwap(s *system.State, check func(swap int, classes []uint32) error) error {
	if c == nil {
		return nil
	}
	// Each worker has a sample of its own.
	if c.compared++; c.compared > firstCompared && c.compared%comparedEvery != 0 {
		return nil
	}
	// Classes are used again by whoever asks next.
	w := c.worker
	classes := slices.Clone(w.classes)
	defer func() { w.classes = append(w.classes[:0], classes...) }()
	for i := range c.Swaps() {
		locals, err := c.Swap(i, s.Locals)
		if err != nil {
			return err
		}
		if err := check(i, w.classesOf(&system.State{Locals: locals})); err != nil {
			return err
		}
	}
	return nil
}
