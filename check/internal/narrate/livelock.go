package narrate

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/textutil"
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

// loopsOnTimers reports whether a goroutine is left that waits for timers again and again.
func loopsOnTimers(log *sut.Log) bool {
	return slices.ContainsFunc(log.Events, func(e sut.Event) bool {
		loops, _ := e.LoopsOnTimers()
		return loops
	})
}

// loopOnTimers says how a goroutine loops on timers; empty if it does not.
func loopOnTimers(e *sut.Event) string {
	switch loops, proven := e.LoopsOnTimers(); {
	case proven:
		return "loops on timers for ever"
	case loops:
		return fmt.Sprintf("still looped on timers when time had passed after main (%s, or %d years)",
			textutil.CountOf(sut.OvertimeTimers, "timer"), sut.OvertimeYears)
	}
	return ""
}
