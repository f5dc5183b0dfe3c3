package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Summary describes a finished check for a report.
func Summary(o Options, result *Result) report.Run {
	v, c := result.Verdict, result.Counts
	assumptions := Assumptions(o)
	assumptions.Scope = result.Scope
	first := sealed(o)
	if v.Kind == explore.Violated { // what was found does not rest on it
		first, assumptions.Other = nil, append(first, assumptions.Other...)
	}
	assumptions.Other = append(assumptions.Other, assumedOfTime(o, v.Executions, c.Early,
		c.EarlyCutOff))
	method := ""
	if o.Client != nil {
		method, _ = o.Client.Quiescence()
	}
	return report.Run{
		Package: o.Package, Args: o.Args, Verdict: report.Verdict(v.Kind.String()), Reason: v.Reason,
		CutOff: result.CutOff, Details: slices.Concat(details(v), first, result.Unused),
		Counts: report.Counts{
			Phases: report.Phases{Systematic: v.Phases.Systematic, Aimed: v.Phases.Aimed,
				Sampled: v.Phases.Sampled, CutOff: v.Phases.CutOff, FirstViolation: v.Phases.At},
			Executions: v.Executions, Redundant: v.Redundant, Limited: v.Limited, Transitions: v.Transitions,
			CacheHits: c.Hits, CacheMisses: c.Misses, ReadInputs: c.ReadInputs, Reads: result.Reads,
			Uninstrumented: result.Uninstrumented,
			Waits:          c.Waits, Cuts: c.Cuts, CutTime: c.CutTime, Quiescence: method,
			SelfChecked: c.SelfChecked, Elapsed: c.Elapsed, CheckpointCounts: checkpointCounts(o, result),
		},
		Assumptions: assumptions, Missed: result.Missed,
	}
}

// checkpointCounts says how often the peers were saved and taken back.
func checkpointCounts(o Options, result *Result) report.CheckpointCounts {
	c := result.Counts
	return report.CheckpointCounts{
		Checkpoints: c.Checkpoints, InMemory: c.InMemory, Refusal: result.Refusal,
		Unstored: c.Unstored, WhyUnstored: result.Unstored, Skipped: c.Skipped, WhySkipped: result.Skipped,
		MadeRoom: c.MadeRoom, Room: cmp.Or(o.CheckpointBytes, ckptd.DefaultMaxBytes),
		Killed: c.Killed, WhyKilled: result.WhyKilled, Disturbed: c.Disturbed,
		Restores: c.Restores, Replayed: c.Replayed,
	}
}

// details say more of a search that has shown nothing for certain.
func details(v explore.Verdict) (lines []string) {
	if text := v.Phases.String(); text != "" {
		lines = append(lines, text)
	}
	if v.Kind != explore.Unknown {
		return lines
	}
	if v.Estimate.Executions > 0 && !v.Complete {
		lines = append(lines, v.Estimate.String())
	}
	if v.Guarantee.Drawn > 0 {
		lines = append(lines, v.Guarantee.String())
	}
	return lines
}

// sealed is the line that names modules in which goroutines are not preempted; none if none matter.
func sealed(o Options) []string {
	if line := o.Modules.Line(); line != "" {
		return []string{line}
	}
	return nil
}

// racesIn says on one line where data races are looked for.
func racesIn(p *sut.Program) string {
	const room = 100 // for the names of modules
	where := slices.Clone(p.Races)
	for i, pattern := range where {
		if pattern != sut.RacesDirect {
			continue
		}
		where[i] = "main and its direct dependencies"
		if len(p.Direct) == 0 {
			continue
		}
		list := ""
		for j, module := range p.Direct {
			if j > 0 && len(list)+len(module) > room {
				list += fmt.Sprintf(" and %d more", len(p.Direct)-j)
				break
			}
			if j > 0 {
				list += ", "
			}
			list += module
		}
		where[i] += " (" + list + ")"
	}
	return strings.Join(where, ", ")
}

// faultsIn says which faults of the network are explored.
func faultsIn(w sut.Environment) string {
	kinds := w.FaultKinds
	if len(kinds) == 0 {
		kinds = sut.DefaultFaultKinds
	}
	text := ", by " + strings.Join(kinds, ", ")
	if len(w.FaultOperations) > 0 {
		text += "; only at " + strings.Join(w.FaultOperations, ", ")
	}
	if len(w.FaultPeers) > 0 {
		text += "; only those of " + strings.Join(w.FaultPeers, ", ")
	}
	return text
}

// assumedOfTime says when timers fired: in so many executions some could do so although goroutines
// could go on.
func assumedOfTime(o Options, executions, early, cutOff int) string {
	const last = "timers fire only when nothing else can go on"
	switch n := o.World.EarlyTimers; {
	case n > 0:
		return fmt.Sprintf("timers fire early only among the first %d advances of the clock", n)
	case early > 0:
		text := fmt.Sprintf("%s, but in %s of %s, in which some fire early: that was only sampled", last,
			textutil.Count(early), textutil.CountOf(executions, "execution"))
		if cutOff > 0 {
			text += fmt.Sprintf(", and %s of these were cut off", textutil.Count(cutOff))
		}
		return text
	}
	return last + ": --early-timers has some fire early"
}

// Assumptions is what the verdict of a check rests on, for a report, besides how time passed.
func Assumptions(o Options) report.Assumptions {
	a := report.Assumptions{Preemptible: o.Program.Open}
	if len(o.Program.Races) > 0 {
		a.Other = append(a.Other, "data races are looked for in: "+racesIn(o.Program))
	} else {
		a.Other = append(a.Other, "there are no data races: they are not looked for")
	}
	if o.Leaks {
		a.Other = append(a.Other, "goroutine leaks are looked for")
	} else {
		a.Other = append(a.Other, "goroutine leaks are not looked for")
	}
	if start := o.World.Start; start != 0 {
		at := time.Unix(start, 0).UTC().Format("2006-01-02 15:04:05 UTC")
		a.Other = append(a.Other, "the clocks start at "+at+
			": the program's, and those of peers that do not have the machine's")
	}
	if n := o.World.Faults; n > 0 && o.Group != nil {
		a.Other = append(a.Other,
			fmt.Sprintf("connections to the peers fail, or datagrams: at most %s in an execution%s",
				textutil.CountOf(n, "time"), faultsIn(o.World)))
	}
	if o.Group != nil {
		a.Other = append(a.Other, o.assumedOfPeerTime())
	}
	if n := o.World.PeerTimers; n > 0 && o.Group != nil {
		a.Other = append(a.Other, fmt.Sprintf("timers of the peers are due: at most %s in an execution",
			textutil.CountOf(n, "time")))
	}
	a.Other = append(a.Other, o.Assumed...)
	if len(o.Absent) > 0 {
		a.Other = append(a.Other, "nobody is there on purpose (absent): "+namesOf(o.Absent))
	}
	if o.Group != nil {
		a.Scope, a.Strategy, a.Backend = o.Scope.String(), o.StrategyName, o.BackendName
		if o.Audited {
			a.Scope = "auto: connection as long as other orders of the requests made no difference, then " +
				"group"
		}
		for _, m := range o.Masks {
			a.Other = append(a.Other, fmt.Sprintf("answers may differ in what %q matches (mask)", m.Pattern))
		}
		a.Other = append(a.Other, arrivals(o.Group)...)
		for _, p := range o.Group.Peers {
			if p.Choices > 0 {
				a.Other = append(a.Other,
					fmt.Sprintf("%s behaves in %s: its time and random numbers follow from which", p.Name,
						textutil.CountOf(p.Choices, "way")))
			}
			if p.VirtualClock {
				ends := ": none of its time-outs ends"
				if o.World.PeerTimers > 0 {
					ends = ""
				}
				a.Other = append(a.Other, fmt.Sprintf("the clock of %s is virtual%s", p.Name, ends))
			}
		}
	}
	return a
}

// arrivals says what a verdict rests on where several clients connect.
func arrivals(g *peers.Group) []string {
	switch {
	case g.Clients() < 2:
		return nil
	case g.AnyArrival:
		return []string{"clients connect in every order"}
	}
	return []string{"clients connect in the order of the configuration"}
}

// namesOf are entries as they are written, with commas in between.
func namesOf(absent []configs.Absent) string {
	var names []string
	for _, a := range absent {
		names = append(names, a.String())
	}
	return strings.Join(names, ", ")
}

// assumedOfPeerTime says which timers of the peers a verdict knows nothing of.
func (o *Options) assumedOfPeerTime() string {
	patience := max(cmp.Or(o.PeerPatience, watch.DefaultPatience), 0)
	if o.Scope != iocache.Group || patience == 0 {
		return "timers of peers with the machine's clock are not waited for"
	}
	return fmt.Sprintf(
		"timers of peers with the machine's clock that are due in more than %v are not waited for", patience)
}

// recording is the counterexample as `tandem replay` needs it.
func recording(o *Options, v *violation, log *sut.Log, exchanges []driver.Exchange) *report.Recording {
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
		Expect: report.Expectation{Outcome: log.Outcome.String(), EventLog: narrate.EventHash(log.Events),
			Steps: narrate.StepsHash(p, log.Events)},
	}
	for _, c := range v.Prefix {
		rec.Schedule = append(rec.Schedule, report.Chosen{Goroutine: uint64(c.Goroutine), Choice: c.Choice})
	}
	for _, x := range exchanges {
		rec.Exchanges = append(rec.Exchanges, recordExchange(x))
	}
	return rec
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

// asRecorded tells in what a log differs from what was recorded.
func asRecorded(p *sut.Program, rec *report.Recording, log *sut.Log) error {
	switch got := log.Outcome.String(); {
	case got != rec.Expect.Outcome:
		return fmt.Errorf("ended with %q, recorded is %q", got, rec.Expect.Outcome)
	case p.Hash == rec.Program.Build && narrate.EventHash(log.Events) != rec.Expect.EventLog:
		return errors.New("the event log differs from the one recorded")
	case p.Hash != rec.Program.Build && narrate.StepsHash(p, log.Events) != rec.Expect.Steps:
		return errors.New("its steps differ from those recorded")
	}
	return nil
}

// Replay runs a recorded counterexample again, without peers, times times. The error says in which
// run and at which event or exchange it went another way. Another build of the program than the one
// recorded will do if it takes the same steps.
func Replay(p *sut.Program, rec *report.Recording, times int) (*report.Counterexample, error) {
	shown, err := replay(p, rec, times)
	if err != nil && p.Hash != rec.Program.Build {
		return nil, fmt.Errorf("the program differs from the one recorded (built from other source, or by "+
			"another Go than %s), and the recorded schedule does not lead to the same steps in it: check "+
			"it again (%w)",
			rec.Program.GoVersion, err)
	}
	return shown, err
}

// replay is Replay, whose errors do not say yet that the program is another one.
func replay(p *sut.Program, rec *report.Recording, times int) (*report.Counterexample, error) {
	w, err := sut.Start(p, sut.Options{Args: rec.Program.Args, Env: rec.Program.Env,
		Dir: rec.Program.Directory, Environment: rec.Program.World})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	schedule := sut.Schedule{WantLeaks: rec.Expect.Outcome == sut.Leaked.String()}
	for _, c := range rec.Schedule {
		schedule.Prefix = append(schedule.Prefix,
			model.Action{Goroutine: model.GoroutineID(c.Goroutine), Choice: c.Choice})
	}
	var exchanges []driver.Exchange
	for _, e := range rec.Exchanges {
		exchanges = append(exchanges, recordedExchange(e))
	}
	var shown *report.Counterexample
	for i := range times {
		peers := driver.NewRecorded(exchanges)
		answers := sut.Peers(peers)
		if !rec.Program.Peers {
			answers = nil
		}
		log, err := w.Run(schedule, answers)
		if err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, times, err)
		}
		if err := asRecorded(p, rec, log); err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, times, err)
		}
		if shown == nil {
			kept := executor.Keep(log)
			preempting, err := preemptions(w, schedule, func() sut.Peers {
				return executor.Recorded(rec.Program.Peers, exchanges)
			}, kept.Events)
			if err != nil {
				return nil, fmt.Errorf("run %d of %d, again: %w", i+1, times, err)
			}
			if log, err = explained(w, schedule, &kept.Log, exchanges); err != nil {
				return nil, err
			}
			shown = narrate.Counterexample(p, log, peers.Given(), preempting)
			shown.Run = report.Run{
				Package: rec.Program.Package, Args: rec.Program.Args, Verdict: report.Violated,
				Reason:      "as recorded",
				Assumptions: report.Assumptions{Preemptible: p.Open, Backend: rec.Program.Backend},
			}
		}
	}
	return shown, nil
}

// explained is a log that has all that people want to see: for a data race it takes another run,
// since what comes first must be watched for.
func explained(w *sut.Worker, s sut.Schedule, log *sut.Log, exchanges []driver.Exchange) (*sut.Log, error) {
	if log.Race == nil {
		return log, nil
	}
	s.Watch = log.Race.First()
	return w.Run(s, driver.NewRecorded(exchanges))
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
