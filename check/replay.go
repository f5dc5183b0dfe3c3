package check

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/model"
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
	r := &replaying{program: p, recording: rec}
	var err error
	if r.worker, err = r.start(); err != nil {
		return nil, err
	}
	defer func() { r.worker.Close() }()
	for _, e := range rec.Exchanges {
		r.exchanges = append(r.exchanges, recordedExchange(e))
	}
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

// start starts a worker in the surroundings that were recorded.
func (r *replaying) start() (*sut.Worker, error) {
	p := r.recording.Program
	return sut.Start(r.program, sut.Options{Args: p.Args, Env: p.Env, Dir: p.Directory,
		Environment: p.World})
}

// schedule is that of the recording.
func (r *replaying) schedule() sut.Schedule {
	s := sut.Schedule{WantLeaks: r.recording.Expect.Outcome == sut.Leaked.String()}
	s.Prefix = recordedActions(r.recording)
	return s
}

// recordedActions is the schedule of a recording as a worker takes it. A goroutine is known by its
// place in the spawn tree, which edits of other goroutines do not change.
func recordedActions(rec *report.Recording) (list []model.Action) {
	for _, c := range rec.Schedule {
		list = append(list, model.Action{Goroutine: model.GoroutineID(c.Goroutine), Choice: c.Choice})
	}
	return list
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
	preempting, err := preemptions(r.worker, schedule, func() sut.Peers {
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
	shown.Schedule = scheduleOf(r.program, rec)
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

// recording is the counterexample as `tandem replay` needs it.
func recording(o *Options, log *sut.Log, exchanges []driver.Exchange) *report.Recording {
	p, world := o.Program, o.World
	world.EarlyTimers = log.EarlyTimers
	rec := &report.Recording{
		Program: report.Program{
			Package: o.Package, Args: o.Args, Env: o.Env, World: world,
			Directory: o.Dir,
			Peers:     o.Group != nil, Backend: Assumptions(*o).Backend,
			Tests: p.Tests, Preemptible: p.Open, Races: p.Races, Tags: p.Tags,
			GoVersion: p.Version, Build: p.Hash,
		},
		Expect:   report.Expectation{Outcome: log.Outcome.String(), EventLog: narrate.EventHash(log.Events)},
		Schedule: narrate.Chosen(p, log.Events),
	}
	for _, x := range exchanges {
		rec.Exchanges = append(rec.Exchanges, recordExchange(x))
	}
	return rec
}

// scheduleOf is a recording as a string; empty if it cannot be one, or would be too long to print.
// The package has its import path there, since nobody knows where the string will be used. The
// directory in which the program ran is told from there on.
func scheduleOf(p *sut.Program, rec *report.Recording) report.Schedule {
	path := strings.TrimSuffix(p.ImportPath, ".test")
	dir, err := filepath.Rel(p.Dir, rec.Program.Directory)
	if err != nil || path == "command-line-arguments" { // files, which have no path
		return ""
	}
	// Whatever is wrong with it, the file has all that it would have.
	s, err := report.NewSchedule(rec, path, dir)
	if err != nil || len(s) > report.MaxPrinted {
		return ""
	}
	return s
}

// recordExchange is an exchange as a recording keeps it. A replay has no peers: whatever the
// program can notice of them has to be in it.
func recordExchange(x driver.Exchange) report.Exchange {
	e := report.Exchange{
		Input: x.Input, Refused: x.Answer.Refused, Deliveries: x.Answer.Deliveries,
		Clients: x.Answer.Clients, Failure: x.Answer.Failure,
	}
	if t := x.Answer.Time; t != (model.Time{}) {
		e.Time = &report.PassedTime{Passed: t.Passed, Idle: t.Idle, Tie: t.Tie, Due: t.Due, Peer: x.TimerOf}
	}
	for i, listener := range x.Answer.Opened {
		e.Opened = append(e.Opened, report.Opening{Conn: x.Answer.First + i, Listener: listener})
	}
	for _, end := range x.Ended {
		e.Ended = append(e.Ended, report.Ending{Peer: end.Peer, Status: int(end.Status)})
	}
	for _, w := range x.Wrote {
		e.Wrote = append(e.Wrote, report.Wrote{Peer: w.Peer, Text: []byte(w.Text)})
	}
	e.Unheard = !x.Heard
	return e
}

// recordedExchange is the inverse of recordExchange.
func recordedExchange(e report.Exchange) driver.Exchange {
	x := driver.Exchange{Input: e.Input, Cached: true, Heard: !e.Unheard}
	x.Answer = model.Answer{
		Reaction: model.Reaction{Refused: e.Refused, Deliveries: e.Deliveries},
		Conn:     e.Input.Conn, Clients: e.Clients, Failure: e.Failure,
	}
	if t := e.Time; t != nil {
		x.Answer.Time = model.Time{Passed: t.Passed, Idle: t.Idle, Tie: t.Tie, Due: t.Due}
		x.TimerOf = t.Peer
	}
	for i, o := range e.Opened {
		if i == 0 {
			x.Answer.First = o.Conn
		}
		x.Answer.Opened = append(x.Answer.Opened, o.Listener)
	}
	for _, gone := range e.Ended {
		x.Ended = append(x.Ended, driver.End{Peer: gone.Peer, Status: unix.WaitStatus(gone.Status)})
	}
	for _, w := range e.Wrote {
		x.Wrote = append(x.Wrote, driver.Written{Peer: w.Peer, Text: string(w.Text)})
	}
	return x
}
