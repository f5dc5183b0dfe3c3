package recording

import (
	"errors"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Replayed is what a recorded schedule leads to in a program that may have changed since.
type Replayed struct {
	// Shown is the violation that it leads to now; nil: the program ends well, or nobody knows how
	// it ends since the peers' answers are not recorded from some place on.
	Shown     *report.Counterexample
	Ended     string          // how the program ended, if that is known
	SameBuild bool            // it is the very program that was recorded
	Parted    *report.Parting // nil: every step is as recorded
}

// Replay runs a recorded counterexample again, without peers, times times. The very program that
// was recorded must do as recorded: if not, the error says in which run it went another way. A
// program that has changed is followed as far as it agrees. If it cannot follow the schedule, what
// can be followed of the rest is, to see whether that leads to a violation all the same.
func Replay(p *sut.Program, rec *report.Recording, times int) (*Replayed, error) {
	r := newReplaying(p, rec)
	var err error
	if r.worker, err = r.start(); err != nil {
		return nil, err
	}
	defer func() { r.worker.Close() }()
	// All runs of one build are the same, so the first one is shown.
	var first *Replayed
	for i := range times {
		again, err := r.run(first == nil)
		if err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, times, err)
		}
		if first == nil {
			first = again
		}
	}
	return first, nil
}

// replaying is a replay under way. A changed program may end its worker, so that is renewed.
type replaying struct {
	program   *sut.Program
	recording *report.Recording
	exchanges []driver.Exchange
	worker    *sut.Worker
}

// newReplaying is a replay that has no worker yet.
func newReplaying(p *sut.Program, rec *report.Recording) *replaying {
	r := &replaying{program: p, recording: rec}
	for _, e := range rec.Exchanges {
		r.exchanges = append(r.exchanges, recordedExchange(e))
	}
	return r
}

// options are those of a worker in the surroundings that were recorded.
func (r *replaying) options() sut.Options {
	p := r.recording.Program
	return sut.Options{Args: p.Args, Env: p.Env, Dir: p.Directory, Environment: p.World}
}

// start starts a worker.
func (r *replaying) start() (*sut.Worker, error) { return sut.Start(r.program, r.options()) }

// schedule is that of the recording.
func (r *replaying) schedule() sut.Schedule {
	s := sut.Schedule{WantLeaks: r.recording.Expect.Outcome == sut.Leaked.String()}
	s.Prefix = Actions(r.recording)
	return s
}

// run replays once. What is shown is only made if it is wanted.
func (r *replaying) run(wanted bool) (*Replayed, error) {
	rec, schedule := r.recording, r.schedule()
	result := &Replayed{SameBuild: r.program.Hash == rec.Program.Build}
	log, err := r.worker.Run(schedule, executor.Recorded(rec.Program.Peers, r.exchanges))
	// One build takes one way: if it takes another, something that is not controlled reaches it, or
	// the recording is wrong. Both are errors.
	if result.SameBuild {
		if err == nil {
			err = asRecorded(rec, log)
		}
		if err != nil {
			return nil, err
		}
	} else {
		result.Parted = narrate.Parted(r.program, rec, log, err)
	}
	if err != nil { // what the peers would have answered is not known, or the worker has ended
		if result.Parted == nil || log == nil {
			return nil, err
		}
		r.worker.Close()
		r.worker, err = r.start()
		return result, err
	}
	// Its own end is none of the program: it is where the schedule could not be followed.
	if log.Outcome == sut.Diverged {
		if log, err = r.followed(&schedule); err != nil || log == nil {
			return result, err
		}
	}
	result.Ended = log.Outcome.String()
	if outcome, err := translate.Outcome(log); err != nil || !outcome.Violation() || !wanted {
		if log.Outcome == sut.Refused {
			result.Ended += ": " + log.Message
			return result, nil
		}
		return result, err
	}
	result.Shown, err = r.show(schedule, log)
	return result, err
}

// followed runs as much of a schedule as can be followed, and replaces it by what was done. The log
// is nil if that needs answers that are not recorded.
func (r *replaying) followed(schedule *sut.Schedule) (*sut.Log, error) {
	// An execution that goes another way may never end.
	const least = 10_000
	s := *schedule
	s.Lenient, s.Rounds, s.Steps = true, executor.MaxRounds, max(least, 2*len(s.Prefix))
	log, err := r.worker.Run(s, executor.Recorded(r.recording.Program.Peers, r.exchanges))
	if err != nil {
		// Whatever it was: nothing is known of what follows.
		r.worker.Close()
		r.worker, err = r.start()
		return nil, err
	}
	schedule.Prefix = executor.Keep(log).Prefix
	return log, nil
}

// show makes a counterexample of the log of a schedule.
func (r *replaying) show(schedule sut.Schedule, log *sut.Log) (*report.Counterexample, error) {
	rec := r.recording
	peers := driver.NewRecorded(r.exchanges)
	kept := executor.Keep(log)
	// What else could have been picked is asked for in a run of its own, as in a check. Recorded
	// answers are used up by a run, so each has its own.
	preempting, err := executor.Preemptions(r.worker, schedule, func() sut.Peers {
		return executor.Recorded(rec.Program.Peers, r.exchanges)
	}, kept.Events)
	if err != nil {
		return nil, fmt.Errorf("again: %w", err)
	}
	// A data race takes this run in any case, since what comes first must be watched for.
	schedule.Show = &sut.Show{Watch: kept.Log.Race.First()}
	answers := sut.Peers(peers)
	if !rec.Program.Peers {
		answers = nil
	}
	if log, err = r.worker.Run(schedule, answers); err != nil {
		return nil, fmt.Errorf("again: %w", err)
	}
	if at := narrate.FirstDifference(kept.Events, log.Events); at >= 0 {
		return nil, fmt.Errorf("the program is not deterministic: its second run differs at event "+
			"%d of %d%s\nlook for what reaches it and is not controlled, such as a file that others write",
			at+1, len(kept.Events), narrate.EventPlace(r.program, log.Events, at))
	}
	// Nothing was searched here, so counts would say nothing. What was assumed in the search is not
	// recorded either: the violation does not rest on it.
	shown := narrate.Counterexample(r.program, log, peers.Given(), preempting)
	shown.Cache = rec.Cache
	shown.Run = report.Run{
		Package: rec.Program.Package, Args: rec.Program.Args, Verdict: report.Violated,
		Reason:      "as recorded",
		Assumptions: report.Assumptions{Preemptible: r.program.Open, Backend: rec.Program.Backend},
	}
	shown.Schedule = Printed(r.program, rec)
	return shown, nil
}

// asRecorded tells in what a log differs from what was recorded of the same build. The hash is of
// every event, addresses included, so nothing that the program has done can differ.
func asRecorded(rec *report.Recording, log *sut.Log) error {
	switch got := log.Outcome.String(); {
	case got != rec.Expect.Outcome:
		return fmt.Errorf("ended with %q, recorded is %q: check the program again", got, rec.Expect.Outcome)
	case narrate.EventHash(log.Events) != rec.Expect.EventLog:
		return errors.New("the event log differs from the one recorded: check the program again")
	}
	return nil
}
