package strategy

// Budget is a strategy that takes Inner's checkpoints as long as there are fewer than N, and from
// then on those only after which the peers have read the time or random numbers.
type Budget struct {
	Inner Strategy
	N     int // checkpoints
}

// Checkpoint implements Strategy.
func (b Budget) Checkpoint(s Step) bool {
	return (s.Images < b.N || s.mustSave()) && b.Inner.Checkpoint(s)
}
