package datagram

import (
	"slices"

	"github.com/tandem-mc/tandem/sut"
)

// Weather is drawn before an execution begins, and not while it goes on: which datagrams suffer
// does not depend on what goroutines do. Datagrams are counted as they are sent, by whichever node,
// but for those that nobody would get anyway. So the more there were in other executions, the later
// may the first one be that suffers.

// Kinds are the ways in which datagrams suffer, by their names among faults of the network, and
// what then becomes of them.
var Kinds = map[string]string{"lost": Lost, "duplicated": Copied, "reordered": Late}

// Fault is one that is still to come: to the datagram with that number, of all that nodes send to
// each other in an execution.
type Fault struct {
	Number int
	Fate   string
}

// Weather is what the network does to datagrams in an execution.
type Weather struct {
	coming []Fault
	sent   int
}

// NewWeather has some faults come.
func NewWeather(coming []Fault) *Weather { return &Weather{coming: coming} }

// Next is what becomes of the next datagram; empty: it arrives.
func (w *Weather) Next() (fate string) {
	w.sent++
	i := slices.IndexFunc(w.coming, func(f Fault) bool { return f.Number == w.sent })
	if i < 0 {
		return ""
	}
	return w.coming[i].Fate
}

// Sent is how many datagrams there were that could have arrived.
func (w *Weather) Sent() int { return w.sent }

// Faults takes the faults of datagrams out of those of a node, and returns them with how many there
// may be in an execution. The network makes them, and not the node: so they come anywhere, and not
// only to the first datagrams of a node.
func Faults(e *sut.Environment) (kinds []string, limit int) {
	if e.Faults == 0 {
		return nil, 0
	}
	all := e.FaultKinds
	if len(all) == 0 {
		all = sut.DefaultFaultKinds
	}
	var rest []string
	for _, kind := range all {
		if Kinds[kind] != "" {
			kinds = append(kinds, kind)
		} else {
			rest = append(rest, kind)
		}
	}
	if len(kinds) == 0 {
		return nil, 0
	}
	limit, e.FaultKinds = e.Faults, rest
	if len(rest) == 0 {
		e.Faults = 0
	}
	return kinds, limit
}
