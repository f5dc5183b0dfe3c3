package check

import (
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/sut"
)

// selfCheck runs an execution twice more, in the same worker and in one that is
// kept apart in the other way, and compares event by event and byte by byte. The
// peers are not asked again: their first answers are given. What is returned is
// a copy of the first log, which outlives the others.
func (x *executor) selfCheck(s sut.Schedule, first *sut.Log, answers []driver.Exchange) (*sut.Log, error) {
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
		log, err := again.worker.Run(s, recorded(x.talk != nil, answers))
		if log == nil {
			return nil, fmt.Errorf("self-check in %s: %w", again.where, err)
		}
		if d := narrate.Difference(x.run.options.Program, &kept, log, err); d != "" {
			return nil, fmt.Errorf("the program is not deterministic: something reaches it that is not "+
				"controlled. "+
				"A schedule, run again in %s, differs: %s", again.where, d)
		}
	}
	return &kept, nil
}

// otherWorker returns the worker for self-checks, which isolates its executions
// in the way that the other one does not.
func (x *executor) otherWorker() (*sut.Worker, error) {
	if x.twin != nil {
		return x.twin, nil
	}
	isolation := sut.Fork
	if x.run.options.Isolation == sut.Fork {
		isolation = sut.Snapshot
	}
	var err error
	x.twin, err = x.start(isolation)
	return x.twin, err
}

// recorded returns peers that answer as they did, if there were any.
func recorded(peers bool, exchanges []driver.Exchange) sut.Peers {
	if !peers {
		return nil
	}
	return driver.NewRecorded(exchanges)
}
