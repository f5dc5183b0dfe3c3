package check

import (
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
)

// early holds the executions that a search will ask for, before it does. The pool's mu
// guards it.
type early struct {
	jobs  map[uint64]*job // by the hash of the schedule
	queue []*job          // that wait for an executor, the next one first; others may be among them
	bytes int             // of what is kept
	free  []*translate.Translator
}

// How far ahead of the search executions are run, for each executor. What is run earlier is in
// memory, and in no cache any more, when it is reported.
const (
	enough   = 16   // are queued
	farAhead = 2048 // are kept or queued,
	cached   = 8 << 20
)

func newEarly() early { return early{jobs: map[uint64]*job{}} }

// missing is how many jobs are to be queued for so many executors: none as long as there are
// some, or so much has been run that the search will not get there soon.
func (e *early) missing(executors int) int {
	if len(e.queue) >= executors || e.bytes >= cached*executors {
		return 0
	}
	return max(0, min(enough*executors-len(e.queue), farAhead*executors-len(e.jobs)))
}

// newJobs makes jobs, in the order of the list.
func newJobs(list []explore.Schedule) []*job {
	jobs := make([]*job, 0, len(list))
	for _, schedule := range list {
		jobs = append(jobs, &job{schedule: schedule, hash: schedule.Hash()})
	}
	return jobs
}

// add queues jobs.
func (e *early) add(jobs []*job) {
	for _, j := range jobs {
		if e.jobs[j.hash] == nil {
			e.jobs[j.hash], e.queue = j, append(e.queue, j)
		}
	}
}

// pop returns the next job that waits for an executor; nil if there is none.
func (e *early) pop() *job {
	if e.idle() {
		return nil
	}
	j := e.queue[0]
	e.queue = e.queue[1:]
	return j
}

// idle reports whether no job waits for an executor.
func (e *early) idle() bool {
	for len(e.queue) > 0 && e.queue[0].state != queued {
		e.queue = e.queue[1:]
	}
	return len(e.queue) == 0
}

// remove takes out the job with a schedule; nil if there is none.
func (e *early) remove(s *explore.Schedule) *job {
	if len(e.jobs) == 0 {
		return nil
	}
	hash := s.Hash()
	j := e.jobs[hash]
	if j == nil || !j.schedule.Equal(s) {
		return nil
	}
	delete(e.jobs, hash)
	e.bytes -= j.bytes
	return j
}

// keep keeps what an executor has run, which gets other memory for what it runs next.
func (e *early) keep(j *job, x *executor) {
	j.memory, x.translator = x.translator, &translate.Translator{}
	if last := len(e.free) - 1; last >= 0 {
		e.free, x.translator = e.free[:last], e.free[last]
	}
	if j.asked {
		return // it has been taken out
	}
	j.bytes = j.memory.Size()
	e.bytes += j.bytes
}

// recycle takes the memory of a job that nobody will ask for any more.
func (e *early) recycle(j *job) {
	if j.memory != nil {
		e.free = append(e.free, j.memory)
	}
}

// rest lists what has been run and not reported.
func (e *early) rest(asked *job) (list []*job) {
	if asked != nil && asked.part == nil && asked.state == finished && asked.err == nil {
		list = append(list, asked)
	}
	for _, j := range e.jobs {
		if j.state == finished && j.err == nil {
			list = append(list, j)
		}
	}
	return list
}
