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
			moment{reader, fmt.Sprint("line ", reader)})
	}
	h.take(9, &sut.Event{Operation: sut.ReadUnlock, Access: model.Commute, Subject: lock}, moment{})
	h.take(2, &sut.Event{Operation: sut.ReadUnlock, Access: model.Commute, Subject: lock}, moment{})
	h.take(9, &sut.Event{Operation: sut.TryReadLock, Access: model.Read, Subject: lock}, moment{}) // fails
	got := h.why(10, &sut.Event{Operation: sut.WriteWait, Object: lock}, func(goroutine int) string {
		return fmt.Sprint("g", goroutine)
	})
	const want = "held for reading by g1 since line 1, held for reading by g3 since line 3, held for " +
		"reading by g4 since line 4, and 1 more"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLooksHoldNothing: who only looks whether a lock is free does not hold it.
func TestLooksHoldNothing(t *testing.T) {
	h, mutex, rw := newLockOwners(), uint64(7), uint64(8)
	look := func(goroutine int, o sut.Operation, lock uint64) {
		h.take(goroutine, &sut.Event{Operation: o, Access: model.Read, Subject: lock},
			moment{since: "looked"})
	}
	h.take(1, &sut.Event{Operation: sut.Lock, Access: model.Write, Subject: mutex}, moment{since: "held"})
	look(2, sut.Lock, mutex)
	look(3, sut.TryLock, mutex)
	h.take(1, &sut.Event{Operation: sut.ReadLock, Access: model.Commute, Subject: rw}, moment{since: "held"})
	h.take(2, &sut.Event{Operation: sut.WriteLock, Access: model.Write, Subject: rw},
		moment{since: "claimed"})
	look(2, sut.WriteWait, rw) // a reader is inside
	look(3, sut.ReadLock, rw)
	look(4, sut.TryWriteLock, rw)
	name := func(goroutine int) string { return fmt.Sprint("g", goroutine) }
	for _, x := range []struct {
		waiting int
		event   sut.Event
		want    string
	}{
		{2, sut.Event{Operation: sut.Lock, Object: mutex}, "held by g1 since held"},
		{2, sut.Event{Operation: sut.WriteWait, Object: rw}, "held for reading by g1 since held"},
		{3, sut.Event{Operation: sut.ReadLock, Object: rw},
			"held for reading by g1 since held, waited for by the writer g2 since claimed"},
	} {
		if got := h.why(x.waiting, &x.event, name); got != x.want {
			t.Errorf("%v: %q, want %q", x.event.Operation, got, x.want)
		}
	}
	h.take(1, &sut.Event{Operation: sut.ReadUnlock, Access: model.Commute, Subject: rw}, moment{})
	h.take(2, &sut.Event{Operation: sut.WriteWait, Access: model.Read, Ready: sut.Free, Subject: rw},
		moment{})
	if got, want := h.why(3, &sut.Event{Operation: sut.ReadLock, Object: rw}, name),
		"held by g2 since claimed"; got != want {
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
