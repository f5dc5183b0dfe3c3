package explore

// step is an action of a sequence to do, and what its transition accessed where it
// was seen: elsewhere in the execution for the operation at the end of a race.
type step struct {
	Action
	Accesses []Access
}

// sequence is what is to be executed from a node, one step after the other. It is
// not empty.
type sequence []step

// reversal is a sequence that is to run from a node instead of the event there. It
// stands by itself: what it refers to survives the trace that it was found in.
type reversal struct {
	node  int32
	steps sequence
}

// insert sees to it that a reversal is explored, and reports whether it was not yet:
// the backtrack set of its node must have an initial of it.
func (d *dpor) insert(r reversal) bool {
	n := &d.nodes[r.node]
	if d.covered(n, r.steps[0].Goroutine) {
		return false
	}
	n.todo = append(n.todo, r.steps)
	return true
}

// instead is the reversal that begins with a goroutine.
func (d *dpor) instead(node int32, g GoroutineID) reversal {
	return reversal{node, sequence{{Action: Action{Goroutine: g}}}}
}

// reverse sees to it that the races of earlier events with an operation of goroutine
// next are also explored the other way round: what then runs is everything that
// does not depend on the event, and the operation.
func (d *dpor) reverse(races []race, next GoroutineID) error {
	for _, r := range races {
		switch first, covered := d.firstInitial(r.event, 0); {
		case r.vague:
			d.reverseVaguely(r, next)
		case r.direct && d.covered(&d.nodes[r.event], next), covered:
		case r.direct:
			d.insert(d.instead(r.event, next))
		case first < 0:
			return logError(int(r.event), "goroutine %#x could have run before it, but nothing could have run first "+
				"(do all accesses have the right Ready and Delta?)", uint64(next))
		default:
			d.insert(d.instead(r.event, d.path[first].Goroutine))
		}
	}
	return nil
}

// reverseVaguely is reverse when it is not known what has to run: whatever it is, it
// begins with one of those that it adds.
func (d *dpor) reverseVaguely(r race, next GoroutineID) {
	if r.direct {
		d.insert(d.instead(r.event, next))
	}
	for x := range d.trace.initials(r.event) {
		d.insert(d.instead(r.event, d.path[x].Goroutine))
	}
}

// firstInitial returns the earliest initial of what comes after event e without
// depending on it, -1 if there is none, and whether one is covered. It passes over
// those of goroutine skip.
func (d *dpor) firstInitial(e int32, skip GoroutineID) (first int32, covered bool) {
	first = -1
	for x := range d.trace.initials(e) {
		g := d.path[x].Goroutine
		if g != skip && d.covered(&d.nodes[e], g) {
			return first, true
		}
		if g != skip && (first < 0 || x < first) {
			first = x
		}
	}
	return first, false
}

// covered reports whether what begins with a goroutine needs nothing new at node n:
// the goroutine is asleep, or in the backtrack set.
func (d *dpor) covered(n *node, g GoroutineID) bool {
	for _, s := range d.sleepOf(n) {
		if s.Goroutine == g {
			return true
		}
	}
	for _, s := range n.todo {
		if s[0].Goroutine == g {
			return true
		}
	}
	return false
}
