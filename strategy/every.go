package strategy

// Every is a strategy that takes those of Inner's checkpoints that are at least N inputs after the
// one before, and all after which the peers have read the time or random numbers.
type Every struct {
	Inner Strategy
	N     int // at least 1
}

// Checkpoint implements Strategy.
func (e Every) Checkpoint(s Step) bool {
	return (s.Kind == Start || s.SincePhysical >= e.N || s.mustSave()) && e.Inner.Checkpoint(s)
}
