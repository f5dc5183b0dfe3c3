package narrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// lockOwners tells who holds which locks, and what the counters of wait groups are at: what a
// goroutine that is blocked waits for.
type lockOwners struct {
	locks  map[uint64][]lockOwner // by object
	counts map[uint64]int64       // of wait groups
}

// lockOwner is a goroutine that holds a lock.
type lockOwner struct {
	goroutine int
	as        role
	moment
}

// moment is when and where something happened.
type moment struct {
	step  int    // its index
	since string // in words; "": that is not known
}

type role int

const (
	owner    role = iota // of a mutex, or as the writer
	reader               // as one of several
	claimant             // the writer that waits for readers, and whom later ones wait for
)

func newLockOwners() lockOwners {
	return lockOwners{locks: map[uint64][]lockOwner{}, counts: map[uint64]int64{}}
}

// take takes the next access. One that only looks at a lock, since that is not free, takes nothing:
// so goroutines do that find a lock taken in a package where they are not preempted, before they
// wait for it.
func (h lockOwners) take(goroutine int, e *sut.Event, now moment) {
	if looks(e) {
		return
	}
	hold := func(as role) {
		h.locks[e.Subject] = append(h.locks[e.Subject], lockOwner{goroutine, as, now})
	}
	switch e.Operation {
	case sut.Lock, sut.TryLock, sut.TryWriteLock:
		hold(owner)
	case sut.ReadLock, sut.TryReadLock:
		hold(reader)
	case sut.WriteLock:
		// Without readers the writer has the lock at once.
		if hold(claimant); !h.hasReaders(e.Subject) {
			h.own(e.Subject)
		}
	case sut.WriteWait:
		h.own(e.Subject)
	case sut.Unlock, sut.WriteUnlock:
		delete(h.locks, e.Subject)
	case sut.ReadUnlock:
		h.leave(goroutine, e.Subject)
	case sut.Add:
		if h.counts[e.Subject] = int64(e.Counter()) + int64(e.Delta()); e.Access != model.Commute {
			delete(h.counts, e.Subject) // how much was added is not known
		}
	}
}

// looks reports whether an access is one to a lock that is not taken or released by it.
func looks(e *sut.Event) bool {
	if e.Operation == sut.WriteWait { // which is a look in any case
		return e.Ready&sut.Free == 0
	}
	return e.Access == model.Read
}

// hasReaders reports whether a lock is held for reading by somebody.
func (h lockOwners) hasReaders(lock uint64) bool {
	return slices.ContainsFunc(h.locks[lock], func(x lockOwner) bool { return x.as == reader })
}

// own makes the writer that was waiting the owner.
func (h lockOwners) own(lock uint64) {
	for i := range h.locks[lock] {
		if x := &h.locks[lock][i]; x.as == claimant {
			x.as = owner
		}
	}
}

// leave takes a reader away. Any goroutine may unlock what another has locked: where it has not
// locked it itself, one of the others has done so. The same goroutine may hold a lock for reading
// several times, and one of these is removed.
func (h lockOwners) leave(goroutine int, lock uint64) {
	list := h.locks[lock]
	i := slices.IndexFunc(list, func(x lockOwner) bool { return x.as == reader && x.goroutine == goroutine })
	if i < 0 {
		i = slices.IndexFunc(list, func(x lockOwner) bool { return x.as == reader })
	}
	if i >= 0 {
		h.locks[lock] = slices.Delete(list, i, i+1)
	}
}

// why says what a goroutine that waits for e waits for: who holds the lock, or what is left of a
// count. It is empty where that is not known. At most three holders are named, in the order in
// which they locked.
func (h lockOwners) why(waiting int, e *sut.Event, nameOf func(int) string) string {
	if count, ok := h.counts[e.Object]; ok && e.Operation == sut.Wait {
		return fmt.Sprintf("its counter is %d", count)
	}
	// Readers may be many, and each of them keeps a writer waiting.
	const shown = 3
	var said []string
	list := h.locks[e.Object]
	for _, x := range list[:min(shown, len(list))] {
		if x.goroutine == waiting && x.as == claimant {
			continue // it is what waits
		}
		said = append(said, x.say(nameOf(x.goroutine), x.goroutine == waiting))
	}
	if more := len(list) - shown; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, ", ")
}

// say says what a goroutine has to do with a lock, and since when. since is left out where it is
// not known.
func (x lockOwner) say(name string, itself bool) string {
	if itself {
		name += " itself"
	}
	text := map[role]string{
		owner: "held by ", reader: "held for reading by ", claimant: "waited for by the writer ",
	}[x.as] + name
	// A step of a library may have no place that is known.
	if x.since == "" {
		return text
	}
	return text + " since " + x.since
}
