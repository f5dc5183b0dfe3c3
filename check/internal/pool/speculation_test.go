package pool

import (
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// sized is memory of so many bytes, and its holder an executor that has nothing else.
type sized struct{ bytes int }

func (m *sized) Size() int { return m.bytes }

type holder struct {
	Executor
	memory Memory
}

func (h *holder) Detach(spare Memory) Memory {
	mine := h.memory
	if h.memory = spare; spare == nil {
		h.memory = &sized{}
	}
	return mine
}

// TestEarlyMemory: an executor never gets memory that something kept is in, and that of what was
// reported is used again.
func TestEarlyMemory(t *testing.T) {
	e := newSpeculation()
	x := &holder{memory: &sized{}}
	mine := x.memory
	j := &job{}
	e.keep(j, x)
	if j.memory != mine || x.memory == mine || x.memory == nil {
		t.Fatal("the executor keeps the memory of what it has run")
	}
	e.recycle(j)
	if e.keep(&job{}, x); x.memory != mine {
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

// TestEarlyIsBounded: where so many are queued or kept, or so much is, that the search will not get
// there soon, no more are queued.
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
	e.keep(&job{}, &holder{memory: &sized{2 * cached}})
	if got := e.missing(2); got != 0 {
		t.Errorf("with %d bytes kept %d are missing", e.bytes, got)
	}
}
