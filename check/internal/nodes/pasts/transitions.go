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
		switch e.Kind {
		case sut.Stepped:
			list = append(list, Transition{Choice: e.Alternative(),
				Step:    dependence.Step{Goroutine: e.Subject, Stepped: true},
				Barrier: e.Operation == sut.Exit, Asks: e.Subject == sut.PeerTimeSource})
			continue
		case sut.Ticked:
			if !e.TicksWithin() {
				list = append(list, Transition{Barrier: !e.AsksPeers(), Asks: e.AsksPeers()})
			}
			continue
		}
		if len(list) == 0 {
			continue
		}
		t := &list[len(list)-1]
		switch e.Kind {
		case sut.Accessed:
			a := model.Access{Object: model.ObjectID(e.Subject), Kind: e.Access}
			t.All = append(t.All, a)
			if !dependence.IsAdded(a.Object, arrivals) && !delivers(events[i:]) {
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
