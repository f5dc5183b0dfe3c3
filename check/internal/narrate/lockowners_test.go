package narrate

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// TestManyOwners: of many readers some are named, and what unlocks for others takes one of them
// away.
func TestManyOwners(t *testing.T) {
	h, lock := newLockOwners(), uint64(7)
	for reader := range 6 {
		h.take(reader, &sut.Event{Operation: sut.ReadLock, Access: model.Commute, Subject: lock},
			fmt.Sprint("line ", reader))
	}
	h.take(9, &sut.Event{Operation: sut.ReadUnlock, Access: model.Commute, Subject: lock}, "")
	h.take(2, &sut.Event{Operation: sut.ReadUnlock, Access: model.Commute, Subject: lock}, "")
	h.take(9, &sut.Event{Operation: sut.TryReadLock, Access: model.Read, Subject: lock}, "") // fails
	got := h.why(10, &sut.Event{Operation: sut.WriteWait, Object: lock}, func(goroutine int) string {
		return fmt.Sprint("g", goroutine)
	})
	const want = "g1 has held it for reading since line 1, g3 has held it for reading since line 3, g4 has " +
		"held it for reading since line 4, and 1 more"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLooksHoldNothing: who only looks whether a lock is free does not hold it.
func TestLooksHoldNothing(t *testing.T) {
	h, mutex, rw := newLockOwners(), uint64(7), uint64(8)
	look := func(goroutine int, o sut.Operation, lock uint64) {
		h.take(goroutine, &sut.Event{Operation: o, Access: model.Read, Subject: lock}, "looked")
	}
	h.take(1, &sut.Event{Operation: sut.Lock, Access: model.Write, Subject: mutex}, "held")
	look(2, sut.Lock, mutex)
	look(3, sut.TryLock, mutex)
	h.take(1, &sut.Event{Operation: sut.ReadLock, Access: model.Commute, Subject: rw}, "held")
	h.take(2, &sut.Event{Operation: sut.WriteLock, Access: model.Write, Subject: rw}, "claimed")
	look(2, sut.WriteWait, rw) // a reader is inside
	look(3, sut.ReadLock, rw)
	look(4, sut.TryWriteLock, rw)
	name := func(goroutine int) string { return fmt.Sprint("g", goroutine) }
	for _, x := range []struct {
		waiting int
		event   sut.Event
		want    string
	}{
		{2, sut.Event{Operation: sut.Lock, Object: mutex}, "g1 has held it since held"},
		{2, sut.Event{Operation: sut.WriteWait, Object: rw}, "g1 has held it for reading since held"},
		{3, sut.Event{Operation: sut.ReadLock, Object: rw},
			"g1 has held it for reading since held, g2 has waited to write since claimed"},
	} {
		if got := h.why(x.waiting, &x.event, name); got != x.want {
			t.Errorf("%v: %q, want %q", x.event.Operation, got, x.want)
		}
	}
	h.take(1, &sut.Event{Operation: sut.ReadUnlock, Access: model.Commute, Subject: rw}, "")
	h.take(2, &sut.Event{Operation: sut.WriteWait, Access: model.Read, Ready: sut.Free, Subject: rw}, "")
	if got, want := h.why(3, &sut.Event{Operation: sut.ReadLock, Object: rw}, name),
		"g2 has held it since claimed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCalledByGo: what a go statement calls is told by the syntax, whatever else stands in its
// line.
func TestCalledByGo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	text := "package x\n\nfunc f() {\n\tgo t.run() // G1\n\tgo dial(\"tcp/ip\")\n\tgo func(n int) { // " +
		"G2\n\t\tgo g(n)\n\t}(1)\n" +
		"\tgo a(); go b()\n\tgo c(\n\t\t1,\n\t)\n\tgo h[int](2)\n\tgo s[\"a//b\"].run()\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[int]string{
		3: " 0", 4: "t.run 0", 5: "dial 0", 6: " 6", 7: "g 0", 8: " 6", 9: " 0", 10: "c 0", 11: "c 0",
		13: "h[int] 0", 14: `s["a//b"].run 0`,
	} {
		callee, literal := calledByGo(sut.Position{File: file, Line: line})
		if got := fmt.Sprint(callee, " ", literal); got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}
