package explore

import "fmt"

// Fingerprint returns a hash of the partial order (Mazurkiewicz trace) that an
// execution is a linearization of: the same for executions that differ only in
// the order of independent transitions, and (but for collisions) different for
// others. It does not depend on the values of ObjectIDs. The log must be one that
// Report would accept; else Fingerprint panics.
func Fingerprint(e Execution) uint64 {
	t := newTrace()
	for i := range e.Transitions {
		if _, err := t.push(&e.Transitions[i]); err != nil {
			panic(fmt.Sprintf("explore: Fingerprint: %v", err))
		}
	}
	// An event is its goroutine, its choice and the set of the events up to it, which
	// its clock gives. Sets are summed up, so that their order does not count.
	total := uint64(0)
	for i, e := range t.events {
		past := uint64(0)
		for g, n := range t.clockOf(int32(i)) {
			if n > 0 {
				past += mix(mix(uint64(t.goroutineOf.ids[g])) + uint64(n))
			}
		}
		total += mix(mix(mix(past)+uint64(e.Goroutine)) + uint64(e.Choice))
	}
	return total
}
