package kernels

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var engineBugs = []bug.Bug{
	{
		Name: "radbench-1", Class: lockOrder, Shows: bug.Deadlock,
		Doc: "a collector waits for all requests to end, and a request for an object that another, idle " +
			"request owns",
		Buggy: func() { collect(false) },
		Fixed: func() { collect(true) },
	},
	{
		Name: "radbench-2", Class: order, Shows: bug.Panic,
		Doc:   "the last user of a runtime frees its tables, and a new user comes in at that moment",
		Buggy: func() { startAndStop((*engine).stop) },
		Fixed: func() { startAndStop((*engine).stopLocked) },
	},
	{
		Name: "radbench-3", Class: atomicity, Shows: bug.Assertion,
		Doc:   "an object is handed from one owner to the next, and a third one sees it without any",
		Buggy: func() { claim((*object).take) },
		Fixed: func() { claim((*object).takeLocked) },
	},
	{
		Name: "radbench-4", Class: waiting, Shows: bug.Deadlock,
		Doc:   "a monitor from a cache is given to a second user, while the first still waits at it",
		Buggy: func() { monitors(false) },
		Fixed: func() { monitors(true) },
	},
	{
		Name: "radbench-5", Class: waiting, Shows: bug.Deadlock,
		Doc:   "an interrupt wakes the goroutine that is noted as the waiting one, before that waits",
		Buggy: func() { interruptWait(false) },
		Fixed: func() { interruptWait(true) },
	},
	{
		Name: "radbench-6", Class: order, Shows: bug.Panic,
		Doc:   "an initialisation is announced before it is done, and a second goroutine relies on it",
		Buggy: func() { initialise((*library).init) },
		Fixed: func() { initialise((*library).initOnce) },
	},
}

// collect has a collector that waits until no request runs, a request that waits for an object, and
// the owner of that object. It has the bug unless a request that waits counts as ended. It shows if
// the collector has begun when the owner wants to begin the request that gives the object back.
func collect(yield bool) {
	var mu sync.Mutex
	changed := sync.NewCond(&mu)
	requests, collecting, owned := 0, false, true
	begin := func() {
		for collecting {
			changed.Wait()
		}
		requests++
	}
	end := func() { requests--; changed.Broadcast() }
	var users sync.WaitGroup
	locked := func(do func()) {
		users.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			do()
		})
	}
	locked(func() { // wants the object
		begin()
		for owned {
			if yield {
				end()
				changed.Wait()
				begin()
			} else {
				changed.Wait()
			}
		}
		end()
	})
	locked(func() { // owns it, and gives it back in its next request
		begin()
		owned = false
		end()
	})
	locked(func() { // collects
		collecting = true
		for requests > 0 {
			changed.Wait()
		}
		collecting = false
		changed.Broadcast()
	})
	users.Wait()
}

// engine has tables as long as somebody uses it.
type engine struct {
	mu     sync.Mutex
	users  int
	tables atomic.Pointer[[4]int]
}

func (e *engine) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users++; e.users == 1 {
		e.tables.Store(new([4]int))
	}
}

// stop has the bug. It shows if another goroutine starts the engine between the two steps.
func (e *engine) stop() {
	e.mu.Lock()
	e.users--
	last := e.users == 0
	e.mu.Unlock()
	if last {
		e.tables.Store(nil)
	}
}

func (e *engine) stopLocked() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users--; e.users == 0 {
		e.tables.Store(nil)
	}
}

func startAndStop(stop func(*engine)) {
	var e engine
	var users sync.WaitGroup
	for id := range 2 {
		users.Go(func() {
			e.start()
			_ = e.tables.Load()[id]
			stop(&e)
		})
	}
	users.Wait()
}

// object has an owner, or none: 0.
type object struct {
	mu    sync.Mutex
	owner atomic.Int32
}

// take has the bug. It shows if another goroutine takes the object in the middle of it.
func (o *object) take(id int32) bool {
	o.owner.Store(0)
	return o.owner.CompareAndSwap(0, id) && o.owner.Load() == id
}

func (o *object) takeLocked(id int32) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owner.Store(id)
	return o.owner.Load() == id
}

func claim(take func(*object, int32) bool) {
	var o object
	o.owner.Store(1)
	var users sync.WaitGroup
	for id := int32(2); id <= 4; id++ {
		users.Go(func() { tandem.Assert(take(&o, id), "the object is not ", id, "'s any more") })
	}
	users.Wait()
}

// monitors has two goroutines that each wait at a monitor for a signal. It has the bug if a cache
// gives them the same monitor. It shows if both wait when the first signal comes: it wakes one of
// them, which may be the wrong one.
func monitors(separate bool) {
	var mu sync.Mutex
	cached := sync.NewCond(&mu)
	var users sync.WaitGroup
	for range 2 {
		monitor, ready := cached, false
		if separate {
			monitor = sync.NewCond(&mu)
		}
		users.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for !ready {
				monitor.Wait()
			}
		})
		users.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			ready = true
			monitor.Signal()
		})
	}
	users.Wait()
}

// interruptWait has a goroutine that notes that it will wait, and one that interrupts it. It has
// the bug unless the interrupt is kept. It shows if it comes between the note and the wait.
func interruptWait(kept bool) {
	wake := make(chan bool)
	if kept {
		wake = make(chan bool, 1)
	}
	var noted atomic.Bool
	var users sync.WaitGroup
	users.Go(func() {
		noted.Store(true)
		<-wake
	})
	users.Go(func() {
		if !noted.Load() {
			wake <- true // nobody is noted: the interrupt waits for the next one
			return
		}
		select {
		case wake <- true:
		default:
		}
	})
	users.Wait()
}

// library is initialised when it is first used.
type library struct {
	once  sync.Once
	ready atomic.Bool
	table atomic.Pointer[[4]int]
}

// init has the bug. It shows if a second goroutine comes between the two steps.
func (l *library) init() {
	if l.ready.CompareAndSwap(false, true) {
		l.table.Store(new([4]int))
	}
}

func (l *library) initOnce() { l.once.Do(l.init) }

func initialise(init func(*library)) {
	var l library
	var users sync.WaitGroup
	for id := range 2 {
		users.Go(func() {
			init(&l)
			_ = l.table.Load()[id]
		})
	}
	users.Wait()
}
