package strategy

// AfterIO checkpoints after each input that the peers answered, so that no answer ever has to be
// produced twice, or after which they have read the time or random numbers; other inputs are
// replayed. Of peers of which nobody knows what they read, to end a connection without a word is an
// answer too.
type AfterIO struct{}

// Checkpoint implements Strategy.
func (AfterIO) Checkpoint(s Step) bool {
	return s.Kind == Start || s.ResponseBytes > 0 || s.Reads > 0 || s.Uninstrumented && s.Answered
}
