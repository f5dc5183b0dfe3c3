package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Debugged is a process that waits in front of main until a debugger is attached to it. Then it
// takes the way that was recorded. While it is stopped, no time limit runs.
type Debugged struct {
	Pid        int
	Executable string // with debugging information
	// Record is how many records the log has where the step begins that was asked for; Step says
	// which one that is. The step that was asked for may be one of time, which no goroutine makes.
	Record int
	Step   string          // in words; empty: none was asked for
	Parted *report.Parting // where the program as it is now leaves the recording; nil: nowhere
}

// Functions of the runtime at which a debugger stops: at the end of an execution, such as a
// violation, and where a step begins, of the goroutine that is its argument gp.
const (
	EndFunction  = "runtime.tandemEnd"
	StepFunction = "runtime.tandemBeginTransition"
	// StepRecord is what is compared with Debugged.Record, as an expression.
	StepRecord = "runtime.tandem.sh.records"
)

// Debug builds the program of a recording in a directory, as ReplayHere does, and has it debugged:
// use attaches a debugger, and returns when that has ended. The process has gone then. The schedule
// is followed as far as the program agrees, and what can be followed of the rest is. The step is
// counted as in reports; 0: none is asked for.
func Debug(ctx context.Context, rec *report.Recording, dir string, step int,
	use func(Debugged) error) error {
	there, program, clean, err := buildRecorded(ctx, rec, dir, true)
	if err != nil {
		return err
	}
	defer clean()
	// All is known before the process is there for which somebody waits.
	r := &replaying{program: program, recording: there}
	for _, e := range rec.Exchanges {
		r.exchanges = append(r.exchanges, recordedExchange(e))
	}
	d := Debugged{Executable: program.Path}
	schedule := r.schedule()
	if err := r.rehearse(&schedule, step, &d); err != nil {
		return err
	}
	// It is stopped for as long as somebody thinks.
	const forEver = 365 * 24 * time.Hour
	p := there.Program
	worker, err := sut.Start(program, sut.Options{Args: p.Args, Env: p.Env, Dir: p.Directory,
		Environment: p.World, HangTimeout: forEver})
	if err != nil {
		return err
	}
	d.Pid = worker.Pid()
	over, ran := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ran)
		if awaitTracer(d.Pid, over) {
			// What becomes of it is for the debugger to see. There its end is that of the process.
			_, _ = worker.Run(schedule, executor.Recorded(p.Peers, r.exchanges))
			worker.Interrupt()
		}
	}()
	err = use(d)
	close(over)
	worker.Interrupt()
	<-ran
	return errors.Join(err, worker.Close())
}

// rehearse runs the schedule once without a debugger, to see where it goes. If it cannot be
// followed, it is replaced by what can be.
func (r *replaying) rehearse(schedule *sut.Schedule, step int, d *Debugged) (err error) {
	if r.worker, err = r.start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.worker.Close()) }()
	// If the peers would be asked for something else, the session ends there, too.
	answers := executor.Recorded(r.recording.Program.Peers, r.exchanges)
	log, err := r.worker.Run(*schedule, answers)
	d.Parted = narrate.Parted(r.program, r.recording, log, err)
	if log == nil {
		return err
	}
	kept := executor.Keep(log)
	if err == nil && log.Outcome == sut.Diverged {
		followed, err := r.followed(schedule)
		if err != nil {
			return err
		}
		if followed != nil {
			kept = executor.Keep(followed)
		}
	}
	if step == 0 {
		return nil
	}
	// Nothing is asked to be noted beside what happens, so there is a record for each event.
	shown := narrate.Counterexample(r.program, &kept.Log, driver.NewRecorded(r.exchanges).Given(), nil)
	if step < 1 || step > len(shown.Steps) {
		return fmt.Errorf("step %d: the execution has steps 1 to %d: give one of "+
			"them", step, len(shown.Steps))
	}
	var ok bool
	if d.Record, d.Step, ok = narrate.StepFrom(r.program, &kept.Log, step); !ok {
		return fmt.Errorf("step %d: no goroutine makes it or one after it: give an earlier one", step)
	}
	return nil
}

// awaitTracer waits until a debugger is attached to a process, and reports whether one is. It stops
// waiting when over is closed. The kernel tells nobody of it, so it has to be looked for.
func awaitTracer(pid int, over <-chan struct{}) bool {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(status), "\nTracerPid:\t")
		if tracer, _, _ := strings.Cut(rest, "\n"); tracer != "0" && tracer != "" {
			return true
		}
		select {
		case <-over:
			return false
		case <-look.C:
		}
	}
}
