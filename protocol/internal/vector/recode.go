package vector

import "github.com/tandem-mc/tandem/protocol/internal/space"

// Recode makes a vector of one shape one of another, in which all its numbers fit.
func Recode(from, to *Shape, v *space.Widest) (u space.Widest) {
	for node, f := range from.Locals {
		add(to.Locals[node], &u, Get(f, v))
	}
	for i, f := range from.Left {
		if f.most != 0 {
			add(to.Left[i], &u, Get(f, v))
		}
	}
	// Counters that one of the shapes lacks are zero.
	messages := min(from.messages, to.messages)
	if from.log != to.log {
		for m := range messages {
			add(to.counter(m), &u, Get(from.counter(m), v))
		}
		return u
	}
	// The counters are one string of bits.
	for done, all := 0, messages<<from.log; done < all; {
		a, b := from.base+done, to.base+done
		size := min(64-a%64, 64-b%64, all-done)
		part := v[a/64] >> (a % 64) & (^uint64(0) >> (64 - size))
		u[b/64] |= part << (b % 64)
		done += size
	}
	return u
}
