package pool

import (
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
)

// job is an execution to be run, or one that was. A queued job belongs to the coordinator, and a
// running one to its executor.
type job struct {
	schedule  explore.Schedule
	hash      uint64  // of the schedule, if it is known beforehand
	part      *part   // that the search has come to: nobody is to run the job
	first     bool    // of the check
	forecast  float64 // explore.Search.Forecast, if it was not run ahead
	memory    Memory  // that the execution is in, unless that is the executor's own
	execution explore.Execution
	result    *execution.Result
	err       error

	// Guarded by the coordinator:
	state jobState
	asked bool // the search waits for it
	bytes int  // that are kept
}

type jobState uint8

const (
	queued jobState = iota // for an executor
	running
	finished
)

// member is an executor of a pool, with what the coordinator knows of it. After a failure the
// member stays in the list, and is given nothing more.
type member struct {
	Lifecycle
	// One of the two is set: here executes by itself, and far has parts explored elsewhere. They do
	// not change.
	here Executor
	far  Far

	// Guarded by the coordinator:
	executing bool
	part      *part // that it explores; else nil
	waiting   bool  // there is nothing to do
	failed    bool  // it is not to be used again
}

// task is what an executor is to do next, or has done. The zero value is leave; as what was done,
// it is nothing.
type task struct {
	what what
	job  *job  // to run
	part *part // to explore
	err  error // with which it is concluded, or with which an execution of the part has failed
}

type what uint8

const (
	leave          what = iota // there is nothing more to do
	run                        // a job
	exploreSubtree             // a part of the search
	advance                    // the search, up to an execution that nobody has run
	foresee                    // find something to do while others run what the search waits for
	conclude                   // the search, as far as it gets without executors
)
