package pasts

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Transition is one of an execution, from one point to the next.
type Transition struct {
	dependence.Step
	Choice int // of its alternatives
	// Barrier: the program's clock advances, or the program ends. Asks: nothing else can happen,
	// and the environment says whether time passes.
	Barrier, Asks bool
	// Accesses are those of the program; All has those, too, that the environment has added.
	Accesses, All []model.Access
	Exchanges     []int // inputs, as they are counted
}

// Transitions reads the log of an execution, to which so much can arrive.
func Transitions(events []sut.Event, arrivals int) (list []Transition) {
	inputs := 0
	for i := range events {
		e := &events[i]
		if t, begins := begun(e); begins {
			list = append(list, t)
			continue
		}
		if len(list) == 0 {
			continue
		}
		t := &list[len(list)-1]
		switch e.Kind {
		case sut.Accessed:
			a, own := accessed(events[i:], arrivals)
			if t.All = append(t.All, a); own {
				t.Accesses = append(t.Accesses, a)
			}
		case sut.Spawned, sut.Woke:
			t.Starts = append(t.Starts, e.Subject)
		case sut.Exchanged:
			t.Exchanges = append(t.Exchanges, inputs)
			inputs++
		}
	}
	return list
}

// begun is the transition that an event of a log begins, if it does.
func begun(e *sut.Event) (t Transition, begins bool) {
	switch {
	case e.Kind == sut.Stepped:
		return Transition{Step: dependence.Step{Goroutine: e.Subject, Stepped: true}, Choice: e.Alternative(),
			Barrier: e.Operation == sut.Exit, Asks: e.Subject == sut.PeerTimeSource}, true
	case e.Kind == sut.Ticked && !e.TicksWithin():
		return Transition{Barrier: !e.AsksPeers(), Asks: e.AsksPeers()}, true
	}
	return t, false
}

// accessed is the access with which a part of a log begins, and whether it is one of the program:
// an arrival is none.
func accessed(events []sut.Event, arrivals int) (a model.Access, own bool) {
	a = model.Access{Object: model.ObjectID(events[0].Subject), Kind: events[0].Access}
	return a, !dependence.IsAdded(a.Object, arrivals) && !delivers(events)
}

// What arrives is handed out at the end of an input. Nothing of the program is logged in between.
// So all accesses from an input to the last thing that it has delivered are those of arrivals.

// delivers says whether an access is that of an arrival: something is delivered after it, before
// the next input or transition.
func delivers(events []sut.Event) bool {
	for i := range events {
		switch events[i].Kind {
		case sut.Delivered:
			return true
		case sut.Exchanged, sut.Stepped, sut.Ticked:
			return false
		}
	}
	return false
}
