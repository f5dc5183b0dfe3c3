// Package pace says when things come to a node, in an execution of all nodes and in the replay of
// one.
package pace

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// Pace says when something comes to a node, in a walk and in the replay of one. A moment is a time
// in the execution of a node, by how many inputs there were until then, and advances of the clock.
// There are two for each: what is there comes first, and then what others do because of the input.
type Pace interface {
	// Comes says whether an arrival may come now: the i-th of the environment, which was sent by an
	// event.
	Comes(i int, sent skeleton.Name, moment int) bool
	// Breaks says whether the event comes now that the script has next: a reset, or a crash.
	Breaks(next skeleton.Name, moment int) bool
	// IsReset says whether it is known that the other node has reset a connection.
	IsReset(conn string) bool
}

// Timing has the moments at which something came to a node: sends by their names, and resets and
// crashes by their own. Moments are counted from 1 on.
type Timing map[skeleton.Name]int

// Replayed is the pace of a node in the replay of a walk: all comes as it did then.
type Replayed Timing

// Comes implements Pace.
func (t Replayed) Comes(_ int, sent skeleton.Name, moment int) bool {
	at, known := t[sent]
	return known && at <= moment
}

// Breaks implements Pace.
func (t Replayed) Breaks(next skeleton.Name, moment int) bool { return t[next] <= moment }

// IsReset implements Pace.
func (t Replayed) IsReset(string) bool { return false }

// Sort sorts arrivals as they come in a walk.
func (t Replayed) Sort(list []skeleton.Arrival) {
	at := func(a *skeleton.Arrival) int { return cmp.Or(t[a.Send.Name], math.MaxInt) }
	slices.SortStableFunc(list, func(a, b skeleton.Arrival) int {
		return cmp.Or(cmp.Compare(at(&a), at(&b)), network.CompareSends(&a.Send, &b.Send))
	})
}
