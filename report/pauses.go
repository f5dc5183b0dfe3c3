package report

import "fmt"

// validatePauses checks which advances of the clock nodes do not notice. Only in a walk nodes are
// paused, and a pause goes on only where it has begun: with the advance before.
func (r *NodesRecording) validatePauses() error {
	const begins, fires, goesOn = 1, 2, 3
	paused := make([]bool, r.Components()+1)
	for i := range r.Events {
		e := &r.Events[i]
		switch {
		case e.Paused == 0:
			if e.Kind == "pass" {
				paused[e.Node] = false
			}
		case e.Paused < begins || e.Paused > goesOn || e.Kind != "pass" || e.Own || !r.Walk:
			return fmt.Errorf("event %d: %s pauses a node (%d): want an advance of the clock in a walk, "+
				"which is no timer of the node, and a number from %d to %d",
				i+1, e.Kind, e.Paused, begins, goesOn)
		case e.Paused == goesOn && !paused[e.Node]:
			return fmt.Errorf("event %d: a pause goes on (%d) that has not begun: want %d or %d first",
				i+1, goesOn, begins, fires)
		default:
			paused[e.Node] = true
		}
	}
	return nil
}
