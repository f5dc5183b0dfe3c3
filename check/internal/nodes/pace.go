package nodes

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// pace says when something comes to a node, in a walk and in the replay of one. A moment is a time
// in the execution of a node, by how many inputs there were until then, and advances of the clock.
// There are two for each: what is there comes first, and then what others do because of the input.
type pace interface {
	// comes says whether an arrival may come now: the i-th of the environment, which was sent by an
	// event.
	comes(i int, sent skeleton.Name, moment int) bool
	// breaks says whether the reset comes now that the script has next.
	breaks(reset skeleton.Name, moment int) bool
	// isReset says whether it is known that the other node has reset a connection.
	isReset(conn string) bool
}

// timing has the moments at which something came to a node: sends by their names, and resets by
// their own. Moments are counted from 1 on.
type timing map[skeleton.Name]int

// replayed is the pace of a node in the replay of a walk: all comes as it did then.
type replayed timing

// comes implements pace.
func (t replayed) comes(_ int, sent skeleton.Name, moment int) bool {
	at, known := t[sent]
	return known && at <= moment
}

// breaks implements pace.
func (t replayed) breaks(reset skeleton.Name, moment int) bool { return t[reset] <= moment }

// isReset implements pace.
func (t replayed) isReset(string) bool { return false }

// inTime sorts arrivals as they come in a walk.
func (t replayed) inTime(list []skeleton.Arrival) {
	at := func(a *skeleton.Arrival) int { return cmp.Or(t[a.Send.Name], math.MaxInt) }
	slices.SortStableFunc(list, func(a, b skeleton.Arrival) int {
		return cmp.Or(cmp.Compare(at(&a), at(&b)), compareSends(&a.Send, &b.Send))
	})
}

// compareSends puts sends into an order that does not depend on when they arrive.
func compareSends(a, b *skeleton.Event) int {
	return cmp.Or(cmp.Compare(a.Component, b.Component), network.CompareNames(a.Name, b.Name))
}
