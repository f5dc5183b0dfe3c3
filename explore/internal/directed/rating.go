package directed

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// rating says how near a state is to a violation.
type rating struct {
	// What the program has given last (tandem.Estimate): less is nearer.
	estimate int64
	// Locks of goroutines that cannot go on: more is nearer. In a deadlock each has what another
	// one waits for.
	held int32
	// Goroutines that cannot go on: more is nearer, if they hold nothing.
	blocked int32
	// The program has given an estimate in the execution, perhaps only later.
	guided bool
}

// unknown is the estimate before the program has given any.
const unknown = math.MaxInt64

// compare orders ratings, the nearest first. What the program says counts more than what can be
// seen of every program.
func (r rating) compare(s rating) int {
	n := cmp.Or(cmp.Compare(r.estimate, s.estimate), cmp.Compare(s.held, r.held))
	if n == 0 && r.guided != s.guided {
		n = 1
		if r.guided {
			n = -1
		}
	}
	if n != 0 || r.tells() {
		return n
	}
	return cmp.Compare(s.blocked, r.blocked)
}

// tells reports whether the rating says anything.
func (r rating) tells() bool { return r.guided || r.held > 0 }

// hold is a lock that a goroutine has.
type hold struct {
	lock   core.ObjectID
	by     core.GoroutineID
	shared bool
}

// rate appends the rating of the state before each transition.
func rate(list []rating, e *core.Execution) []rating {
	estimate, given := int64(unknown), e.Estimates
	locks := locks{of: map[core.GoroutineID]int32{}}
	for i := range e.Transitions {
		x := &e.Transitions[i]
		held := int32(len(locks.holds))
		for _, a := range x.Enabled {
			held -= locks.of[a.Goroutine]
		}
		list = append(list, rating{estimate, max(0, held), int32(max(0, x.Alive-len(x.Enabled))),
			len(e.Estimates) > 0})
		locks.take(x)
		for len(given) > 0 && given[0].At <= i {
			estimate, given = given[0].Value, given[1:]
		}
	}
	return list
}

// locks are those that goroutines have.
type locks struct {
	holds []hold
	of    map[core.GoroutineID]int32 // how many each goroutine has
}

// take notes which locks a transition has taken and given back. A lock that is tried, and not
// waited for, is not seen; the rating is no promise.
func (l *locks) take(x *core.Transition) {
	for _, a := range x.Accesses {
		if takes(x.Needs, a) {
			l.holds = append(l.holds, hold{a.Object, x.Goroutine, a.Kind == core.Commute})
			l.of[x.Goroutine]++
			continue
		}
		if a.Kind != core.Write && (a.Kind != core.Commute || a.Delta >= 0) {
			continue
		}
		shared := a.Kind == core.Commute
		at := slices.IndexFunc(l.holds, func(h hold) bool {
			return h.lock == a.Object && h.shared == shared && (!shared || h.by == x.Goroutine)
		})
		if last := len(l.holds) - 1; at >= 0 {
			l.of[l.holds[at].by]--
			l.holds[at] = l.holds[last]
			l.holds = l.holds[:last]
		}
	}
}

// takes reports whether an access takes a lock that the transition has waited for. A Wait for a
// counter only reads it.
func takes(needs []core.Need, a core.Access) bool {
	for _, n := range needs {
		if n.Object == a.Object && n.Mask&(core.ReadyExclusive|core.ReadyShared) != 0 {
			return a.Kind == core.Write && a.Ready&core.ReadyExclusive != 0 ||
				a.Kind == core.Commute && a.Delta > 0
		}
	}
	return false
}
