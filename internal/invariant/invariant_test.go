package invariant

import (
	"errors"
	"strings"
	"testing"
)

// violated is what f panics with.
func violated(t *testing.T, f func()) (v *Violation) {
	t.Helper()
	defer func() {
		err, _ := recover().(error)
		if !errors.As(err, &v) {
			t.Fatalf("it panics with %v, want a violation", err)
		}
	}()
	f()
	return nil
}

func TestCheck(t *testing.T) {
	Check(true, "room: this holds")
	v := violated(t, func() { Check(false, "room: the queue is empty") })
	if v.Rule != "room: the queue is empty" || !strings.Contains(v.Error(), v.Rule) {
		t.Errorf("%+v: %v", v, v)
	}
}

func TestFailf(t *testing.T) {
	if v := violated(t, func() { Failf("room: place %d of %d", 3, 2) }); v.Rule != "room: place 3 of 2" {
		t.Errorf("%+v", v)
	}
}

// TestCheckAllocatesNothing: it may stand on hot paths.
func TestCheckAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Check(true, "room: this holds") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
