package network

import (
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// What is sent on a slow connection says so itself: Event.Late. So a skeleton says when it arrives:
// with an advance of the clock, before anything else happens then, and before the timers fire that
// are due at this time, or at any point after that. It is like something that is sent then. Who
// sends it does not notice.

// Sometime is Event.Late in a walk: the file says when it arrives.
const Sometime = -1

// lateness is after how many advances of the clock something arrives, as far as its label says.
func (e Event) lateness() int { return max(e.Late, 0) }

// Due is the first epoch in which something can arrive at a node, of the given events, if the
// network is not parted.
func Due(script []skeleton.Event, a *skeleton.Arrival) int {
	return Epoch(script, a) + Did(&a.Send).lateness()
}

// Streams says whether an event is something that a node sends on a connection, or the end of that.
func Streams(e *skeleton.Event) bool {
	d := Did(e)
	return (d.Kind == model.Send || d.Kind == model.Shutdown || d.Kind == model.Close) && d.Conn != "" &&
		d.Address == "" && e.To >= 0
}

// lastDue is the last epoch in which something arrives of what a node sends.
func lastDue(events []skeleton.Event) (due int) {
	epoch := 0
	for i := range events {
		epoch = max(epoch, events[i].Tick)
		if d := Did(&events[i]); d.Late > 0 {
			due = max(due, epoch+d.Late)
		}
	}
	return due
}
