package narrate

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// WaitsForClients lists the addresses at which a program in a deadlock waits for connections, or
// datagrams, that only a client from outside can send. It is empty if the deadlock has another
// cause: a goroutine waits for a lock that none of those holds, or for something else than other
// goroutines and clients. The program must have chosen an address: nobody knows others.
func WaitsForClients(log *sut.Log) (at []proxy.Address) {
	if log.Outcome != sut.Deadlock {
		return nil
	}
	// The keys are listening sockets, as objects of the log.
	served := map[uint64]proxy.Address{}
	owners := newLockOwners()
	acting := uint64(0)
	var pending []*sut.Event
	for i := range log.Events {
		switch e := &log.Events[i]; e.Kind {
		case sut.Dialled:
			if d, ok := sut.DialAt(log.Events, i); ok && d.Serves && d.Own {
				served[d.Object] = d.Address
			}
		case sut.Stepped:
			acting = e.Subject
		case sut.Accessed:
			owners.take(int(acting), e, "")
		case sut.Pending:
			if !translate.IsEnvironment(e) {
				pending = append(pending, e)
			}
		}
	}
	// Those that wait for connections are collected first, since others may wait for them.
	serving := map[int]bool{}
	for _, e := range pending {
		address, ok := served[e.Object]
		if ok && (e.Operation == sut.Accept || e.Operation == sut.SocketRead) {
			serving[int(e.Subject)] = true
			if !slices.Contains(at, address) {
				at = append(at, address)
			}
		}
	}
	// One goroutine that waits for something else makes it a real deadlock.
	for _, e := range pending {
		if !serving[int(e.Subject)] && !owners.maybeFreed(e, serving) {
			return nil
		}
	}
	return at
}

// maybeFreed reports whether a goroutine that waits goes on, perhaps, if those that serve do: it
// waits for them or for others by channels and the like, or for a lock that one of them holds.
// Channels are assumed to be served by them: who would send is not known.
func (h lockOwners) maybeFreed(e *sut.Event, serving map[int]bool) bool {
	switch e.Operation.Class() {
	case sut.ClassChannel:
		return true
	case sut.ClassSynchronisation:
	default:
		return false
	}
	switch e.Operation {
	case sut.Wait, sut.CondWait, sut.Resume, sut.SignalReceive:
		return true
	case sut.Lock, sut.ReadLock, sut.WriteLock, sut.WriteWait:
		return slices.ContainsFunc(h.locks[e.Object], func(x lockOwner) bool { return serving[x.goroutine] })
	}
	return false
}
