package check

import (
	"container/heap"
	"slices"
	"unsafe"

	"github.com/tandem-mc/tandem/explore"
)

// early holds the executions that a search will ask for, before it does. The pool's mu
// guards it.
type early struct {
	jobs  map[uint64]*job // by the hash of the schedule
	queue []*job          // that wait for an executor, the next one last; others may be among them
	spent bool            // the search knew of none when it was last asked
	leads []*job          // that were run, the one with the longest prefix first: a heap
	bytes int             // of what is kept
	free  []*job          // that were reported, for their memory
}

// Bounds on what is kept. Beyond them, what the search needs last is given up.
const (
	maxEarly      = 1 << 12
	maxEarlyBytes = 1 << 28
)

// low reports whether few jobs are queued for so many executors.
func (e *early) low(executors int) bool { return len(e.queue) < executors }

// fill has so many jobs queued, if the search knows of them, and reports whether there are new ones.
func (e *early) fill(s explore.Search, n int) bool {
	before := len(e.queue)
	e.add(explore.Ahead(s, n-before))
	for len(e.queue) == before && len(e.leads) > 0 {
		if j := heap.Pop(e).(*job); j.kept > 0 {
			e.add(explore.Beyond(s, &j.schedule, &j.execution))
		}
	}
	e.spent = len(e.queue) == before
	return !e.spent
}

// add queues what is not known yet, the first in the list last.
func (e *early) add(list []explore.Schedule) {
	for _, schedule := range slices.Backward(list) {
		hash := schedule.Hash()
		if e.jobs[hash] == nil && e.room(&schedule) {
			j := e.job(schedule)
			e.jobs[hash], e.queue = j, append(e.queue, j)
		}
	}
}

// pop returns the next job that waits for an executor; nil if there is none.
func (e *early) pop() *job {
	for last := len(e.queue) - 1; last >= 0; last-- {
		j := e.queue[last]
		if e.queue = e.queue[:last]; j.state == queued {
			return j
		}
	}
	return nil
}

// dry reports whether nothing is queued although the search may know of more.
func (e *early) dry() bool { return len(e.queue) == 0 && !e.spent }

// remove takes out the job with a schedule; nil if there is none.
func (e *early) remove(s *explore.Schedule) *job {
	hash := s.Hash()
	j := e.jobs[hash]
	if j == nil || !j.schedule.Equal(s) {
		return nil
	}
	delete(e.jobs, hash)
	e.bytes -= j.kept
	j.kept = 0
	return j
}

// job makes a job, with the memory of one that was reported.
func (e *early) job(s explore.Schedule) *job {
	last := len(e.free) - 1
	if last < 0 {
		return &job{schedule: s}
	}
	j := e.free[last]
	e.free = e.free[:last]
	*j = job{schedule: s, memory: j.memory}
	return j
}

// keep keeps what an executor has run, which gets other memory for what it runs next.
func (e *early) keep(j *job, x *executor) {
	if j.memory == nil {
		j.memory = &translator{}
	}
	j.memory, x.translator = x.translator, j.memory
	j.kept = j.memory.size()
	e.bytes += j.kept
	if j.err == nil {
		heap.Push(e, j)
	}
}

// The leads are a heap: a depth-first search gets to the deepest first.

func (e *early) Len() int { return len(e.leads) }
func (e *early) Less(i, j int) bool {
	return len(e.leads[i].schedule.Prefix) > len(e.leads[j].schedule.Prefix)
}
func (e *early) Swap(i, j int) { e.leads[i], e.leads[j] = e.leads[j], e.leads[i] }
func (e *early) Push(j any)    { e.leads = append(e.leads, j.(*job)) }
func (e *early) Pop() any {
	last := len(e.leads) - 1
	j := e.leads[last]
	e.leads = e.leads[:last]
	return j
}

// room reports whether there is room for a job, if need be in place of one that was run
// and leaves the path nearer to the root: in a depth-first search that comes later.
func (e *early) room(s *explore.Schedule) bool {
	if len(e.jobs) < maxEarly && e.bytes < maxEarlyBytes {
		return true
	}
	var last *job
	for _, j := range e.jobs {
		if j.state == finished && (last == nil || len(j.schedule.Prefix) < len(last.schedule.Prefix)) {
			last = j
		}
	}
	if last == nil || len(last.schedule.Prefix) >= len(s.Prefix) {
		return false
	}
	e.remove(&last.schedule)
	return true
}

// rest lists what has been run and not reported.
func (e *early) rest(asked *job) (list []*job) {
	if asked != nil && asked.state == finished {
		list = append(list, asked)
	}
	for _, j := range e.jobs {
		if j.state == finished && j.err == nil {
			list = append(list, j)
		}
	}
	return list
}

// size is about how many bytes a translator holds.
func (t *translator) size() int {
	return cap(t.execution.Transitions)*int(unsafe.Sizeof(explore.Transition{})) + cap(t.spans)*int(unsafe.Sizeof(span{})) +
		(cap(t.accesses)+cap(t.intended))*int(unsafe.Sizeof(explore.Access{})) + cap(t.needs)*int(unsafe.Sizeof(explore.Need{})) +
		cap(t.enabled)*int(unsafe.Sizeof(explore.Alternative{})) + 8*cap(t.starts) + 16*cap(t.prefix) +
		cap(t.pending)*int(unsafe.Sizeof(pending{})) + cap(t.partners)*int(unsafe.Sizeof(explore.Pending{}))
}
