// Package touched says what the inputs of a node depend on besides what they are about: what
// decides whether something has arrived. A search may swap two inputs that do not depend on each
// other. So what the environment answers must depend only on what an input accesses.
//
// An event that an arrival waits for adds to that, and so does what has the script take the arrival
// next. The order of these does not matter: what has arrived after all of them is the same. So the
// search tries no other order. Who takes the arrival is after all of them (Gate). Who leaves the
// script where it would have taken the arrival is before some of them, or after.
package touched

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// By lists what an input touches that makes some events. was and is say of each arrival whether it
// may come as far as the script and its connection go, or is there: before the input, and after it.
func By(events []skeleton.Event, arrivals []skeleton.Arrival, was, is []bool) (list []model.Touch) {
	touch := func(o model.ObjectID, kind model.AccessKind) {
		if t := (model.Touch{Object: o, Kind: kind}); !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	for k := range events {
		e := &events[k]
		if network.StreamOf(network.Did(e)) == network.Doors {
			touch(dependence.Doors, model.Write)
		}
		for i := range arrivals {
			sent := &arrivals[i].Send
			if slices.Contains(arrivals[i].After, e.Name) {
				touch(dependence.Arrival(i), model.Commute)
				switch {
				case network.IsFoundOut(sent): // a connect that is made is after it, or before
					touch(dependence.Doors, model.Commute)
				case network.Did(sent).Kind == model.Connect: // what has arrived has a number
					touch(dependence.Doors, model.Write)
				}
			}
			// Whoever finds out that a listener is closed connects to it no more.
			if sent.Name == e.From && len(arrivals[i].Knows) > 0 {
				touch(dependence.Doors, model.Write)
			}
		}
	}
	for i := range is {
		switch {
		case is[i] && !was[i]:
			touch(dependence.Arrival(i), model.Commute)
		case was[i] && !is[i]:
			touch(dependence.Arrival(i), model.Write)
		}
	}
	return list
}

// Gate is that of a connection with a name, of what has arrived and what comes next on it. What has
// arrived last waits for all that those before it wait for.
func Gate(conn int, name string, arrivals []skeleton.Arrival, done []bool) model.Gate {
	g := model.Gate{Conn: conn}
	passed, next := 0, 0
	for i := range arrivals {
		send := &arrivals[i].Send
		if sent := network.Did(send); sent.Conn != name || sent.Kind == model.Connect ||
			network.IsFoundOut(send) {
			continue
		}
		if done[i] && send.N > passed {
			passed, g.Passed = send.N, dependence.Arrival(i)
		}
		if !done[i] && (next == 0 || send.N < next) {
			next, g.Next = send.N, dependence.Arrival(i)
		}
	}
	return g
}
