package strategy

// AfterND checkpoints after each input after which the peers have read the time or
// random numbers, and nowhere else: what they do otherwise they do again when the
// inputs are replayed.
type AfterND struct{}

// Checkpoint implements Strategy.
func (AfterND) Checkpoint(s Step) bool { return s.Kind == Start || s.mustSave() }
