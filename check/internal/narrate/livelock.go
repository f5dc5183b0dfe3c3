package narrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/sut"
)

// loop is what a goroutine does in a livelock, again and again.
type loop struct {
	goroutine uint64
	round     []sut.Event // the operations of one round, in their order
}

// longestRound is how many operations a round has that is shown. Longer rounds are shown by their
// last operation alone.
const longestRound = 64

// loopsOf lists the loops of the goroutines that can go on at the end of a livelock, in the order
// of the log. Goroutines that are blocked are no part of it.
func loopsOf(log *sut.Log) (list []loop) {
	operations := map[uint64][]sut.Event{}
	acting := uint64(0)
	for i := range log.Events {
		e := &log.Events[i]
		switch e.Kind {
		// The clock belongs to no goroutine. What follows is not counted for the last one.
		case sut.Ticked:
			acting = 0
		case sut.Stepped:
			acting = e.Subject
			if e.Operation == sut.Yield { // which accesses nothing
				operations[acting] = append(operations[acting], *e)
			}
		case sut.Accessed:
			operations[acting] = append(operations[acting], *e)
		case sut.Pending:
			if e.CanGoOn() && e.Operation != sut.Exit && !translate.IsEnvironment(e) {
				list = append(list, loop{e.Subject, roundOf(operations[e.Subject])})
			}
		}
	}
	return list
}

// roundOf is the shortest sequence of operations that the last ones repeat. It begins with the one
// that the most recent round began with; where there is none that is short enough, it is the last
// operation. It compares the last two rounds only: at the end of a livelock all rounds are alike.
func roundOf(operations []sut.Event) []sut.Event {
	n := len(operations)
	for length := 1; length <= longestRound && 2*length <= n; length++ {
		last, before := operations[n-length:], operations[n-2*length:n-length]
		if slices.EqualFunc(last, before, sameOperation) {
			return last
		}
	}
	return operations[max(n-1, 0):]
}

// sameOperation reports whether two events are the same operation of a round. What yields has no
// object, and is told by its place.
func sameOperation(a, b sut.Event) bool {
	return a.Kind == b.Kind && a.Operation == b.Operation && a.PC == b.PC &&
		(a.Kind == sut.Stepped || a.Subject == b.Subject)
}

// loopPlaces is where the loops of a livelock are: the places of their operations.
func loopPlaces(p *sut.Program, log *sut.Log) (list []place) {
	for _, l := range loopsOf(log) {
		for i := range l.round {
			at, _ := programPlace(p, &l.round[i])
			list = append(list, place{l.round[i].Operation.On() + " at ", at})
		}
	}
	return list
}

// livelock says who goes round in which loop: the function and what one round does, each operation
// with its line.
func (n *narrator) livelock() string {
	if loopsOnTimers(n.log) {
		return "livelock: who can go on only goes round in a loop on a timer, without effect, for ever"
	}
	text := "livelock: who can go on only goes round in a loop without effect, and no timer is set"
	for _, l := range loopsOf(n.log) {
		text += fmt.Sprintf("\n%s goes round", n.result.Goroutines[n.names[l.goroutine]].Name)
		if len(l.round) == 0 {
			continue
		}
		var said []string
		for i := range l.round {
			e := &l.round[i]
			at, _ := programPlace(n.program, e)
			what := describe(e.Operation.String(), n.objects[n.objectKey(e)], shortSource(at))
			// Equal neighbours are said once.
			if len(said) == 0 || said[len(said)-1] != what {
				said = append(said, what)
			}
		}
		at, _ := programPlace(n.program, &l.round[0])
		text += fmt.Sprintf(" in %s: %s", at.Function, strings.Join(said, ", "))
		if own, ok := n.program.Position(l.round[0].Open); ok && own != at {
			text += ", called at " + shortSource(own)
		}
	}
	return text
}
