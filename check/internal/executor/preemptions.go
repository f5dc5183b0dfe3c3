package executor

import (
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/sut"
)

// Preemptions runs a schedule and tells which of its transitions preempt another goroutine. events
// is its log; where that is too long for what else could have been picked, nothing is known. The
// events of the second run are compared without those of kind Enabled, which the first run did not
// ask for. An error is one of the worker.
func Preemptions(w *sut.Worker, s sut.Schedule, answers func() sut.Peers,
	events []sut.Event) ([]bool, error) {
	s.WantEnabled = true
	log, err := w.Run(s, answers())
	if err != nil || narrate.FirstDifference(events, narrate.WithoutEnabled(log.Events)) >= 0 {
		return nil, err
	}
	return translate.Preemptions(log.Events), nil
}
