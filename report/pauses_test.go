package report

import "testing"

// TestWrongPausesAreRefused: nodes are paused by advances of the clock in a walk, from a beginning
// on.
func TestWrongPausesAreRefused(t *testing.T) {
	pause := func(how ...int) func(*NodesRecording) {
		return func(r *NodesRecording) {
			r.Walk = true
			n := 0
			for i := range r.Events {
				if e := &r.Events[i]; e.Kind == "pass" && n < len(how) {
					e.Node, e.Own, e.Paused = 2, false, how[n]
					n++
				}
			}
		}
	}
	for _, how := range [][]int{{0, 0, 0}, {1, 3, 3}, {2, 0, 1}, {1, 2, 3}} {
		r := exampleOfNodes()
		if pause(how...)(r); r.validatePauses() != nil {
			t.Errorf("pauses %v are refused: %v", how, r.validatePauses())
		}
	}
	for _, c := range []struct {
		want  string
		spoil func(*NodesRecording)
	}{
		{"pass pauses a node (4)", pause(4)},
		{"pass pauses a node (-1)", pause(-1)},
		{"a pause goes on (3) that has not begun", pause(3)},
		{"a pause goes on (3) that has not begun", pause(1, 0, 3)},
		{"pass pauses a node (1)", func(r *NodesRecording) { pause(1)(r); r.Walk = false }},
		{"pauses a node (1)", func(r *NodesRecording) { r.Walk, r.Events[1].Paused = true, 1 }},
	} {
		refuses(t, c.want, c.spoil)
	}
}
