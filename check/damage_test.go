package check

import (
	"testing"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// FuzzDamagedLog makes executions of events that are each possible and together make no sense. The
// search may refuse them, and a report may be odd; nothing may panic. Eight bytes are an event.
func FuzzDamagedLog(f *testing.F) {
	step := []byte{byte(sut.Stepped), byte(sut.Lock), byte(model.Write), 1, 0, 1, 1, 2}
	access := []byte{byte(sut.Accessed), byte(sut.Lock), byte(model.Write), 1, 0, 1, 2, 0}
	f.Add(byte(sut.Completed), append(step, access...))
	f.Add(byte(sut.Leaked), append(step, byte(sut.Left), byte(sut.Select), 0, 0, 0, 0, 77, 0))
	f.Add(byte(sut.Deadlock), append(step, byte(sut.Pending), byte(sut.Select), 2, 1, 1, 2, 77, 3,
		byte(sut.Needed), 1, 1, 1, 1, 1, 1, 1))
	f.Add(byte(sut.Completed), append([]byte{byte(sut.Ticked), 0, 0, 0, 0, 0, 9, 0}, access...))
	f.Add(byte(sut.Completed), append([]byte{byte(sut.Enabled), 3, 0, 0, 0, 255, 4, 0}, step...))
	p := buildExample(f, "httpget")
	f.Fuzz(func(t *testing.T, outcome byte, data []byte) {
		log := &sut.Log{Outcome: sut.Outcome(outcome % 15)}
		if log.Outcome == sut.DataRace {
			log.Race = &sut.Race{}
		}
		var at admitted
		for ; len(data) >= 8 && len(log.Events) < 1000; data = data[8:] {
			e := sut.Event{
				Kind: sut.Stepped + sut.EventKind(data[0]-1)%sut.Left, Operation: sut.Operation(data[1] % 30),
				Access: model.AccessKind(data[2] % 3),
				Ready:  data[3], Number: uint32(data[4]), Choices: uint32(data[5]), Subject: uint64(data[6]),
				Object: uint64(data[7]),
			}
			if at.admits(e) {
				log.Events = append(log.Events, e)
			}
		}
		var translator translate.Translator
		if x, err := translator.Log(log, translate.Source{}); err == nil {
			for _, s := range []*explore.Search{dporSearch(), dfsSearch()} {
				s.Next()
				if s.Report(x) == nil {
					s.Next()
				}
			}
		}
		narrate.Counterexample(p, log, nil, nil)
	})
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
