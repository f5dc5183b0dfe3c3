package ordering

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const misusedAtomics = "non-blocking: misuse of atomics"

var lockFreeBugs = []bug.Bug{
	{
		Name: "lost-update", Class: misusedAtomics, Shows: bug.Assertion,
		Doc:   "a counter is loaded and stored atomically, and not increased atomically",
		Buggy: func() { count(func(n *atomic.Int32) { n.Store(n.Load() + 1) }) },
		Fixed: func() { count(func(n *atomic.Int32) { n.Add(1) }) },
	},
	{
		Name: "same-number-twice", Class: misusedAtomics, Shows: bug.Assertion,
		Doc:   "a number is taken by Add, and then read again by Load",
		Buggy: func() { numberTickets(func(last *atomic.Int32) int32 { last.Add(1); return last.Load() }) },
		Fixed: func() { numberTickets(func(last *atomic.Int32) int32 { return last.Add(1) }) },
	},
	{
		Name: "over-admission", Class: misusedAtomics, Shows: bug.Assertion,
		Doc:   "a limiter compares its counter with the limit before it increases it",
		Buggy: func() { admitAtMostOne((*limiter).enterIfRoom) },
		Fixed: func() { admitAtMostOne((*limiter).enter) },
	},
	{
		Name: "torn-pair", Class: misusedAtomics, Shows: bug.Assertion,
		Doc:   "two atomic values that belong together are read between their updates",
		Buggy: func() { readInterval(new(twoValues)) },
		Fixed: func() { readInterval(new(onePointer)) },
	},
	{
		Name: "aba", Class: misusedAtomics, Shows: bug.Assertion,
		Doc:   "a stack without locks takes a node that was removed and put back for one that was never away",
		Buggy: func() { popWhileReusing(0) },
		Fixed: func() { popWhileReusing(1) },
	},
	{
		Name: "put-twice", Class: "non-blocking: library, sync.Pool", Shows: bug.Assertion,
		Doc:   "a buffer is given back to its pool twice, and then has two owners",
		Buggy: func() { useBuffers(true) },
		Fixed: func() { useBuffers(false) },
	},
}

func count(increase func(*atomic.Int32)) {
	var n atomic.Int32
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() { increase(&n) })
	}
	users.Wait()
	tandem.Assert(n.Load() == 2, "two increments make ", n.Load())
}

func numberTickets(next func(last *atomic.Int32) int32) {
	var last atomic.Int32
	var tickets [2]int32
	var users sync.WaitGroup
	for i := range tickets {
		users.Go(func() { tickets[i] = next(&last) })
	}
	users.Wait()
	tandem.Assert(tickets[0] != tickets[1], "two tickets have the number ", tickets[0])
}

// limiter admits one at a time.
type limiter struct{ inside atomic.Int32 }

// enterIfRoom has the bug: the room is gone when it enters.
func (l *limiter) enterIfRoom() bool {
	if l.inside.Load() >= 1 {
		return false
	}
	l.inside.Add(1)
	return true
}

// enter goes back where it is one too many.
func (l *limiter) enter() bool {
	if l.inside.Add(1) > 1 {
		l.inside.Add(-1)
		return false
	}
	return true
}

func admitAtMostOne(enter func(*limiter) bool) {
	var l limiter
	var working atomic.Int32
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() {
			if !enter(&l) {
				return
			}
			tandem.Assert(working.Add(1) == 1, "two are at work, the limit is one")
			working.Add(-1)
			l.inside.Add(-1)
		})
	}
	users.Wait()
}

// interval is a range of numbers: from is never greater than to.
type interval interface {
	set(from, to int32)
	get() (from, to int32)
}

// twoValues has the bug: between the two stores, it holds half of each interval.
type twoValues struct{ from, to atomic.Int32 }

func (v *twoValues) set(from, to int32) {
	v.from.Store(from)
	v.to.Store(to)
}

func (v *twoValues) get() (from, to int32) { return v.from.Load(), v.to.Load() }

// onePointer replaces both at once.
type onePointer struct{ now atomic.Pointer[[2]int32] }

func (p *onePointer) set(from, to int32) { p.now.Store(&[2]int32{from, to}) }

func (p *onePointer) get() (from, to int32) {
	now := p.now.Load()
	return now[0], now[1]
}

func readInterval(i interval) {
	i.set(1, 2)
	var users sync.WaitGroup
	users.Go(func() { i.set(5, 6) })
	users.Go(func() {
		from, to := i.get()
		tandem.Assert(from <= to, "the interval is from ", from, " to ", to)
	})
	users.Wait()
}

// nodes is a stack of numbered nodes (Treiber, 1986) that are used again. Its top
// is the number of a node in the lower half, and in the upper one how often it was
// changed, if step is 1. If step is 0, a top that looks unchanged may have been
// away, with another node below it.
type nodes struct {
	top  atomic.Uint64
	next [3]atomic.Uint64 // below node n; node 0 is the end of the stack
	step uint64
}

const number = 1<<32 - 1

func (s *nodes) push(n uint64) {
	for {
		top := s.top.Load()
		s.next[n].Store(top & number)
		if s.top.CompareAndSwap(top, n|(top>>32+s.step)<<32) {
			return
		}
	}
}

func (s *nodes) pop() uint64 {
	for {
		top := s.top.Load()
		if top&number == 0 {
			return 0
		}
		below := s.next[top&number].Load()
		if s.top.CompareAndSwap(top, below|(top>>32+s.step)<<32) {
			return top & number
		}
	}
}

// popWhileReusing has one goroutine pop a node, while another pops both and puts
// the first one back: the second one is then in use, and must not be on the stack.
func popWhileReusing(step uint64) {
	s := nodes{step: step}
	s.push(2)
	s.push(1)
	var users sync.WaitGroup
	var got [3]uint64
	users.Go(func() { got[0] = s.pop() })
	users.Go(func() {
		got[1] = s.pop()
		got[2] = s.pop()
		if got[1] != 0 {
			s.push(got[1])
			got[1] = 0
		}
	})
	users.Wait()
	rest := s.pop()
	tandem.Assert(got[2] == 0 || got[2] != rest && got[2] != got[0], "node ", got[2], " has two owners")
}

// useBuffers gives a buffer back at the end, and in the program with the bug
// before that, in the path of an error.
func useBuffers(fails bool) {
	buffers := sync.Pool{New: func() any { return new([16]byte) }}
	write := func(fails bool) {
		b := buffers.Get()
		defer buffers.Put(b)
		if fails {
			buffers.Put(b)
		}
	}
	write(fails)
	first, second := buffers.Get(), buffers.Get()
	tandem.Assert(first != second, "one buffer has two owners")
}
