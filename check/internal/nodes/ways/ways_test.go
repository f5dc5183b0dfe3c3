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

// TestToAny: what a part has found by itself comes before what was known, and then the first key
// counts. What is nowhere is noted.
func TestToAny(t *testing.T) {
	w := New(known{"a": schedule(1), "b": schedule(2)})
	part := w.Part()
	if d := cmp.Diff(schedule(1), part.ToAny([]string{"a", "b"})); d != "" {
		t.Errorf("known before (-want +got)\n%s", d)
	}
	if d := cmp.Diff(map[string]bool{}, part.Missed()); d != "" {
		t.Errorf("missed (-want +got)\n%s", d)
	}
	part.Remember("b", schedule(3))
	if d := cmp.Diff(schedule(3), part.ToAny([]string{"a", "b"})); d != "" {
		t.Errorf("found by itself (-want +got)\n%s", d)
	}
	if part.ToAny([]string{"c", "d"}) != nil || part.ToAny([]string{"c", "a"}) == nil {
		t.Error("without what is nowhere")
	}
	if d := cmp.Diff(map[string]bool{"c": true, "d": true}, part.Missed()); d != "" {
		t.Errorf("missed (-want +got)\n%s", d)
	}
}
