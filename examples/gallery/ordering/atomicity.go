// Package ordering has programs without a data race in which things happen in an
// order that was not thought of: between two operations that were meant to be
// one, or before what they need.
package ordering

import (
	"context"
	"expvar"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug { return slices.Concat(atomicityBugs, lockFreeBugs, orderBugs) }

const (
	atomicity      = "non-blocking: atomicity violation"
	orderViolation = "non-blocking: order violation"
)

var atomicityBugs = []bug.Bug{
	{
		Name: "check-then-withdraw", Class: atomicity, Shows: bug.Assertion,
		Doc:   "the balance is checked in one critical section and reduced in another",
		Buggy: func() { withdrawTwice((*account).withdrawInTwoSteps) },
		Fixed: func() { withdrawTwice((*account).withdraw) },
	},
	{
		Name: "get-or-create", Class: atomicity, Shows: bug.Assertion,
		Doc:   "two goroutines miss the same key of a sync.Map, and each stores a value of its own",
		Buggy: func() { openSameFile((*files).openAndStore) },
		Fixed: func() { openSameFile((*files).loadOrStore) },
	},
	{
		Name: "upgrade-without-recheck", Class: atomicity, Shows: bug.Assertion,
		Doc:   "what was missing under the read lock is computed again under the write lock, unasked",
		Buggy: func() { computeOnce((*table).getUnchecked) },
		Fixed: func() { computeOnce((*table).get) },
	},
	{
		Name: "stale-fill", Class: atomicity, Shows: bug.Assertion,
		Doc:   "a cache is filled with what was read before the value was changed and the cache invalidated",
		Buggy: func() { readWhileUpdating((*cache).read) },
		Fixed: func() { readWhileUpdating((*cache).readVersioned) },
	},
	{
		Name: "commit-after-cancel", Class: atomicity, Shows: bug.Assertion,
		Doc:   "a transaction looks at its context, and commits when that has been cancelled in the meantime",
		Buggy: func() { commitWhileCancelling((*transaction).commitAfterLook) },
		Fixed: func() { commitWhileCancelling((*transaction).commit) },
	},
	{
		Name: "two-leaders", Class: atomicity, Shows: bug.Assertion,
		Doc:   "two candidates find the lease free, and both take it",
		Buggy: func() { elect((*lease).takeIfFree) },
		Fixed: func() { elect((*lease).take) },
	},
	{
		Name: "read-then-set", Class: atomicity, Shows: bug.Assertion,
		Doc:   "each call of a library is safe for concurrent use, which two in a row are not",
		Buggy: func() { countTwice(func(n *expvar.Int) { n.Set(n.Value() + 1) }) },
		Fixed: func() { countTwice(func(n *expvar.Int) { n.Add(1) }) },
	},
	{
		Name: "captured-index", Class: "non-blocking: captured variable", Shows: bug.Assertion,
		Doc:   "goroutines share the loop's variable; that it is under a lock makes it no less shared",
		Buggy: func() { visitAll(visitShared) },
		Fixed: func() { visitAll(visitOwn) },
	},
}

func countTwice(count func(*expvar.Int)) {
	var n expvar.Int
	var requests sync.WaitGroup
	for range 2 {
		requests.Go(func() { count(&n) })
	}
	requests.Wait()
	tandem.Assert(n.Value() == 2, "of two requests ", n.Value(), " were counted")
}

// account is an account of a bank.
type account struct {
	mu      sync.Mutex
	balance int
}

func (a *account) read() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.balance
}

func (a *account) add(amount int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance += amount
}

// withdrawInTwoSteps has the bug: each step has the lock, the two have not.
func (a *account) withdrawInTwoSteps(amount int) bool {
	if a.read() < amount {
		return false
	}
	a.add(-amount)
	return true
}

// withdraw does both under one lock.
func (a *account) withdraw(amount int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.balance < amount {
		return false
	}
	a.balance -= amount
	return true
}

func withdrawTwice(withdraw func(*account, int) bool) {
	a := account{balance: 100}
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() { withdraw(&a, 80) })
	}
	users.Wait()
	tandem.Assert(a.read() >= 0, "the balance is ", a.read())
}

// files are opened once and shared.
type files struct {
	open sync.Map // name to *file
}

type file struct{ name string }

// openAndStore has the bug: Load and Store are atomic, the two together are not.
func (f *files) openAndStore(name string) *file {
	if known, ok := f.open.Load(name); ok {
		return known.(*file)
	}
	opened := &file{name}
	f.open.Store(name, opened)
	return opened
}

// loadOrStore may make a file too many, of which nobody hears.
func (f *files) loadOrStore(name string) *file {
	known, _ := f.open.LoadOrStore(name, &file{name})
	return known.(*file)
}

func openSameFile(open func(*files, string) *file) {
	var f files
	var got [2]*file
	var users sync.WaitGroup
	for i := range got {
		users.Go(func() { got[i] = open(&f, "log") })
	}
	users.Wait()
	tandem.Assert(got[0] == got[1], "the same file was opened twice")
}

// table keeps what is expensive to compute.
type table struct {
	mu       sync.RWMutex
	entries  map[int]int
	computed int
}

func (t *table) lookUp(n int) (entry int, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	entry, ok = t.entries[n]
	return entry, ok
}

func (t *table) compute(n int) int {
	t.computed++
	t.entries[n] = n * n
	return n * n
}

// getUnchecked has the bug: between the locks, another one may have computed it.
func (t *table) getUnchecked(n int) int {
	if entry, ok := t.lookUp(n); ok {
		return entry
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.compute(n)
}

// get looks again.
func (t *table) get(n int) int {
	if entry, ok := t.lookUp(n); ok {
		return entry
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if entry, ok := t.entries[n]; ok {
		return entry
	}
	return t.compute(n)
}

func computeOnce(get func(*table, int) int) {
	t := table{entries: map[int]int{}}
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() { get(&t, 7) })
	}
	users.Wait()
	tandem.Assert(t.computed == 1, "the entry was computed ", t.computed, " times")
}

// cache keeps one value of a slow store.
type cache struct {
	store   atomic.Int32
	mu      sync.Mutex
	valid   bool
	value   int32
	version int // of the cache: counts invalidations
}

func (c *cache) update(value int32) {
	c.store.Store(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid = false
	c.version++
}

// read has the bug: an update may come between the look at the store and the fill.
func (c *cache) read() {
	value := c.store.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid, c.value = true, value
}

// readVersioned fills the cache only if it was not invalidated in between.
func (c *cache) readVersioned() {
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	value := c.store.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == version {
		c.valid, c.value = true, value
	}
}

func readWhileUpdating(read func(*cache)) {
	var c cache
	var users sync.WaitGroup
	users.Go(func() { read(&c) })
	users.Go(func() { c.update(1) })
	users.Wait()
	tandem.Assert(!c.valid || c.value == 1, "the cache holds ", c.value, ", which was replaced by 1")
}

// transaction is done once: it is committed or rolled back.
type transaction struct {
	mu         sync.Mutex
	ctx        context.Context
	cancel     context.CancelFunc
	rolledBack bool
	committed  bool
}

func (t *transaction) rollBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel()
	t.rolledBack = !t.committed
}

// commitAfterLook has the bug: what the context says is old when the lock is taken.
func (t *transaction) commitAfterLook() {
	if t.ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.committed = true
}

// commit looks when nobody can roll back any more.
func (t *transaction) commit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.committed = t.ctx.Err() == nil
}

func commitWhileCancelling(commit func(*transaction)) {
	t := new(transaction)
	t.ctx, t.cancel = context.WithCancel(context.Background())
	var users sync.WaitGroup
	users.Go(func() { commit(t) })
	users.Go(t.rollBack)
	users.Wait()
	tandem.Assert(!t.committed || !t.rolledBack, "what was rolled back was committed")
}

// lease is held by one leader at a time.
type lease struct {
	mu     sync.Mutex
	holder int // 0: nobody
}

// takeIfFree has the bug: the lease is looked at and taken in two steps.
func (l *lease) takeIfFree(candidate int) bool {
	l.mu.Lock()
	free := l.holder == 0
	l.mu.Unlock()
	if !free {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder = candidate
	return true
}

// take compares and swaps.
func (l *lease) take(candidate int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != 0 {
		return false
	}
	l.holder = candidate
	return true
}

func elect(take func(*lease, int) bool) {
	var l lease
	var leaders atomic.Int32
	var candidates sync.WaitGroup
	for number := range 2 {
		candidates.Go(func() {
			if take(&l, number+1) {
				leaders.Add(1)
			}
		})
	}
	candidates.Wait()
	tandem.Assert(leaders.Load() == 1, "there are ", leaders.Load(), " leaders")
}

// visitShared has the bug that every loop had before Go 1.22, and that loops
// over a variable of the outside still have.
func visitShared(n int, visit func(int)) {
	var mu sync.Mutex
	var visitors sync.WaitGroup
	i := 0
	for range n {
		visitors.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			visit(i)
		})
		mu.Lock()
		i++
		mu.Unlock()
	}
	visitors.Wait()
}

// visitOwn hands each goroutine a number of its own.
func visitOwn(n int, visit func(int)) {
	var mu sync.Mutex
	var visitors sync.WaitGroup
	for i := range n {
		visitors.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			visit(i)
		})
	}
	visitors.Wait()
}

func visitAll(each func(n int, visit func(int))) {
	rooms := make([]int, 2)
	each(len(rooms), func(i int) {
		tandem.Assert(i < len(rooms) && rooms[i] == 0, "room ", i, " is visited twice, or does not exist")
		rooms[i]++
	})
}
