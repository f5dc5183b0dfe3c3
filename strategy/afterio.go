package strategy

// AfterIO checkpoints after each input that the peers answered, so that no answer
// ever has to be produced twice; inputs without an answer are replayed.
type AfterIO struct{}

// Checkpoint implements Strategy.
func (AfterIO) Checkpoint(s Step) bool { return s.ResponseBytes > 0 }
