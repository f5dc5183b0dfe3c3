package meter

import (
	"runtime"
	"testing"
	"time"
)

// TestGarbage: what is no garbage counts in any case. What is garbage counts only if nothing is to
// be given back, or was given back a moment ago.
func TestGarbage(t *testing.T) {
	const size, room = 200 << 20, 100 << 20
	m := New()
	runtime.GC()
	bound := m.used() + room
	kept := make([]byte, size)
	for i := 0; i < size; i += 1 << 12 {
		kept[i] = 1
	}
	start := time.Now()
	if !m.IsOver(bound, start, false) || !m.IsOver(bound, start, true) {
		t.Errorf("%d bytes in use are not over %d", m.used(), bound)
	}
	runtime.KeepAlive(kept)
	kept = nil
	// Memory was given back a moment ago, and nothing is said yet.
	if m.IsOver(bound, start.Add(freeEvery/2), true) {
		t.Error("the answer does not wait")
	}
	if m.IsOver(bound, start.Add(freeEvery), true) {
		t.Errorf("%d bytes are over %d after the garbage is gone", m.used(), bound)
	}
}
