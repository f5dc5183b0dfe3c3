package narrate

import (
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// WaitsForClients lists the addresses at which a program in a deadlock waits for connections, or
// datagrams, that only a client from outside can send: those that it has chosen, since nobody knows
// others, and has not dialled itself. The deadlock is none if clients could end it, that is, if all
// goroutines wait for them or for goroutines that do. Where that is not known, it is one.
func WaitsForClients(log *sut.Log) (at []proxy.Address, isDeadlock bool) {
	if log.Outcome != sut.Deadlock {
		return nil, false
	}
	s := newOutsiders(log.Events)
	if at = s.served(); len(at) == 0 {
		return nil, true
	}
	// Who goes on may free others, so this is repeated until nothing is new.
	for grows := true; grows; {
		grows = false
		for _, g := range s.parked {
			if !s.serving[g.id] && s.goesOn(&g) {
				s.serving[g.id], grows = true, true
			}
		}
	}
	return at, slices.ContainsFunc(s.parked, func(g parked) bool {
		return !s.serving[g.id] && !s.awaitsServer(&g)
	})
}

// outsiders tells who waits for clients in an execution in which no goroutine can go on.
type outsiders struct {
	parked  []parked
	serving map[uint64]bool // goroutines that go on once there are clients
	owners  lockOwners
	parents map[uint64]uint64          // who has started a goroutine
	users   map[uint64]map[uint64]bool // the goroutines that have accessed an object
	dials   []sut.Dial
}

// parked is a goroutine that waits, and the objects for which it does.
type parked struct {
	id      uint64
	event   *sut.Event
	objects []uint64
}

func newOutsiders(events []sut.Event) *outsiders {
	s := &outsiders{serving: map[uint64]bool{}, owners: newLockOwners(), parents: map[uint64]uint64{},
		users: map[uint64]map[uint64]bool{}}
	acting, isPending := uint64(0), false
	loops := map[uint64]bool{}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case sut.Dialled:
			if d, ok := sut.DialAt(events, i); ok && d.Name == "" {
				s.dials = append(s.dials, d)
			}
		case sut.Stepped:
			acting = e.Subject
		case sut.Partnered: // its operation is on an object that the acting one accesses
			s.use(e.Object, e.Subject)
		case sut.Accessed:
			s.owners.take(int(acting), e, moment{})
			s.use(e.Subject, acting)
		case sut.Spawned:
			s.parents[e.Subject] = acting
		case sut.Left:
			loops[e.Subject], _ = e.LoopsOnTimers()
		case sut.Pending:
			if isPending = !translate.IsEnvironment(e); isPending {
				s.parked = append(s.parked, parked{id: e.Subject, event: e, objects: []uint64{e.Object}})
			}
		case sut.Needed, sut.Intended:
			if isPending {
				g := &s.parked[len(s.parked)-1]
				g.objects = append(g.objects, e.Subject)
			}
		}
	}
	s.parked = slices.DeleteFunc(s.parked, func(g parked) bool { return loops[g.id] }) // they go on
	return s
}

// use notes that a goroutine has accessed an object.
func (s *outsiders) use(object, goroutine uint64) {
	if s.users[object] == nil {
		s.users[object] = map[uint64]bool{}
	}
	s.users[object][goroutine] = true
}

// served lists the addresses where goroutines wait for clients, and notes these goroutines.
func (s *outsiders) served() (at []proxy.Address) {
	for _, g := range s.parked {
		if o := g.event.Operation; o != sut.Accept && o != sut.SocketRead {
			continue
		}
		// The object of a socket is that of its queue, in the record as in the operation.
		i := slices.IndexFunc(s.dials, func(d sut.Dial) bool {
			return d.Serves && d.Own && d.Object == g.event.Object
		})
		if i < 0 || s.isDialled(s.dials[i].Address) {
			continue
		}
		s.serving[g.id] = true
		if a := s.dials[i].Address; !slices.Contains(at, a) {
			at = append(at, a)
		}
	}
	return at
}

// isDialled reports whether the program itself has dialled an address at which it listens, before
// or after it did: then it is its own client.
func (s *outsiders) isDialled(listens proxy.Address) bool {
	return slices.ContainsFunc(s.dials, func(d sut.Dial) bool {
		return !d.Serves && listens.Serves(d.Address)
	})
}

// goesOn reports whether a goroutine that waits can go on once those do that serve: one of them
// holds the lock that it waits for, has used what it waits for, or has started it.
func (s *outsiders) goesOn(g *parked) bool {
	switch o := g.event.Operation; o {
	case sut.Lock, sut.ReadLock, sut.WriteLock, sut.WriteWait:
		return slices.ContainsFunc(s.owners.locks[g.event.Object], func(x lockOwner) bool {
			return x.goroutine != int(g.id) && s.serving[uint64(x.goroutine)]
		})
	case sut.SignalReceive:
		return true // the goroutine of package os/signal: it waits for the world
	case sut.Wait, sut.CondWait, sut.Resume:
	default:
		if o.Class() != sut.ClassChannel {
			return false
		}
	}
	return slices.ContainsFunc(g.objects, func(object uint64) bool {
		return object != 0 && (s.startedByServer(g.id) || s.isServed(object))
	})
}

// isServed reports whether a goroutine that serves, or was started by one, has used an object.
func (s *outsiders) isServed(object uint64) bool {
	for user := range s.users[object] {
		if s.serving[user] || s.startedByServer(user) {
			return true
		}
	}
	return false
}

// startedByServer reports whether a goroutine was started by one that serves, or by one that was.
func (s *outsiders) startedByServer(goroutine uint64) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.serving)), func(server uint64) bool {
		return server != goroutine && s.isAncestor(server, goroutine)
	})
}

// isAncestor reports whether one goroutine has started another, or one that has.
func (s *outsiders) isAncestor(ancestor, goroutine uint64) bool {
	for range len(s.parents) + 1 {
		if goroutine == ancestor {
			return true
		}
		parent, known := s.parents[goroutine]
		if !known {
			return false
		}
		goroutine = parent
	}
	return false
}

// awaitsServer reports whether a goroutine has started one that serves, and waits for its end, or
// for ever, as the main goroutine of a server does that serves in others.
func (s *outsiders) awaitsServer(g *parked) bool {
	started := false
	for server := range s.serving {
		started = started || s.isAncestor(g.id, server)
	}
	// A lock is not handed over by the end of a goroutine, so waits for locks do not count.
	switch g.event.Operation {
	case sut.Wait, sut.ChannelReceive, sut.Select, sut.Resume:
		return started && (g.id == mainGoroutine || g.event.Object != 0)
	}
	return false
}

const mainGoroutine = 1
