package translate

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/sut"
)

// TestTranslatorGoesOn: a translator that has translated other logs, most of which begin alike,
// makes of a log what a new one does.
func TestTranslatorGoesOn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	worker := new(sut.Worker)
	var goesOn Translator
	log := sut.Log{Outcome: sut.Completed}
	kept, transitions := 0, 0
	for number := range 20000 {
		same := random.IntN(len(log.Events) + 1)
		log.Events = log.Events[:same]
		lengthen(random, &log, random.IntN(10))
		from := Source{worker: worker, number: number, Same: random.IntN(same + 1)}
		if random.IntN(4) > 0 {
			from.Same = same
		}
		if random.IntN(50) == 0 { // another log came between
			goesOn.from.number--
			log.Events = nil
			lengthen(random, &log, 10)
		}
		for _, s := range goesOn.spans {
			if s.event < from.Same {
				kept++
			}
		}
		got, err := goesOn.Log(&log, from)
		if err != nil {
			t.Fatal(err)
		}
		want, err := new(Translator).Log(&log, Source{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("log %d, %d of %d events were those before, and so they said of %d:\n%s",
				number, same, len(log.Events), from.Same, diff)
		}
		transitions += len(got.Transitions)
	}
	if kept < transitions/2 {
		t.Errorf("about %d transitions of %d were kept: the test says little", kept, transitions)
	}
}

// lengthen appends random events to a log, as a worker may log them.
func lengthen(random *rand.Rand, log *sut.Log, n int) {
	kinds := []sut.EventKind{
		sut.Stepped, sut.Stepped, sut.Ticked, sut.Accessed, sut.Accessed, sut.Spawned, sut.Woke,
		sut.Enabled, sut.Pending, sut.Partnered, sut.Needed, sut.Intended,
		sut.Ended, sut.Estimated,
	}
	operations := []sut.Operation{sut.Exit, sut.Select, sut.Resume, sut.ReadClock}
	var at admitted
	for _, e := range log.Events {
		at.admits(e)
	}
	for range n {
		e := sut.Event{
			Kind: kinds[random.IntN(len(kinds))], Operation: operations[random.IntN(len(operations))],
			Ready:  uint8(random.IntN(3)),
			Number: uint32(random.IntN(3)), Choices: 3, Subject: random.Uint64N(4), Object: random.Uint64N(4),
		}
		if at.admits(e) {
			log.Events = append(log.Events, e)
		}
	}
}

// admitted is what has been admitted to a log, as far as what comes next may belong to it.
type admitted struct{ transition, pending bool }

// admits goes on to an event, unless it is one that the reader of the worker's memory does not let
// through there.
func (p *admitted) admits(e sut.Event) bool {
	begins := e.Kind == sut.Stepped || e.Kind == sut.Ticked && e.Tick() != sut.TickEarly
	if e.Kind == sut.Stepped && e.Number >= e.Choices || e.Kind == sut.Intended && !p.pending ||
		!p.transition && !begins && e.Kind != sut.Pending && e.Kind != sut.Enabled {
		return false
	}
	p.transition = p.transition || begins
	p.pending = e.Kind == sut.Pending || e.Kind == sut.Partnered || p.pending && !begins
	return true
}
