package strategy

import "time"

// Adaptive weighs what a checkpoint costs against what it saves, both as measured so far, and takes
// one where the peers have read the time or random numbers. Of peers of which nobody knows what
// they read, that is wherever they have answered, as with AfterIO. Otherwise there is one
//
//   - of the start, when starts have taken as long as four checkpoints, where the search is
//     expected to come back half as often again as it has;
//   - where the search comes back to, if the inputs on the way, given again for all executions that
//     it expects to go that way, would cost three checkpoints: some of these executions will find a
//     nearer one;
//   - wherever the inputs on the way would cost six checkpoints: the first return pays for it, and
//     should none ever come, little is lost;
//   - after a new input, if the search comes back to all places alike, as often as it has so far:
//     with d seconds of replay between two checkpoints, n inputs of p seconds each for each return,
//     and C seconds for a checkpoint, a return costs d/2 for replay and C x n x p/d for
//     checkpoints, which is least for d = sqrt(2 x C x n x p). C counts twice here, since there is
//     another occasion when the search comes back. This is the argument of Young, A first order
//     approximation to the optimum checkpoint interval (CACM 1974), with returns in the place of
//     failures.
type Adaptive struct{}

// The returns that are expected before there was any: one, after so many inputs.
const expectedInputs = 10

// Checkpoint implements Strategy.
func (Adaptive) Checkpoint(s Step) bool {
	switch {
	case s.Reads > 0 || s.Uninstrumented && s.Answered:
		return true
	case s.Kind == Start:
		return s.Replay*time.Duration(2*s.Returns+1) >= 4*s.Cost
	case s.SincePhysical == 0:
		return false
	case s.Replay >= 6*s.Cost:
		return true
	}
	replay, cost := s.Replay.Seconds(), s.Cost.Seconds()
	if s.Kind == Return {
		return replay*s.Forecast >= 3*cost
	}
	inputs := float64(s.Inputs+expectedInputs) / float64(s.Returns+1)
	return replay*replay >= 2*(2*cost)*inputs*replay/float64(s.SincePhysical)
}
