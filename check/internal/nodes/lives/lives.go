// Package lives knows how nodes crash and run again where they are explored.
//
// A node that may crash is one component, and all its events are in one order. Its crash is one of
// them, and so is that it runs again. Between the two are the closes of all that it had open, and
// the advances of the clock in which it is down. The disk is no event: it is internal to the node,
// as all else is that goes on there. An exploration of the node goes through its lives one by one.
// Lives that leave the same disk after the same events are one: nothing else of them is left. So
// the lives of a node are not multiplied by each other.
package lives

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Life is what a node does from its beginning to its end, or to a crash.
type Life struct {
	Choices []model.Action
	// Crash is the moment (package pace) at which it crashes; 0: it does not.
	Crash int
}

// Lives are those of a node in an execution.
type Lives []Life

// With has one more life at the end, in a list of its own.
func (l Lives) With(next Life) Lives { return append(slices.Clip(l), next) }

// Schedules are those with which the lives are run again. Without any, there is one that chooses
// nothing.
func (l Lives) Schedules(like sut.Schedule) (first sut.Schedule, later []sut.Schedule) {
	list := []sut.Schedule{like}
	for i := range l {
		s := like
		s.Prefix = l[i].Choices
		list = append(list[:i], s)
	}
	return list[0], list[1:]
}

// Timing has the moments of the crashes of a node that makes some events.
func (l Lives) Timing(events []skeleton.Event) pace.Timing {
	t, life := pace.Timing{}, 0
	for i := range events {
		if network.Did(&events[i]).Kind == model.Crashed && life < len(l) {
			t[events[i].Name] = l[life].Crash
			life++
		}
	}
	return t
}

// Next is the next crash in a script after so many events; nil: there is none.
func Next(script []skeleton.Event, made int) *skeleton.Event {
	for i := min(made, len(script)); i < len(script); i++ {
		if network.Did(&script[i]).Kind == model.Crashed {
			return &script[i]
		}
	}
	return nil
}

// Point is a place at which a node can crash: right before one of its inputs.
type Point struct {
	Made     int // events until then
	Input    int // which one it is of all that the node has given, from 0 on
	Moment   int
	Unsynced int // changes of its disk that a crash can lose
}

// Points are those of an execution. Between two of them the node makes an event, or changes its
// disk: a crash anywhere else would leave the same as one before it.
type Points struct {
	List []Point
	disk bool // the last input is about the disk
}

// Note adds the next one, unless it is the same as the last. IsDisk says whether the input is about
// the disk.
func (p *Points) Note(next Point, isDisk bool) {
	if n := len(p.List); n == 0 || p.disk || p.List[n-1].Made != next.Made {
		p.List = append(p.List, next)
	}
	p.disk = isDisk
}

// At lists those at which a node can make a crash of its script.
func (p *Points) At(crash *skeleton.Event) (list []Point) {
	if crash == nil {
		return nil
	}
	for _, at := range p.List {
		if at.Made == crash.N-1 && at.Unsynced >= network.Did(crash).Lost {
			list = append(list, at)
		}
	}
	return list
}

// Ends is the life that ends there, of an execution that goes on. There were so many inputs before
// that life.
func (p *Point) Ends(log []sut.Event, before int) Life {
	l, inputs := Life{Crash: p.Moment}, p.Input-before
	for i := range log {
		switch e := &log[i]; {
		case e.Kind == sut.Stepped:
			l.Choices = append(l.Choices, e.Action())
		case e.Kind == sut.Exchanged && inputs == 0:
			return l
		case e.Kind == sut.Exchanged:
			inputs--
		}
	}
	return l
}

// IsDown says whether a node is down after some events, in their order: it has crashed and does not
// run again.
func IsDown(events []skeleton.Event) bool {
	for i := len(events) - 1; i >= 0; i-- {
		switch network.Did(&events[i]).Kind {
		case model.Crashed:
			return true
		case model.Restarted:
			return false
		}
	}
	return false
}

// Down is what a node waits for that is down when the clock advances.
func Down() skeleton.Label { return network.Event{Kind: model.Restarted} }

// AreAllUp says whether no node of a skeleton is down in the end. If one is, it is no execution: a
// node runs again at the latest where all others wait, and nobody for a timer.
func AreAllUp(g skeleton.Global) bool {
	return !slices.ContainsFunc(g, func(l skeleton.Local) bool { return l.Waits == Down() })
}

// named is an event of a node after some others.
func named(component int, before []skeleton.Event, label network.Event) *skeleton.Event {
	e := network.InOrder(skeleton.Event{Label: label, To: skeleton.Nobody}, component, len(before)+1)
	return &e
}

// Crashes lists the branches in which a node crashes after some events of a script, where it can
// lose so many changes of its disk: none, if only the process ends, or some of the last.
func Crashes(component int, script []skeleton.Event, at Point, limit int) (list []skeleton.Branch) {
	before := script[:at.Made]
	for i := range before {
		if network.Did(&before[i]).Kind == model.Crashed {
			limit--
		}
	}
	for lost := 0; lost <= at.Unsynced && limit > 0; lost++ {
		e := named(component, before, network.Event{Kind: model.Crashed, Lost: lost})
		if at.Made == len(script) || !e.Equal(&script[at.Made]) {
			list = append(list, skeleton.Branch{Component: component, Before: before, Event: e})
		}
	}
	return list
}

// Rests lists the branches of a node that is down after some events of a script: it runs again, or
// the clock advances first, if it has not advanced as often as it may by then. The script has one
// of both, or ends there.
func Rests(item *skeleton.Item, made, most int) (list []skeleton.Branch) {
	script, before := item.Local.Events, item.Local.Events[:made]
	e := named(item.Component, before, network.Event{Kind: model.Restarted})
	if made == len(script) || !e.Equal(&script[made]) {
		list = append(list, skeleton.Branch{Component: item.Component, Before: before, Event: e})
	}
	advances := made < len(script) && script[made].Tick > 0
	for i := made - 1; i >= 0 && network.Did(&script[i]).Kind != model.Crashed; i-- {
		if script[i].Tick > 0 {
			most--
		}
	}
	if most > 0 && !advances && (made < len(script) || item.Local.Waits != Down()) {
		list = append(list, skeleton.Branch{Component: item.Component, Before: before, Waits: Down()})
	}
	return list
}
