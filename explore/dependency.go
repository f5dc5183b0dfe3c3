package explore

// AccessKind says what an access conflicts with.
type AccessKind uint8

// The kinds of access.
const (
	Read        AccessKind = iota // looks at the object: atomic load, WaitGroup.Wait
	Write                         // anything else: atomic store, Lock, Unlock, channel operation, bytes to a peer
	Commute                       // adds to a counter without looking at it: WaitGroup.Add and Done, RLock, RUnlock
	accessKinds                   // their number
)

// conflicts is the dependency relation between two accesses to the same object
// by different goroutines. It is symmetric. An entry may be false only if the
// two accesses commute: in both orders they leave the same state, return the
// same results, and neither enables or disables the other.
var conflicts = [accessKinds][accessKinds]bool{
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
		// Addition commutes, and its result is not looked at. The exception is a
		// counter that one order takes below zero (a Done before the Add that it
		// answers): that panic is found only if an explored order runs into it.
		Commute: false,
	},
}

// Conflict reports whether two transitions of different goroutines are dependent
// by their accesses.
func Conflict(a, b []Access) bool {
	for i := range a {
		for j := range b {
			if a[i].Object == b[j].Object && a[i].Object != 0 && conflicts[a[i].Kind][b[j].Kind] {
				return true
			}
		}
	}
	return false
}

// kinds is a set of kinds of access: bit k for kind k.
type kinds uint8

// conflicting holds for each kind the set of kinds that it conflicts with.
var conflicting = func() (sets [accessKinds]kinds) {
	for a := range accessKinds {
		for b := range accessKinds {
			if conflicts[a][b] {
				sets[a] |= 1 << b
			}
		}
	}
	return sets
}()
