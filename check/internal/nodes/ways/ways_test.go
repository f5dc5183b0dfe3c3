package ways

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/internal/model"
)

// schedule is one of some goroutine.
func schedule(goroutine model.GoroutineID) lives.Lives {
	return lives.Lives{{Choices: []model.Action{{Goroutine: goroutine}}}}
}

type known = map[string]lives.Lives

// TestBefore: what was found since a mark is not there before it, whether it was new or in the
// place of something.
func TestBefore(t *testing.T) {
	given := known{"a": schedule(1), "b": schedule(2)}
	w := New(given)
	m := w.Mark()
	w.Remember("a", schedule(3))
	w.Remember("a", schedule(4))
	w.Remember("c", schedule(5))
	before := w.Before(m)
	if d := cmp.Diff(given, before.All()); d != "" {
		t.Errorf("before the mark (-want +got)\n%s", d)
	}
	if d := cmp.Diff(known{"a": schedule(4), "b": schedule(2), "c": schedule(5)}, w.All()); d != "" {
		t.Errorf("now (-want +got)\n%s", d)
	}
}

// TestPart: a part sees what was known before it and what it has found, and nobody else sees that
// until it is taken over.
func TestPart(t *testing.T) {
	w := New(known{"a": schedule(1)})
	part := w.Part()
	part.Remember("a", schedule(2))
	part.Remember("b", schedule(3))
	for key, want := range (known{"a": schedule(2), "b": schedule(3), "c": nil}) {
		if d := cmp.Diff(want, part.To(key)); d != "" {
			t.Errorf("%s in the part (-want +got)\n%s", key, d)
		}
	}
	if d := cmp.Diff(known{"a": schedule(1)}, w.All()); d != "" {
		t.Errorf("others (-want +got)\n%s", d)
	}
	m := w.Mark()
	w.Take(&part)
	if d := cmp.Diff(known{"a": schedule(2), "b": schedule(3)}, w.All()); d != "" {
		t.Errorf("after it is taken over (-want +got)\n%s", d)
	}
	before := w.Before(m)
	if d := cmp.Diff(known{"a": schedule(1)}, before.All()); d != "" {
		t.Errorf("before it is taken over (-want +got)\n%s", d)
	}
}
