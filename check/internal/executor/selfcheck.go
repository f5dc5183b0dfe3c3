package executor

import (
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// SelfCheck runs an execution twice more from main on, in the same worker and in one that is kept
// apart in the other way, and compares event by event and byte by byte. The peers are not asked
// again: answers returns who gives their first answers. What is returned is a copy of the first
// log, which outlives the others.
func (x *Executor) SelfCheck(s sut.Schedule, first *sut.Log, answers func() sut.Peers) (*sut.Log, error) {
	// The worker reuses the memory of its log in the next run.
	kept := *first
	kept.Events = append([]sut.Event(nil), first.Events...)
	twin, err := x.otherWorker()
	if err != nil {
		return nil, err
	}
	for _, again := range []struct {
		worker *sut.Worker
		where  string
	}{{x.worker, "the same process"}, {twin, "a process of its own"}} {
		again.worker.Forget()
		states := repeat(&s)
		log, err := again.worker.Run(s, answers())
		// An input that the first run did not have is an error with a log, which Difference
		// explains.
		if log == nil {
			return nil, fmt.Errorf("self-check in %s: %w", again.where, err)
		}
		d := narrate.Difference(x.config.Program, &kept, log, err)
		if d == "" {
			d = states.problem(x.config.Program)
		}
		if d != "" {
			if again.worker == x.worker && err == nil && kept.From > 0 && x.sameAgain(s, log, answers()) {
				return nil, fmt.Errorf("internal error: an execution that began at choice %d, from a state "+
					"of the program that was kept, differs from the same one from main on "+
					"(--isolation main does without): %s", kept.From, d)
			}
			return nil, fmt.Errorf("the program is not deterministic: something reaches it that is not "+
				"controlled. "+
				"A schedule, run again in %s, differs: %s", again.where, d)
		}
	}
	return &kept, nil
}

// sameAgain reports whether a schedule that was run from main on does the same when it is run so
// once more.
func (x *Executor) sameAgain(s sut.Schedule, log *sut.Log, peers sut.Peers) bool {
	first := *log
	first.Events = append([]sut.Event(nil), log.Events...)
	x.worker.Forget()
	states := repeat(&s)
	again, err := x.worker.Run(s, peers)
	return err == nil && narrate.Difference(x.config.Program, &first, again, nil) == "" &&
		states.problem(x.config.Program) == ""
}

// otherWorker returns the worker for self-checks, which isolates its executions in the way that the
// other one does not. It is started once and then kept. Audits use it, too.
func (x *Executor) otherWorker() (*sut.Worker, error) {
	if x.twin != nil {
		return x.twin, nil
	}
	isolation := sut.Fork
	if x.config.Worker.Isolation == sut.Fork {
		isolation = sut.Snapshot
	}
	var err error
	x.twin, err = x.start(isolation)
	return x.twin, err
}

// Recorded returns peers that answer as they did, if there were any.
func Recorded(peers bool, exchanges []driver.Exchange) sut.Peers {
	if !peers {
		return nil
	}
	return driver.NewRecorded(exchanges)
}

// auditSample follows an execution of so many transitions by as many others as its place in the
// search asks for. Where another executor is to do so, it returns what that has to know; else nil.
func (x *Executor) auditSample(s explore.Schedule, transitions int) (*execution.Sample, error) {
	if x.session == nil || x.config.Auditor == nil && !x.config.Audited {
		return nil, nil
	}
	sample := audit.Of(s, transitions, x.session.Connections(), sampled(s, audit.Share))
	if x.config.Audited && sample.Connections < 2 {
		return nil, nil // there is nothing to audit
	}
	if x.config.Audited {
		return sample, nil
	}
	return nil, x.audits(sample)
}

// audits runs the audits of an execution.
func (x *Executor) audits(s *execution.Sample) error {
	// other.Steps gets the depth below, so an audit is bounded like the execution that it follows.
	for _, other := range x.config.Auditor.Schedules(s) {
		other.Steps = x.config.Depth
		if err := x.Audit(other); err != nil {
			return err
		}
	}
	return nil
}

// AuditFor runs the audits of an execution that was run elsewhere, and returns what they have
// counted. After an interrupt there is an error: some may have been left out.
func (x *Executor) AuditFor(s *execution.Sample) (execution.Counts, error) {
	x.counts = execution.Counts{}
	err := x.audits(s)
	if err == nil {
		err = x.live.Err()
	}
	return execution.Counts{Audits: x.counts.Audits, Compared: x.counts.Compared}, err
}

// Audit runs a schedule with the peers asked in the order that it has them asked in. The twin runs
// it, so the log of the search's worker stays valid.
func (x *Executor) Audit(s sut.Schedule) error {
	a := x.config.Auditor
	if a == nil || x.live.Err() != nil { // peers answer nobody whose check was interrupted
		return nil
	}
	twin, err := x.otherWorker()
	if err != nil {
		return err
	}
	x.counts.Audits++
	compared, err := a.Run(x.live, twin, s)
	x.counts.Compared += compared
	return err
}
