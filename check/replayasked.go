package check

import (
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/recording"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
)

// replayFunction is the function of package tandem by which a program asks for a schedule.
const replayFunction = "github.com/tandem-mc/tandem.Replay"

// replayAsked runs the schedule that the program asks for by tandem.Replay, before the search. The
// search has ended if that is a violation, and no other one is looked for. If the program has
// changed, the schedule is followed as far as it can be. Whether the program asks shows in an
// execution with the default schedule, which is the first of a search, and is judged as such. A
// check that goes on has done so before. The peers are asked as in a search.
func (r *run) replayAsked() (ended bool, err error) {
	if r.options.resumes() || !r.options.Program.Has(replayFunction) {
		return false, nil
	}
	// What is printed by this execution is not judged: it is run again for that, below.
	x := r.executor
	log, err := x.Run(r.config.Violating(nil, 0))
	if err != nil || log.Replay == "" {
		return false, err
	}
	rec, err := report.Schedule(log.Replay).Recording()
	if err != nil {
		return false, fmt.Errorf("tandem.Replay: %w", err)
	}
	if err := r.accountFor(explore.Schedule{}); err != nil {
		return false, err
	}
	// Timers may fire as early as they did when it was recorded.
	schedule := r.config.Violating(recording.Actions(rec), rec.Program.World.EarlyTimers)
	schedule.Lenient, schedule.Rounds = true, executor.MaxRounds
	if log, err = x.Run(schedule); err != nil {
		return false, err
	}
	r.replayed = "the schedule of tandem.Replay was followed to its end"
	if parted := narrate.Parted(r.options.Program, rec, log, nil); parted != nil {
		r.replayed = "the schedule of tandem.Replay: " + parted.String()
	}
	// The search knows no lenient schedules. What was done is one that can be followed.
	followed := executor.Keep(log)
	// Several are looked for: the search goes on, and has this one already.
	before := len(r.found.list)
	again := explore.Schedule{Prefix: followed.Prefix, EarlyTimers: log.EarlyTimers}
	if err := r.accountFor(again); err != nil || len(r.found.list) == before || r.options.Violations > 1 {
		return false, err
	}
	r.done.Verdict = explore.Verdict{Kind: explore.Violated, Executions: 2, Violations: 1,
		Reason: "the schedule of tandem.Replay leads to a violation"}
	return true, nil
}

// accountFor runs a schedule, and takes the execution over into the result.
func (r *run) accountFor(schedule explore.Schedule) error {
	_, result, err := r.executor.Execute(schedule, false, func(string) bool { return false })
	if err != nil || result == nil {
		return err
	}
	return r.Account(result)
}
