package meter

import (
	"runtime"
	"runtime/debug"
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

// TestHold: the least of several bounds counts, whichever ends first, and then there is the limit
// that was there before. The collector keeps garbage below it.
func TestHold(t *testing.T) {
	was := debug.SetMemoryLimit(1 << 40)
	defer debug.SetMemoryLimit(was)
	is := func(want int64) {
		t.Helper()
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("the limit is %d, want %d", got, want)
		}
	}
	a, b, c := Hold(3<<30, 1<<30), Hold(5<<30, 1<<30), Hold(1<<50, 0)
	is(2 << 30)
	a()
	is(4 << 30)
	d := Hold(1<<30, 1<<40) // what others have is never all of it
	is(1 << 29)
	d()
	b()
	is(1 << 40)
	c()
	is(1 << 40)

	m := New()
	debug.FreeOSMemory()
	const live, garbage = 64 << 20, 200
	kept := make([]byte, live)
	for i := 0; i < live; i += 1 << 12 {
		kept[i] = 1
	}
	bound := m.used() + 24<<20
	end := Hold(bound, 0)
	most := uint64(0)
	for range garbage {
		sink = make([]byte, 1<<20)
		for i := 0; i < len(sink); i += 1 << 12 {
			sink[i] = 1
		}
		most = max(most, m.used())
	}
	end()
	runtime.KeepAlive(kept)
	if most > bound+8<<20 {
		t.Errorf("%d bytes were in use, with a bound of %d", most, bound)
	}
}

var sink []byte
