package check

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// ranJob is a job that was run, with a prefix of so many actions, the first by goroutine g.
func ranJob(e *early, length int, g explore.GoroutineID) *job {
	j := &job{schedule: explore.Schedule{Prefix: make([]explore.Action, length)}, places: nowhere}
	if length > 0 {
		j.schedule.Prefix[0].Goroutine = g
	}
	j.state, j.hash, j.rank = finished, j.schedule.Hash(), rank{uint64(length) << 32}
	e.jobs[j.hash] = j
	e.keep(j, &executor{translator: &translator{}})
	return j
}

// TestEarlyMemory: an executor never gets memory that something kept is in, and that of what
// was reported is used again.
func TestEarlyMemory(t *testing.T) {
	e := newEarly()
	x := &executor{translator: &translator{}}
	mine := x.translator
	j := &job{places: nowhere}
	e.keep(j, x)
	if j.memory != mine || x.translator == mine || x.translator == nil {
		t.Fatal("the executor keeps the memory of what it has run")
	}
	e.recycle(j)
	if e.keep(&job{places: nowhere}, x); x.translator != mine {
		t.Error("memory is not used again")
	}
}

// TestEarlyIsBounded: where there is no room, what leaves the path near the root is given up for
// what leaves it deeper, and not the other way round.
func TestEarlyIsBounded(t *testing.T) {
	e := newEarly()
	shallow := ranJob(&e, 3, 1)
	for g := range explore.GoroutineID(maxEarly - 1) {
		ranJob(&e, 10, g)
	}
	if before := e.bytes; e.room(rank{3 << 32}) || e.bytes != before {
		t.Error("there is room for what is as shallow")
	}
	if !e.room(rank{4 << 32}) {
		t.Error("there is no room for what is deeper")
	}
	if e.remove(&shallow.schedule, shallow.hash) != nil || len(e.jobs) != maxEarly-1 {
		t.Error("something else was given up")
	}
	if !e.room(rank{}) {
		t.Error("there is no room although something was given up")
	}
}

// TestEarlyLeads: what was run last but leaves the path deepest leads on first.
func TestEarlyLeads(t *testing.T) {
	e := newEarly()
	s := explore.DFS()
	s.Next()
	for i, length := range []int{2, 5, 3, 4} {
		j := ranJob(&e, length, explore.GoroutineID(i))
		other := explore.Transition{Action: explore.Action{Goroutine: 7}, Choices: 1, Enabled: []explore.Alternative{{Goroutine: 7, Choices: 1}, {Goroutine: 8, Choices: 1}}}
		j.execution.Transitions = make([]explore.Transition, length+1)
		j.execution.Transitions[length] = other
	}
	for _, want := range []int{5, 4, 3, 2} {
		lead := e.lead(1)
		if lead == nil || !e.add(newJobs(explore.Beyond(s, &lead.schedule, &lead.execution)), lead) {
			t.Fatal("nothing is queued")
		}
		j := e.pop()
		if got := len(j.schedule.Prefix) - 1; got != want || j.schedule.Prefix[want].Goroutine != 8 {
			t.Errorf("%v is next, want one of length %d", j.schedule, want+1)
		}
	}
	if e.lead(1) != nil || e.pop() != nil {
		t.Error("there is more")
	}
}

// TestEarlyLeadsInOrder: of the executions of a tree that are known, the one leads on that a depth-first search asks for first, whichever
// were run before.
func TestEarlyLeadsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grown := toyTree{seed: rapid.Uint64().Draw(t, "seed"), depth: rapid.IntRange(1, 6).Draw(t, "depth")}
		asked := grown.asked()
		e, s := newEarly(), explore.DFS()
		run := func(j *job) {
			j.state, j.execution = finished, grown.execute(j.schedule.Prefix)
			e.keep(j, &executor{translator: &translator{}})
		}
		run(&job{places: nowhere})
		var known []*job
		for lead := e.lead(1); lead != nil; lead = e.lead(1) {
			for _, j := range known {
				if asked[j.hash] < asked[lead.schedule.Hash()] {
					t.Fatalf("%v leads on before %v", lead.schedule.Prefix, j.schedule.Prefix)
				}
			}
			e.release(lead)
			e.add(newJobs(explore.Beyond(s, &lead.schedule, &lead.execution)), lead)
			for some := rapid.IntRange(0, 9).Draw(t, "run"); some > 0 || e.leads.Len() == 0; some-- {
				j := e.pop()
				if j == nil {
					break
				}
				run(j)
			}
			known = slices.Clone(e.leads.jobs)
		}
		if e.last.Len() != len(asked) {
			t.Errorf("%d executions of %d are known", e.last.Len(), len(asked))
		}
	})
}

// toyTree is a program without meaning: how many goroutines can be picked depends on what was picked.
type toyTree struct {
	seed  uint64
	depth int
}

func (p toyTree) execute(prefix []explore.Action) explore.Execution {
	var e explore.Execution
	h := p.seed
	for depth := range p.depth {
		x := explore.Transition{Choices: 1}
		h = (h ^ h>>29) * 0x9e3779b97f4a7c15
		for g := range h>>40%3 + 1 {
			x.Enabled = append(x.Enabled, explore.Alternative{Goroutine: explore.GoroutineID(g), Choices: 1})
		}
		x.Goroutine = explore.GoroutineID(h >> 50 % uint64(len(x.Enabled)))
		if depth < len(prefix) {
			x.Action = prefix[depth]
		}
		h += uint64(x.Goroutine)
		e.Transitions = append(e.Transitions, x)
	}
	return e
}

// asked numbers the schedules, by their hashes, in the order in which a depth-first search asks for them.
func (p toyTree) asked() map[uint64]int {
	numbers, s := map[uint64]int{}, explore.DFS()
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		numbers[schedule.Hash()] = len(numbers)
		if err := s.Report(p.execute(schedule.Prefix)); err != nil {
			panic(err)
		}
	}
	return numbers
}

// TestEarlyKeepsWhatIsRead: memory is not used again while it is being found out what comes of what is in it.
func TestEarlyKeepsWhatIsRead(t *testing.T) {
	e := newEarly()
	j := ranJob(&e, 1, 1)
	lead := e.lead(1)
	e.recycle(e.remove(&j.schedule, j.hash))
	if lead != j || len(e.free) != 0 {
		t.Fatal("it is used again at once")
	}
	if e.release(lead); len(e.free) != 1 {
		t.Error("it is not used again")
	}
}

// TestEarlyIsNotFarAhead: where so much is kept that the search will not get there soon, nothing more is found
// out from it.
func TestEarlyIsNotFarAhead(t *testing.T) {
	e := newEarly()
	for g := range explore.GoroutineID(farAhead) {
		ranJob(&e, 10, g)
	}
	if e.lead(1) != nil {
		t.Errorf("with %d kept for one executor, one leads on", farAhead)
	}
	if e.lead(2) == nil {
		t.Errorf("with %d kept for two executors, none leads on", farAhead)
	}
}

// TestEarlyLooksFar: the more is kept, the fewer of the next branches are looked at.
func TestEarlyLooksFar(t *testing.T) {
	e := newEarly()
	few := e.within(2)
	for g := explore.GoroutineID(0); e.bytes < cached; g++ {
		j := &job{schedule: explore.Schedule{Prefix: []explore.Action{{Goroutine: g}}}, places: nowhere}
		e.keep(j, &executor{translator: &translator{prefix: make([]sut.Choice, 1<<12)}})
	}
	if many := e.within(2); many >= few || many < 2 {
		t.Errorf("with little kept %d branches are looked at, with much %d", few, many)
	}
}
