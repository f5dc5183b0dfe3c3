package global

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
)

// sized is a form of which only the size is asked for.
type sized struct {
	forms.Form
	states int
	bytes  int64
}

func (s sized) Size() (int, int64) { return s.states, s.bytes }

// TestDoubtsCount: what is in doubt takes room from the states of a chunk. If steps lead mostly to
// the same states, it takes more than they do.
func TestDoubtsCount(t *testing.T) {
	const states, growth, bytes, steps, table = 1000, 5, 100, 100, 4 << 20
	w := &worker{late: late{states: make([]doubted, states), reached: make([]space.Ref, steps*states)}}
	d := &onDisk{chunk: states, workers: []expands{noting{w: w}}}
	d.search = &search{Config: &Config{Disk: &Disk{Sizes: external.Sizes{Table: table}}},
		form: sized{states: growth * states, bytes: growth * states * bytes}}
	d.pass = firstPass
	d.adapt(states)
	if all := int64(d.chunk) * (growth*bytes + w.late.bytes()/states); all > table || d.chunk == 0 {
		t.Errorf("the next chunk has %d states, and takes %d bytes of %d", d.chunk, all, table)
	}
	if d.isFull(0) || !d.isFull(table) {
		t.Error("what belongs to the states does not count")
	}
}

// noting is a worker that only tells what it has in doubt.
type noting struct {
	expands
	w *worker
}

func (n noting) noted() *late { return n.w.noted() }
