package pool

import "github.com/tandem-mc/tandem/explore"

// speculation holds the executions that a search will ask for, before it does. The coordinator
// guards it. Jobs that were executed ahead stay until the search asks for them, or ends.
type speculation struct {
	jobs  map[uint64]*job // by the hash of the schedule
	queue []*job          // that wait for an executor, the next one first; others may be among them
	bytes int             // of what is kept
	free  []Memory
}

// How far ahead of the search executions are run, for each executor. What is run earlier is in
// memory, and in no cache any more, when it is reported.
const (
	enough   = 16      // are queued
	farAhead = 2048    // are kept or queued
	cached   = 8 << 20 // bytes of what is kept
)

func newSpeculation() speculation { return speculation{jobs: map[uint64]*job{}} }

// missing is how many jobs are to be queued for so many executors: none as long as there are some,
// or so much has been run that the search will not get there soon.
func (s *speculation) missing(executors int) int {
	if len(s.queue) >= executors || s.bytes >= cached*executors {
		return 0
	}
	return max(0, min(enough*executors-len(s.queue), farAhead*executors-len(s.jobs)))
}

// newJobs makes jobs, in the order of the list. Each has the hash of its schedule, which is
// computed once.
func newJobs(list []explore.Schedule) []*job {
	jobs := make([]*job, 0, len(list))
	for _, schedule := range list {
		jobs = append(jobs, &job{schedule: schedule, hash: schedule.Hash()})
	}
	return jobs
}

// add queues jobs. Those that are there already are left out, since a search may foresee the same
// one twice.
func (s *speculation) add(jobs []*job) {
	for _, j := range jobs {
		if s.jobs[j.hash] == nil {
			s.jobs[j.hash], s.queue = j, append(s.queue, j)
		}
	}
}

// pop returns the next job that waits for an executor; nil if there is none.
func (s *speculation) pop() *job {
	if s.idle() {
		return nil
	}
	j := s.queue[0]
	s.queue = s.queue[1:]
	return j
}

// idle reports whether no job waits for an executor. It also drops those at the front that somebody
// has begun with.
func (s *speculation) idle() bool {
	for len(s.queue) > 0 && s.queue[0].state != queued {
		s.queue = s.queue[1:]
	}
	return len(s.queue) == 0
}

// remove takes out the job with a schedule; nil if there is none. The schedules are compared in
// full, since hashes may collide.
func (s *speculation) remove(schedule *explore.Schedule) *job {
	if len(s.jobs) == 0 {
		return nil
	}
	hash := schedule.Hash()
	j := s.jobs[hash]
	if j == nil || !j.schedule.Equal(schedule) {
		return nil
	}
	delete(s.jobs, hash)
	s.bytes -= j.bytes
	return j
}

// keep keeps what an executor has run, which gets other memory for what it runs next. The
// executor's memory holds the execution, so it changes hands and nothing is copied.
func (s *speculation) keep(j *job, x Executor) {
	var spare Memory
	if last := len(s.free) - 1; last >= 0 {
		s.free, spare = s.free[:last], s.free[last]
	}
	j.memory = x.Detach(spare)
	if j.asked {
		return // it has been taken out
	}
	j.bytes = j.memory.Size()
	s.bytes += j.bytes
}

// recycle takes the memory of a job that nobody will ask for any more. It is given to the next
// executor that needs spare memory.
func (s *speculation) recycle(j *job) {
	if j.memory != nil {
		s.free = append(s.free, j.memory)
	}
}

// rest lists what has been run and not reported. The job that the search waits for is among them if
// it is done, and no part stands in its place.
func (s *speculation) rest(asked *job) (list []*job) {
	if asked != nil && asked.part == nil && asked.state == finished && asked.err == nil {
		list = append(list, asked)
	}
	for _, j := range s.jobs {
		if j.state == finished && j.err == nil {
			list = append(list, j)
		}
	}
	return list
}
