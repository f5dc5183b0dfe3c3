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
	// Each event is named by its goroutine, its place in it and its choice. The set
	// of the events before it is given by its clock; both sets are summed up in an
	// order-independent way.
	total := uint64(0)
	for i := range t.events {
		past := uint64(0)
		for g, n := range t.clockOf(int32(i)) {
			if n > 0 {
				past += mix(mix(uint64(t.goroutines[g].id)) + uint64(n))
			}
		}
		self := mix(uint64(t.events[i].Goroutine)) + uint64(t.events[i].Choice)
		total += mix(mix(self) ^ past)
	}
	return total
}
