package translate

import (
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Step is a transition of an execution that was logged with what could have been picked instead.
type Step struct {
	model.Action
	Choices     int  // how many alternatives there were
	Environment bool // the clock or a signal: not a goroutine of the program
	Ticks       int  // how often the clock has advanced just before, since nothing else could happen
	// Preempts: the goroutine of the program that ran just before could have gone on, and another
	// one does. That is what a preemption is, here as for the bound on them. It is none if that
	// goroutine has blocked or yielded, has ended, or has had its turn, nor if time has passed or a
	// signal arrived in between.
	Preempts bool
}

// Steps reads the transitions of a log, which must have been made with WantEnabled. They are in the
// order of the log. Without WantEnabled no step would be a preemption.
func Steps(events []sut.Event) []Step {
	var steps []Step
	ticks, canGoOn := 0, false
	var now turn
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case sut.Enabled:
			canGoOn = canGoOn || e.Subject == now.running && !now.rests(e)
		case sut.Ticked:
			if !e.TicksWithin() {
				ticks++
			}
		case sut.Stepped:
			s := Step{
				Action:  e.Action(),
				Choices: int(e.Choices), Environment: IsEnvironment(e), Ticks: ticks,
			}
			s.Preempts = canGoOn && !s.Environment && e.Subject != now.running
			steps, ticks, canGoOn = append(steps, s), 0, false
		}
		now.take(e)
	}
	return steps
}

// turn tells which goroutine of the program has just run, and how many transitions in a row. A turn
// of sut.Turn transitions is over: another goroutine may then go on without preempting.
type turn struct {
	running uint64 // 0: none, or there was something else in between
	length  int
}

// take takes the next event of an execution.
func (t *turn) take(e *sut.Event) {
	switch {
	case e.Kind == sut.Ticked && !e.TicksWithin(), e.Kind == sut.Stepped && IsEnvironment(e):
		*t = turn{}
	case e.Kind == sut.Stepped && e.Subject != t.running:
		*t = turn{e.Subject, 1}
	case e.Kind == sut.Stepped:
		t.length++
	}
}

// rests reports whether the goroutine that has just run is not preempted if another one goes on,
// although it could, too: what it is enabled for is e.
func (t *turn) rests(e *sut.Event) bool {
	return e.Subject == t.running &&
		(e.Operation == sut.Resume || e.Operation == sut.Begin || t.length >= sut.Turn)
}

// IsEnvironment reports whether an event is about what is no goroutine of the program: the clock,
// the senders of signals, the timers of the peers, or the network.
func IsEnvironment(e *sut.Event) bool {
	switch e.Subject {
	case sut.SignalSource, sut.PeerTimerSource, sut.PeerTimeSource, sut.NetworkSource:
		return true
	}
	return e.Operation == sut.Advance
}

// Preemptions says of each step whether it preempts. The log has what else could have been picked.
func Preemptions(events []sut.Event) (list []bool) {
	for _, s := range Steps(events) {
		list = append(list, s.Preempts)
	}
	return list
}
