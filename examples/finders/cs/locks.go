package cs

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var lockBugs = []bug.Bug{
	{
		Name: "deadlock01", Class: lockOrder, Shows: bug.Deadlock,
		Doc:   "two goroutines take two locks in opposite orders",
		Buggy: func() { bothLocks(true) },
		Fixed: func() { bothLocks(false) },
	},
	{
		Name: "carter01", Class: lockOrder, Shows: bug.Deadlock,
		Doc:   "the first of each class takes a common lock, while it holds the one that all need to leave",
		Buggy: func() { classes(true) },
		Fixed: func() { classes(false) },
	},
	{
		Name: "phase01", Class: "missing unlock", Shows: bug.Deadlock,
		Doc:   "of two phases each locks, unlocks and locks again, and the first does not unlock after that",
		Buggy: func() { phases(false) },
		Fixed: func() { phases(true) },
	},
}

// bothLocks has the bug if they are crossed. It shows if each goroutine has its first lock.
func bothLocks(crossed bool) {
	var a, b sync.Mutex
	var counter int
	var users sync.WaitGroup
	use := func(first, second *sync.Mutex, n int) {
		users.Go(func() {
			first.Lock()
			defer first.Unlock()
			second.Lock()
			defer second.Unlock()
			counter += n
		})
	}
	use(&a, &b, 1)
	if crossed {
		use(&b, &a, -1)
	} else {
		use(&a, &b, -1)
	}
	users.Wait()
}

// classes lets members of one of two classes in at a time: the first takes the room, the last gives
// it back. It has the bug if both classes count under the same lock. It shows if one class is in,
// and the first of the other waits for the room: it holds the lock that is needed to leave.
func classes(sameLock bool) {
	var room sync.Mutex
	var locks [2]sync.Mutex
	var users sync.WaitGroup
	for class := range 2 {
		lock, members := &locks[class], 0
		if sameLock {
			lock = &locks[0]
		}
		users.Go(func() {
			lock.Lock()
			if members++; members == 1 {
				room.Lock()
			}
			lock.Unlock()
			lock.Lock()
			if members--; members == 0 {
				room.Unlock()
			}
			lock.Unlock()
		})
	}
	users.Wait()
}

// phases has the bug if the second lock is kept. The goroutine that comes second waits for ever.
func phases(unlocking bool) {
	var x, y sync.Mutex
	var users sync.WaitGroup
	begun, ended := 0, 0
	for range 2 {
		users.Go(func() {
			x.Lock()
			begun++
			x.Unlock()
			x.Lock()
			if unlocking {
				defer x.Unlock()
			}
			y.Lock()
			ended++
			y.Unlock()
		})
	}
	users.Wait()
}

// pair is a pair of values of which both change at once, or should.
type pair interface {
	set()
	consistent() bool
}

// loosePair has the bug. It shows if a goroutine looks after one has set the first value, and
// before any has set the second.
type loosePair struct{ a, b atomic.Int32 }

func (p *loosePair) set() {
	p.a.Store(1)
	p.b.Store(-1)
}

func (p *loosePair) consistent() bool {
	return p.a.Load() == 0 && p.b.Load() == 0 || p.a.Load() == 1 && p.b.Load() == -1
}

// lockedPair does both under a lock.
type lockedPair struct {
	mu sync.Mutex
	loosePair
}

func (p *lockedPair) set() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loosePair.set()
}

func (p *lockedPair) consistent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loosePair.consistent()
}

func reorder(setters int, p pair) {
	var users sync.WaitGroup
	for range setters {
		users.Go(p.set)
	}
	users.Go(func() { tandem.Assert(p.consistent(), "the pair is set by half") })
	users.Wait()
}

// stages are two values, each with its lock. The second is to be one more than the first.
type stages struct {
	firstLock, secondLock sync.Mutex
	first, second         int
}

// set has the bug. It shows if a reader comes between the two critical sections of the first
// goroutine that sets them.
func (s *stages) set() {
	s.firstLock.Lock()
	s.first = 1
	s.firstLock.Unlock()
	s.secondLock.Lock()
	s.second = 2
	s.secondLock.Unlock()
}

// setTogether gives the first lock back when both are set.
func (s *stages) setTogether() {
	s.firstLock.Lock()
	defer s.firstLock.Unlock()
	s.first = 1
	s.secondLock.Lock()
	defer s.secondLock.Unlock()
	s.second = 2
}

func (s *stages) check() {
	s.firstLock.Lock()
	first := s.first
	s.firstLock.Unlock()
	if first == 0 {
		return
	}
	s.secondLock.Lock()
	defer s.secondLock.Unlock()
	tandem.Assert(s.second == first+1, "the second value is ", s.second)
}

func twoStage(setters int, set func(*stages)) {
	var s stages
	var users sync.WaitGroup
	for range setters {
		users.Go(func() { set(&s) })
	}
	users.Go(s.check)
	users.Wait()
}

// wrongLock has a goroutine that relies on its lock while it increases a value, and others that
// increase it, too. It has the bug unless they take the same lock. It shows if one of them comes
// between the look at the value and the check.
func wrongLock(others int, same bool) {
	var right, wrong sync.Mutex
	var value atomic.Int32
	var users sync.WaitGroup
	users.Go(func() {
		right.Lock()
		defer right.Unlock()
		before := value.Load()
		value.Add(1)
		now := value.Load()
		tandem.Assert(now == before+1, "the value is ", now, ", and it was ", before)
	})
	lock := &wrong
	if same {
		lock = &right
	}
	for range others {
		users.Go(func() {
			lock.Lock()
			defer lock.Unlock()
			value.Add(1)
		})
	}
	users.Wait()
}

// dinner has philosophers that take both forks at once, and count themselves without a lock. All n
// have eaten in every order in which no update is lost; so below is to be n+1.
func dinner(n, below int) {
	var table sync.Mutex // guards both forks of a philosopher at once
	forks := make([]sync.Mutex, n)
	meals := 0
	var eaten atomic.Int32
	var users sync.WaitGroup
	for i := range n {
		users.Go(func() {
			table.Lock()
			forks[(i+1)%n].Lock()
			forks[i].Lock()
			meals++
			forks[i].Unlock()
			forks[(i+1)%n].Unlock()
			table.Unlock()
			eaten.Store(eaten.Load() + 1)
			tandem.Assert(int(eaten.Load()) < below, "all have eaten")
		})
	}
	users.Wait()
}
