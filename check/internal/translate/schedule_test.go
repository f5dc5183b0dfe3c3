package translate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// TestScheduleLeavesOutTheClock: a worker is told what goroutines do, in their order, and from
// where on which of them sleep; the clock advances by itself.
func TestScheduleLeavesOutTheClock(t *testing.T) {
	var translator Translator // used again, as it is in a search
	rapid.Check(t, func(t *rapid.T) {
		s := explore.Schedule{Seed: rapid.Uint64().Draw(t, "seed"),
			Tentative:   rapid.Bool().Draw(t, "tentative"),
			WantEnabled: rapid.Bool().Draw(t, "want enabled")}
		for range rapid.IntRange(0, 8).Draw(t, "length") {
			s.Prefix = append(s.Prefix, model.Action{
				Goroutine: model.GoroutineID(rapid.IntRange(0, 2).Draw(t, "goroutine")),
				Choice:    rapid.IntRange(0, 2).Draw(t, "choice")})
		}
		if len(s.Prefix) > 0 {
			s.SleepFrom = rapid.IntRange(0, len(s.Prefix)-1).Draw(t, "sleep from")
		}
		for g := range rapid.IntRange(0, 2).Draw(t, "sleepers") {
			s.Sleep = append(s.Sleep, &explore.Sleeper{
				Action:   model.Action{Goroutine: model.GoroutineID(g + 1)},
				Accesses: []explore.Access{{Object: explore.ObjectID(g + 1), Kind: explore.Write}}})
		}
		isClock := func(a model.Action) bool { return a.Goroutine == 0 }
		want := sut.Schedule{Seed: s.Seed, Tentative: s.Tentative, WantEnabled: s.WantEnabled,
			Prefix:    slices.DeleteFunc(slices.Clone(s.Prefix), isClock),
			SleepFrom: len(slices.DeleteFunc(slices.Clone(s.Prefix[:s.SleepFrom]), isClock))}
		for _, x := range s.Sleep {
			want.Sleep = append(want.Sleep, sut.Sleeper{Action: x.Action, Accesses: x.Accesses})
		}
		if diff := cmp.Diff(want, translator.Schedule(s), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", s, diff)
		}
	})
}

// TestReadingsOfTheClock: the search is told which transitions read the clock.
func TestReadingsOfTheClock(t *testing.T) {
	log := sut.Log{Outcome: sut.Completed, Events: []sut.Event{
		{Kind: sut.Stepped, Operation: sut.ReadClock, Subject: 1, Choices: 1},
		{Kind: sut.Stepped, Operation: sut.Select, Subject: 1, Choices: 1},
	}}
	x, err := new(Translator).Log(&log, Source{})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Transitions) != 2 || !x.Transitions[0].ReadsClock || x.Transitions[1].ReadsClock {
		t.Errorf("%+v: the first reads the clock", x.Transitions)
	}
}

// TestEveryOutcomeIsTranslated: each way in which a worker ends an execution is one of the search,
// or an error that says why it says nothing of the program.
func TestEveryOutcomeIsTranslated(t *testing.T) {
	same := map[sut.Outcome]explore.Outcome{
		sut.Completed: explore.Completed, sut.Deadlock: explore.Deadlock, sut.Panicked: explore.Panicked,
		sut.Exited: explore.Exited, sut.AssertionFailed: explore.AssertionFailed, sut.Leaked: explore.Leaked,
		sut.DataRace: explore.DataRace, sut.Livelock: explore.Livelock, sut.Redundant: explore.Redundant,
		sut.Fatal: explore.Panicked, sut.StepLimit: explore.StepLimit, sut.LogLimit: explore.StepLimit,
		sut.RoundLimit: explore.StepLimit, sut.OtherLimit: explore.StepLimit,
		sut.Unjudged: explore.StepLimit, sut.Crashed: explore.Completed,
		sut.Known: explore.Completed,
	}
	errors := map[sut.Outcome]string{
		sut.Diverged: "the program is not deterministic: the schedule could not be followed at choice 7; " +
			"something reaches it that is not controlled",
		sut.Refused:      "the worker reported an impossible outcome: refused",
		sut.Outcome(0):   "the worker reported an impossible outcome: running",
		sut.Outcome(200): "the worker reported an impossible outcome: outcome 200",
	}
	for o := range sut.Outcome(50) {
		got, err := Outcome(&sut.Log{Outcome: o, Position: 7})
		want, known := same[o]
		if known && (err != nil || got != want) || !known && err == nil {
			t.Errorf("%v: %v, error %v, want %v", o, got, err, want)
		}
	}
	for o, want := range errors {
		if _, err := Outcome(&sut.Log{Outcome: o, Position: 7}); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", o, err, want)
		}
	}
}

// stepsAgain is the dumb twin of Steps: it looks back from each transition.
func stepsAgain(events []sut.Event) (list []Step) {
	isTick := func(e *sut.Event) bool { return e.Kind == sut.Ticked && !e.TicksWithin() }
	for i := range events {
		e := &events[i]
		if e.Kind != sut.Stepped {
			continue
		}
		s := Step{Action: e.Action(), Choices: int(e.Choices), Environment: IsEnvironment(e)}
		before := i // where the transition before begins
		for before--; before >= 0 && events[before].Kind != sut.Stepped; before-- {
			if isTick(&events[before]) {
				s.Ticks++
			}
		}
		// Who ran just before, and how many transitions in a row: up to a tick, the environment, or
		// another goroutine.
		running, length := uint64(0), 0
		for k := i - 1; k >= 0; k-- {
			other := &events[k]
			if isTick(other) || other.Kind == sut.Stepped && (IsEnvironment(other) ||
				running != 0 && other.Subject != running) {
				break
			}
			if other.Kind == sut.Stepped {
				running, length = other.Subject, length+1
			}
		}
		for k := before + 1; k < i; k++ {
			other := &events[k]
			if other.Kind == sut.Enabled && other.Subject == running && !ticked(events[before+1:i], isTick) &&
				other.Operation != sut.Resume && other.Operation != sut.Begin && length < sut.Turn {
				s.Preempts = !s.Environment && e.Subject != running
			}
		}
		list = append(list, s)
	}
	return list
}

func ticked(events []sut.Event, isTick func(*sut.Event) bool) bool {
	return slices.ContainsFunc(events, func(e sut.Event) bool { return isTick(&e) })
}

// TestStepsTwin: what preempts, and how often the clock has advanced, is as the dumb twin says. In
// a log the clock advances before it is said what is enabled.
func TestStepsTwin(t *testing.T) {
	preempted := 0
	rapid.Check(t, func(t *rapid.T) {
		var events []sut.Event
		operations := []sut.Operation{sut.Lock, sut.Resume, sut.Begin}
		for range rapid.IntRange(0, 2*sut.Turn+4).Draw(t, "transitions") {
			for range rapid.IntRange(0, 1).Draw(t, "ticks") {
				kind := rapid.SampledFrom([]sut.TickKind{sut.TickLast, sut.TickWithin}).Draw(t, "tick")
				events = append(events, sut.Event{Kind: sut.Ticked, Number: uint32(kind)})
			}
			for g := range uint64(rapid.IntRange(0, 3).Draw(t, "enabled")) {
				events = append(events, sut.Event{Kind: sut.Enabled, Subject: 3 + g,
					Operation: rapid.SampledFrom(operations).Draw(t, "operation"), Choices: 1})
			}
			who := rapid.SampledFrom([]uint64{3, 3, 3, 3, 4, 4, 5, sut.SignalSource}).Draw(t, "who")
			events = append(events, sut.Event{Kind: sut.Stepped, Subject: who, Choices: 2,
				Number: uint32(rapid.IntRange(0, 1).Draw(t, "alternative"))})
		}
		got := Steps(events)
		if diff := cmp.Diff(stepsAgain(events), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-twin +steps):\n%s", diff)
		}
		for _, s := range got {
			if s.Preempts {
				preempted++
			}
		}
	})
	if preempted == 0 {
		t.Error("nothing was preempted")
	}
}
