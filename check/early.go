package check

import (
	"cmp"
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
	leads order           // those that were run and may lead to others, the next one first
	last  order           // those that were run, the other way round
	bytes int             // of what is kept
	free  []*translator
	known uint32 // how many there were
}

// Bounds on what is kept. Beyond them, what the search needs last is given up.
const (
	maxEarly      = 1 << 14
	maxEarlyBytes = 1 << 28
)

func newEarly() early {
	return early{
		jobs:  map[uint64]*job{},
		leads: order{before: sooner, place: func(j *job) *int { return &j.places[0] }},
		last:  order{before: func(a, b rank) bool { return sooner(b, a) }, place: func(j *job) *int { return &j.places[1] }},
	}
}

// How far ahead of the search executions are run, for each executor. What is run earlier is in memory, and in no
// cache any more, when it is reported.
const (
	lookAhead = 16      // of the next branches,
	lookFar   = 128     // or so many as long as less than
	cached    = 8 << 20 // bytes are kept for all of them
	farAhead  = 2048    // are kept at most to find out more from them
	enough    = 16      // are queued
)

// missing is how many jobs are to be queued for so many executors: none as long as there are some.
func (e *early) missing(executors int) int {
	if len(e.queue) >= executors {
		return 0
	}
	return enough*executors - len(e.queue)
}

// within is of how many of the next branches executions are run for so many executors.
func (e *early) within(executors int) int {
	if e.bytes < cached {
		return lookFar * executors
	}
	return lookAhead * executors
}

// lead takes out the job of which is to be found out next what the search will ask for because of it, until release; nil
// if there is none, or so much has been run that it will not get there soon.
func (e *early) lead(executors int) *job {
	if e.leads.Len() == 0 || e.last.Len() >= farAhead*executors {
		return nil
	}
	j := heap.Pop(&e.leads).(*job)
	j.read = true
	return j
}

// rank says when a depth-first search will ask for a schedule, compared with others: for each execution on the way to knowing of it, and
// for itself, it has where that leaves the path before, and which of those known it was.
type rank []uint64

// sooner reports whether the search asks for a before b: for what comes of an execution right after that, and of others first for what
// leaves the path farther from the root, and then for what was known earlier.
func sooner(a, b rank) bool {
	return slices.CompareFunc(a, b, func(x, y uint64) int { return cmp.Compare(y, x) }) < 0
}

// newJobs makes jobs, the last in the list first.
func newJobs(list []explore.Schedule) []*job {
	jobs := make([]*job, 0, len(list))
	for _, schedule := range slices.Backward(list) {
		jobs = append(jobs, &job{schedule: schedule, hash: schedule.Hash(), places: nowhere})
	}
	return jobs
}

// add queues jobs that are not known yet, and reports whether there were any. They come of the execution of a lead or, without one,
// of the path; the last one comes first.
func (e *early) add(jobs []*job, lead *job) (added bool) {
	var way rank
	if lead != nil {
		way = lead.rank
	}
	e.known += uint32(len(jobs))
	for n, j := range jobs {
		j.rank = append(slices.Clip(way), uint64(j.schedule.Turn())<<32|uint64(^(e.known-uint32(n))))
		if e.jobs[j.hash] == nil && e.room(j.rank) {
			e.jobs[j.hash], e.queue, added = j, append(e.queue, j), true
		}
	}
	return added
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

// idle reports whether no job waits for an executor.
func (e *early) idle() bool {
	for last := len(e.queue) - 1; last >= 0 && e.queue[last].state != queued; last-- {
		e.queue = e.queue[:last]
	}
	return len(e.queue) == 0
}

// remove takes out the job with a schedule, which has a hash; nil if there is none.
func (e *early) remove(s *explore.Schedule, hash uint64) *job {
	j := e.jobs[hash]
	if j == nil || !j.schedule.Equal(s) {
		return nil
	}
	delete(e.jobs, hash)
	e.leads.remove(j)
	e.last.remove(j)
	e.bytes -= j.bytes
	return j
}

// keep keeps what an executor has run, which gets other memory for what it runs next.
func (e *early) keep(j *job, x *executor) {
	j.memory, x.translator = x.translator, &translator{}
	if last := len(e.free) - 1; last >= 0 {
		e.free, x.translator = e.free[:last], e.free[last]
	}
	if j.asked {
		return // it has been taken out
	}
	j.bytes = j.memory.size()
	e.bytes += j.bytes
	heap.Push(&e.last, j)
	if j.err == nil {
		heap.Push(&e.leads, j)
	}
}

// recycle takes the memory of a job that nobody will ask for any more, when nobody reads it.
func (e *early) recycle(j *job) {
	if j.past = true; j.memory != nil && !j.read {
		e.free = append(e.free, j.memory)
	}
}

// release ends the reading of a lead.
func (e *early) release(lead *job) {
	if lead.read = false; lead.past {
		e.recycle(lead)
	}
}

// room reports whether there is room for a job, if need be in place of one that was run and that the search asks for later.
func (e *early) room(r rank) bool {
	if len(e.jobs) < maxEarly && e.bytes < maxEarlyBytes {
		return true
	}
	if e.last.Len() == 0 || !sooner(r, e.last.jobs[0].rank) {
		return false
	}
	e.recycle(e.remove(&e.last.jobs[0].schedule, e.last.jobs[0].hash))
	return true
}

// rest lists what has been run and not reported.
func (e *early) rest(asked *job) (list []*job) {
	if asked != nil && asked.state == finished && asked.err == nil {
		list = append(list, asked)
	}
	for _, j := range e.jobs {
		if j.state == finished && j.err == nil {
			list = append(list, j)
		}
	}
	return list
}

// order is a heap of jobs, by their ranks.
type order struct {
	jobs   []*job
	before func(a, b rank) bool
	place  func(*job) *int // in the heap
}

// nowhere is the places of a job that is in no heap.
var nowhere = [2]int{-1, -1}

func (o *order) remove(j *job) {
	if i := *o.place(j); i >= 0 {
		heap.Remove(o, i)
	}
}

func (o *order) Len() int { return len(o.jobs) }
func (o *order) Less(i, j int) bool {
	return o.before(o.jobs[i].rank, o.jobs[j].rank)
}

func (o *order) Swap(i, j int) {
	o.jobs[i], o.jobs[j] = o.jobs[j], o.jobs[i]
	*o.place(o.jobs[i]), *o.place(o.jobs[j]) = i, j
}

func (o *order) Push(j any) {
	*o.place(j.(*job)) = len(o.jobs)
	o.jobs = append(o.jobs, j.(*job))
}

func (o *order) Pop() any {
	last := len(o.jobs) - 1
	j := o.jobs[last]
	o.jobs, *o.place(j) = o.jobs[:last], -1
	return j
}

// size is about how many bytes a translator holds.
func (t *translator) size() int {
	return cap(t.execution.Transitions)*int(unsafe.Sizeof(explore.Transition{})) + cap(t.spans)*int(unsafe.Sizeof(span{})) +
		(cap(t.accesses)+cap(t.intended))*int(unsafe.Sizeof(explore.Access{})) + cap(t.needs)*int(unsafe.Sizeof(explore.Need{})) +
		cap(t.enabled)*int(unsafe.Sizeof(explore.Alternative{})) + 8*cap(t.starts) + 16*cap(t.prefix) +
		cap(t.pending)*int(unsafe.Sizeof(pending{})) + cap(t.partners)*int(unsafe.Sizeof(explore.Pending{}))
}
