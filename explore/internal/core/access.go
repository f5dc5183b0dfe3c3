package core

// What the operations access (sut/operations.md has a row for each):
//
//	atomic load, failed CompareAndSwap, failed TryLock
//	    Read.
//	atomic store, add, swap
//	    Write.
//	Lock, Unlock
//	    Write. A Lock and the Unlock before it are never enabled together, so that race is not
//	    reversed: the race of the two Locks is.
//	RLock, RUnlock, WaitGroup.Add, WaitGroup.Done
//	    Commute. A Wait and the Done that enables it are never enabled together either
//	    (trace.exchangeable).
//	WaitGroup.Wait
//	    Read: it only looks whether the counter is zero.
//	send, receive, select
//	    Each of its channels, taken or not, since what makes an arm ready changes the
//	    alternatives. Write if the buffer may change.
//	waiting for a partner
//	    Commute on those that wait.
//	finding a partner
//	    Write on those that wait: who is taken depends on who waits.
//	reading the time, setting or stopping a timer
//	    The clock, if it may advance early (--early-timers). Otherwise it advances in a barrier,
//	    which depends on everything. To set or stop a timer drops what it has sent: Write of its
//	    channel if something can be received there, else Read.
//	input to a peer, passing of a peer's time
//	    Write of the peer group, which is the scope of the I/O cache, and of what it makes arrive
//	    somewhere. A read there accesses that too.

// Conflicts is the dependency relation between two accesses to the same object
// by different goroutines. It is symmetric. An entry may be false only if the
// two accesses commute: in both orders they leave the same state, return the
// same results, and neither enables or disables the other.
var Conflicts = [AccessKinds][AccessKinds]bool{
	Read: {
		Read:    false, // neither changes what the other sees
		Write:   true,  // the read returns the old or the new value
		Commute: true,  // Wait is enabled by the last Done and disabled by the first Add
	},
	Write: {
		Read:    true, // as above
		Write:   true, // the last one wins, or the first one disables the other (Lock)
		Commute: true, // a writer enters before or after a reader
	},
	Commute: {
		Read:  true, // as above
		Write: true, // as above
		// Addition commutes, and its result is not looked at. An addition that takes the counter
		// below zero is a Write; for those that would in another order see deficit. So is one by
		// which the counter could overflow in another order: of a large number, or to one.
		Commute: false,
	},
}

// Conflict reports whether two transitions of different goroutines are dependent
// by their accesses.
func Conflict(a, b []Access) bool {
	for i := range a {
		for j := range b {
			if a[i].Object == b[j].Object && a[i].Object != 0 && Conflicts[a[i].Kind][b[j].Kind] {
				return true
			}
		}
	}
	return false
}

// Withdraws reports whether an access is that of an operation which has waited for partners and
// no longer does: what it does first, whatever it does then.
func Withdraws(a Access) bool {
	return a.Kind == Commute && a.Ready&CountsWaiting != 0 && a.Delta < 0
}

// Wakes reports whether a sleeper depends on a transition that has just made some
// accesses: they conflict, or it would now take a counter below zero.
func (s *Sleeper) Wakes(made []Access) bool {
	for i := range s.Accesses {
		a := &s.Accesses[i]
		for j := range made {
			b := &made[j]
			if a.Object == b.Object && a.Object != 0 && (Conflicts[a.Kind][b.Kind] || overdraws(a, b)) {
				return true
			}
		}
	}
	return false
}

// overdraws reports whether an access would take a counter below zero after another one that goes
// well with it.
func overdraws(a, b *Access) bool {
	return a.Kind == Commute && b.Kind == Commute && a.Ready&CountsWaiting == 0 && b.Count+b.Delta+a.Delta < 0
}

// Accumulate turns the deltas of the accesses of a transition into what its
// accesses up to each have added to the counter.
func Accumulate(accesses []Access) []Access {
	for i := range accesses {
		for j := i - 1; j >= 0 && accesses[i].Kind == Commute; j-- {
			if accesses[j].Kind == Commute && accesses[j].Object == accesses[i].Object {
				accesses[i].Delta += accesses[j].Delta
				break
			}
		}
	}
	return accesses
}

// Kinds is a set of kinds of access: bit k for kind k.
type Kinds uint8

// Conflict reports whether a kind of one set conflicts with one of the other.
func (k Kinds) Conflict(other Kinds) bool {
	for kind := range AccessKinds {
		if k&(1<<kind) != 0 && other&Conflicting[kind] != 0 {
			return true
		}
	}
	return false
}

// Conflicting holds for each kind the set of kinds that it conflicts with.
var Conflicting = func() (sets [AccessKinds]Kinds) {
	for a := range AccessKinds {
		for b := range AccessKinds {
			if Conflicts[a][b] {
				sets[a] |= 1 << b
			}
		}
	}
	return sets
}()
