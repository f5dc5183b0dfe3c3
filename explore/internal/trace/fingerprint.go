package trace

import (
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/internal/invariant"
)

// Fingerprint returns a hash of the partial order (Mazurkiewicz trace) that an
// execution is a linearization of: the same for executions that differ only in
// the order of independent transitions, and (but for collisions) different for
// others. It does not depend on the values of ObjectIDs. The log must be one that
// Report would accept; else Fingerprint panics.
func Fingerprint(e core.Execution) uint64 {
	t := New()
	for i := range e.Transitions {
		if _, err := t.Push(&e.Transitions[i]); err != nil {
			invariant.Failf("explore: Fingerprint of a log that is wrong: %v", err)
		}
	}
	// An event is its goroutine, its choice and the set of the events up to it, which
	// its clock gives. Sets are summed up, so that their order does not count.
	total := uint64(0)
	for i, e := range t.Events {
		past := uint64(0)
		for g, n := range t.ClockOf(int32(i)) {
			if n > 0 {
				past += core.Mix(core.Mix(uint64(t.GoroutineOf.Ids[g])) + uint64(n))
			}
		}
		total += core.Mix(core.Mix(core.Mix(past)+uint64(e.Goroutine)) + uint64(e.Choice))
	}
	return total
}
