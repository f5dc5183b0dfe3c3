package check

import (
	"testing"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
)

// TestEarlyMemory: an executor never gets memory that something kept is in, and that of what
// was reported is used again.
func TestEarlyMemory(t *testing.T) {
	e := newSpeculation()
	x := &executor{translator: &translate.Translator{}}
	mine := x.translator
	j := &job{}
	e.keep(j, x)
	if j.memory != mine || x.translator == mine || x.translator == nil {
		t.Fatal("the executor keeps the memory of what it has run")
	}
	e.recycle(j)
	if e.keep(&job{}, x); x.translator != mine {
		t.Error("memory is not used again")
	}
}

// TestEarlyInOrder: what the search asks for first is run first, but for what it has asked for by
// then.
func TestEarlyInOrder(t *testing.T) {
	e := newSpeculation()
	e.add(newJobs([]explore.Schedule{{Seed: 1}, {Seed: 2}, {Seed: 3}}))
	second := &explore.Schedule{Seed: 2}
	if j := e.remove(second); j == nil {
		t.Error("it is not there")
	} else {
		j.state = running
	}
	if e.remove(second) != nil {
		t.Error("it is still there")
	}
	for _, want := range []uint64{1, 3} {
		if j := e.pop(); j == nil || j.schedule.Seed != want {
			t.Errorf("%v is next, want seed %d", j, want)
		}
	}
	if e.pop() != nil || !e.idle() {
		t.Error("there is more")
	}
}

// TestEarlyIsBounded: where so many are queued or kept, or so much is, that the search will not
// get there soon, no more are queued.
func TestEarlyIsBounded(t *testing.T) {
	e := newSpeculation()
	if got := e.missing(2); got != 2*enough {
		t.Errorf("at first %d are missing, want %d", got, 2*enough)
	}
	e.add(newJobs([]explore.Schedule{{Seed: 1}, {Seed: 2}}))
	if got := e.missing(2); got != 0 {
		t.Errorf("with two queued for two executors %d are missing", got)
	}
	for seed := range uint64(farAhead) {
		e.add(newJobs([]explore.Schedule{{Seed: seed + 1}}))
	}
	for e.pop() != nil {
	}
	if one, two := e.missing(1), e.missing(2); one != 0 || two == 0 {
		t.Errorf("with %d kept for one executor, %d more are missing, and %d for two", farAhead, one, two)
	}
	large := &translate.Translator{}
	actions := make([]explore.Action, 2*cached/16)
	for i := range actions {
		actions[i].Goroutine = 1
	}
	large.Schedule(explore.Schedule{Prefix: actions})
	e.keep(&job{}, &executor{translator: large})
	if got := e.missing(2); got != 0 {
		t.Errorf("with %d bytes kept %d are missing", e.bytes, got)
	}
}
