package room

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// TestFull: what is kept fills the room, and garbage does not. When it is gone there is room again.
// A closed room bounds nothing.
func TestFull(t *testing.T) {
	const size, left = 200 << 20, 100 << 20
	runtime.GC()
	before := debug.SetMemoryLimit(-1)
	r := New(math.MaxInt64)
	r.bytes = r.used() + left
	debug.SetMemoryLimit(r.bytes)
	start := time.Now()
	if why := r.fullAt(start); why != "" {
		t.Errorf("there is nothing yet: %s", why)
	}
	kept := make([]byte, size)
	for i := 0; i < size; i += 1 << 12 {
		kept[i] = 1
	}
	if r.fullAt(start.Add(lookEvery/2)) != "" {
		t.Error("it was looked at a moment ago")
	}
	why := r.fullAt(start.Add(lookEvery))
	if !strings.HasPrefix(why, "the limit of ") || !strings.Contains(why, Flag) {
		t.Errorf("with %d bytes: %q", r.used(), why)
	}
	if r.fullAt(start.Add(lookEvery*3/2)) != why {
		t.Error("it is not full any more, a moment later")
	}
	runtime.KeepAlive(kept)
	kept = nil
	if why := r.fullAt(start.Add(lookEvery + freeEvery)); why != "" {
		t.Errorf("with %d bytes: %s", r.used(), why)
	}
	if r.Close(); debug.SetMemoryLimit(-1) != before {
		t.Errorf("the limit is %d, and was %d", debug.SetMemoryLimit(-1), before)
	}
}
