package lockgraph

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// goroutine is what the graph is built from, of a goroutine.
type goroutine struct {
	id     core.GoroutineID
	number int32 // place in builder.goroutines
	begun  bool  // it was created, or has executed something
	done   int32 // transitions
	forks  int32 // goroutines that it has created
	held   []hold
	past   []int32 // transitions of others that come before its next one; nobody changes it
}

// builder builds the graph of an execution.
type builder struct {
	graph
	number   map[core.GoroutineID]int32
	lockOf   map[core.ObjectID]int32
	finished map[core.ObjectID][]int32 // what comes before a wait for a counter ends
	known    map[edgeKey]bool
	room     int // entries of clocks that may still be made
}

// edgeKey tells apart edges that may lead to different cycles: after the creation of another
// goroutine, or with other locks held, one may be concurrent with something that the other is not.
type edgeKey struct {
	goroutine, from, to int32
	forks               int32
	held                uint64
	past                *int32
	place               uint64
}

// mostClockEntries bounds the memory for clocks. What has none is taken to be concurrent.
const mostClockEntries = 1 << 24

// newGraph builds the graph of an execution, in time that is linear but for clocks, of which there
// is one for each goroutine and each Done.
func newGraph(e *core.Execution) *graph {
	b := &builder{number: map[core.GoroutineID]int32{}, lockOf: map[core.ObjectID]int32{},
		finished: map[core.ObjectID][]int32{}, known: map[edgeKey]bool{}, room: mostClockEntries}
	b.budget = wholeBudget
	b.findLocks(e)
	if len(b.locks) < 2 {
		return &b.graph
	}
	for i := range e.Transitions {
		b.add(&e.Transitions[i])
	}
	for i := range e.Pending {
		p := &e.Pending[i]
		g := b.of(p.Goroutine)
		for _, n := range p.Needs {
			if lock, is := b.lockOf[n.Object]; is && wants(n, p.Accesses) {
				b.wait(g, lock, n.Mask&core.ReadyExclusive == 0, g.done+1, 0)
			}
		}
	}
	return &b.graph
}

// findLocks finds which objects are locks: those that somebody waits for to have them.
func (b *builder) findLocks(e *core.Execution) {
	find := func(needs []core.Need, accesses []core.Access) {
		for _, n := range needs {
			if _, known := b.lockOf[n.Object]; !known && wants(n, accesses) {
				b.lockOf[n.Object] = int32(len(b.locks))
				b.locks = append(b.locks, n.Object)
			}
		}
	}
	for i := range e.Transitions {
		find(e.Transitions[i].Needs, e.Transitions[i].Accesses)
	}
	for i := range e.Pending {
		find(e.Pending[i].Needs, e.Pending[i].Accesses)
	}
	b.from, b.written = make([][]int32, len(b.locks)), make([]bool, len(b.locks))
}

// wants reports whether an operation that waits for a condition takes a lock. A Wait for a counter
// to be zero only looks at it.
func wants(n core.Need, accesses []core.Access) bool {
	const lock = core.ReadyExclusive | core.ReadyShared
	return n.Mask&lock != 0 && slices.ContainsFunc(accesses, func(a core.Access) bool {
		return a.Object == n.Object && (a.Kind == core.Write || a.Kind == core.Commute && a.Delta >= 0)
	})
}

func (b *builder) of(id core.GoroutineID) *goroutine {
	n, known := b.number[id]
	if !known {
		n = int32(len(b.goroutines))
		b.number[id] = n
		b.goroutines = append(b.goroutines, goroutine{id: id, number: n})
	}
	return &b.goroutines[n]
}

// add takes the next transition of the execution.
func (b *builder) add(x *core.Transition) {
	g := b.of(x.Goroutine)
	g.begun = true
	g.done++
	for i := range x.Accesses {
		a := &x.Accesses[i]
		if lock, is := b.lockOf[a.Object]; is {
			b.take(g, lock, a, x)
		} else if a.Kind == core.Commute && a.Delta < 0 && a.Ready&core.CountsWaiting == 0 {
			b.finished[a.Object] = b.join(b.finished[a.Object], g.past, g.number, g.done)
		}
	}
	b.joinFinished(g, x)
	if x.Goroutine == 0 {
		return // the clock wakes, and creates nobody
	}
	for _, id := range x.Starts {
		number := g.number
		if started := b.of(id); !started.begun { // else it was woken
			g = &b.goroutines[number] // which may have moved
			started.begun, started.past = true, b.join(nil, g.past, g.number, g.done)
			b.goroutines[number].forks++
		}
	}
}

// joinFinished has all that was done before a counter became zero come before the end of a wait.
func (b *builder) joinFinished(g *goroutine, x *core.Transition) {
	for _, n := range x.Needs {
		if past := b.finished[n.Object]; past != nil && n.Mask&core.ReadyExclusive != 0 &&
			!wants(n, x.Accesses) {
			g.past = b.join(past, g.past, g.number, 0)
		}
	}
}

// join returns the later of two clocks, in which goroutine g has done at least so much.
func (b *builder) join(x, y []int32, g, done int32) []int32 {
	n := max(len(x), len(y), int(g)+1)
	if b.room -= n; b.room < 0 {
		return x
	}
	clock := make([]int32, n)
	copy(clock, x)
	for i, at := range y {
		clock[i] = max(clock[i], at)
	}
	clock[g] = max(clock[g], done)
	return clock
}

// take notes that a goroutine gets a lock or gives it back. Where a lock is tried, and not waited
// for, that cannot be told: the edge is one too many.
func (b *builder) take(g *goroutine, lock int32, a *core.Access, x *core.Transition) {
	gets, shared := a.Kind == core.Write && a.Ready&core.ReadyExclusive != 0, false
	if a.Kind == core.Commute {
		gets, shared = a.Delta > 0, true
	}
	switch {
	case a.Kind == core.Read:
	case gets:
		b.written[lock] = b.written[lock] || !shared
		b.wait(g, lock, shared, g.done, x.Place)
		// A goroutine that takes lock upon lock, and gives none back, would make this quadratic.
		if len(g.held) < mostHeld {
			g.held = append(slices.Clip(g.held), hold{lock, shared, g.done})
		}
	default:
		i := slices.IndexFunc(g.held, func(h hold) bool { return h.lock == lock && h.shared == shared })
		if i >= 0 {
			g.held = slices.Delete(slices.Clone(g.held), i, i+1)
		}
	}
}

// wait adds the edges of a transition in which a goroutine waits for a lock: from all that it has
// held before.
func (b *builder) wait(g *goroutine, lock int32, shared bool, nth int32, place uint64) {
	key := edgeKey{goroutine: g.number, to: lock, forks: g.forks, place: place}
	for _, h := range g.held {
		key.held += core.Mix(uint64(h.lock)<<1 + uint64(1))
	}
	if len(g.past) > 0 {
		key.past = &g.past[0]
	}
	for _, h := range g.held {
		if h.lock != lock && h.since < nth {
			key.from = h.lock
			b.connect(key, edge{goroutine: g.number, from: h.lock, to: lock, shared: shared, nth: nth,
				place: place, held: g.held, past: g.past})
		}
	}
}

// connect adds an edge, unless there is one like it.
func (b *builder) connect(key edgeKey, x edge) {
	if b.known[key] || len(b.edges) == mostEdges {
		return
	}
	b.known[key] = true
	b.from[x.from] = append(b.from[x.from], int32(len(b.edges)))
	b.edges = append(b.edges, x)
}
