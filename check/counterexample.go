package check

import (
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/sut"
)

// explain runs the violating schedule once more, with everything noted that
// people want to see, and makes a counterexample and a recording of it.
func (r *run) explain(v *violation, result *Result) error {
	var exchanges []driver.Exchange
	x := r.executor
	if x.talk != nil {
		x.talk.Watch(func(x driver.Exchange) { exchanges = append(exchanges, x) })
		defer func() { x.talk.Watch(nil) }()
	}
	schedule := r.violating(v.prefix, v.log.EarlyTimers)
	if err := x.audit(schedule); err != nil {
		return err
	}
	schedule.Watch = v.log.Race.First()
	preempting, err := preemptions(x.worker, schedule, x.answers, v.events)
	if err != nil {
		return fmt.Errorf("running the counterexample again: %w", err)
	}
	exchanges = nil
	log, err := x.worker.Run(schedule, x.answers())
	if err != nil {
		return fmt.Errorf("running the counterexample again: %w", err)
	}
	if at := narrate.FirstDifference(v.events, log.Events); at >= 0 {
		return fmt.Errorf("the program is not deterministic: the violating schedule, run again, differs at "+
			"event %d of %d%s%s",
			at+1, len(v.events), narrate.EventPlace(r.options.Program, log.Events, at),
			narrate.DifferingFields(v.events, log.Events, at))
	}
	for i := range exchanges {
		exchanges[i].Cached = v.hits[i] // in the second run, all are
	}
	shown := narrate.Counterexample(r.options.Program, log, exchanges, preempting)
	shown.Run, shown.Shrunk = r.summary(result), v.shrunk
	if v.tests != nil {
		shown.Run.Args = v.tests
	}
	summary := narrate.SignatureOf(r.options.Program, log).Summary()
	summary.Executions, summary.Size = v.executions, shown.Size()
	result.Violations = append(result.Violations, Violation{
		Tests: v.tests, Summary: summary, Counterexample: shown, Recording: r.recording(v, log, exchanges),
	})
	return nil
}

// preemptions runs a schedule and tells which of its transitions preempt another
// goroutine. events is its log; where that is too long for what else could have been picked,
// nothing is known.
func preemptions(w *sut.Worker, s sut.Schedule, answers func() sut.Peers,
	events []sut.Event) ([]bool, error) {
	s.WantEnabled = true
	log, err := w.Run(s, answers())
	if err != nil || narrate.FirstDifference(events, narrate.WithoutEnabled(log.Events)) >= 0 {
		return nil, err
	}
	var list []bool
	for _, x := range translate.Steps(log.Events) {
		list = append(list, x.Preempts)
	}
	return list, nil
}
