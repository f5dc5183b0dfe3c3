package strategy

import "time"

// Adaptive weighs what a checkpoint costs against what it saves, both as measured so far, and
// checkpoints where the peers have read the time or random numbers. It puts checkpoints at the distance
// that is best if the search comes back to all places alike, as often as it has so far: with d seconds
// of replay between two checkpoints, n inputs of p seconds each for each return, and C seconds for a
// checkpoint, a return costs d/2 for replay and C x n x p/d for checkpoints, which is least for
//
//	d = sqrt(2 x C x n x p)
//
// This is the argument of Young, A first order approximation to the optimum checkpoint interval
// (CACM 1974), with returns in the place of failures.
type Adaptive struct{}

// The returns that are expected before there was any: one, after so many inputs.
const expectedInputs = 10

// Checkpoint implements Strategy.
func (Adaptive) Checkpoint(s Step) bool {
	if s.mustSave() {
		return true
	}
	if s.Kind == Start { // as soon as all starts have taken as long as a checkpoint
		return s.Returns > 0 && s.Replay*time.Duration(s.Returns) >= s.Cost
	}
	if s.SincePhysical == 0 {
		return false
	}
	replay, inputs := s.Replay.Seconds(), float64(s.Inputs+expectedInputs)/float64(s.Returns+1)
	return replay*replay >= 2*s.Cost.Seconds()*inputs*replay/float64(s.SincePhysical)
}
