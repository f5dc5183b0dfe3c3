package locks

import (
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const readersAndWriters = "blocking: RWMutex"

var rwMutexBugs = []bug.Bug{
	{
		Name: "read-write-read", Class: readersAndWriters, Shows: bug.Deadlock,
		Doc:   "a reader locks for reading again, behind a writer that waits for it",
		Buggy: func() { describeWhileAdding((*registry).describe) },
		Fixed: func() { describeWhileAdding((*registry).describeLockedOnce) },
	},
	{
		Name: "upgrade", Class: readersAndWriters, Shows: bug.Deadlock,
		Doc:   "a reader asks for the write lock without giving back its read lock",
		Buggy: func() { lookUpTwice((*memo).get) },
		Fixed: func() { lookUpTwice((*memo).getRelocked) },
	},
	{
		Name: "crossed-readers", Class: readersAndWriters, Shows: bug.Deadlock,
		Doc:   "readers take two locks in opposite orders, which is fatal as soon as writers wait",
		Buggy: func() { join(func(l, r *table) (first, second *table) { return r, l }) },
		Fixed: func() { join(func(l, r *table) (first, second *table) { return l, r }) },
	},
	{
		Name: "wrong-unlock", Class: "non-blocking: misuse of a lock", Shows: bug.Panic,
		Doc:   "what was locked for writing is unlocked for reading",
		Buggy: func() { addOnce((*registry).addOrSkip) },
		Fixed: func() { addOnce((*registry).add) },
	},
}

// registry knows names.
type registry struct {
	mu    sync.RWMutex
	names []string
}

func (r *registry) size() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.names)
}

// describe has the bug: the writer that came between its two read locks waits
// for the first one, and the second one for the writer.
func (r *registry) describe() (first string, size int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.names[0], r.size()
}

// describeLockedOnce holds one read lock for both.
func (r *registry) describeLockedOnce() (first string, size int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.names[0], len(r.names)
}

func (r *registry) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addLocked(name)
}

// addOrSkip has the bug: its unlock is that of a reader.
func (r *registry) addOrSkip(name string) {
	r.mu.Lock()
	defer r.mu.RUnlock()
	r.addLocked(name)
}

func (r *registry) addLocked(name string) {
	for _, known := range r.names {
		if known == name {
			return
		}
	}
	r.names = append(r.names, name)
}

func describeWhileAdding(describe func(*registry) (string, int)) {
	r := registry{names: []string{"a"}}
	var users sync.WaitGroup
	users.Go(func() { describe(&r) })
	users.Go(func() { r.add("b") })
	users.Wait()
}

func addOnce(add func(*registry, string)) {
	var r registry
	var users sync.WaitGroup
	users.Go(func() { add(&r, "a") })
	users.Go(func() { r.size() })
	users.Wait()
}

// memo remembers squares.
type memo struct {
	mu      sync.RWMutex
	squares map[int]int
}

// get has the bug: Lock waits for all readers, and it is one of them.
func (m *memo) get(n int) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if square, ok := m.squares[n]; ok {
		return square
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.squares[n] = n * n
	return n * n
}

// getRelocked gives the read lock back first. Somebody else may have stored the
// square in between, which does no harm.
func (m *memo) getRelocked(n int) int {
	m.mu.RLock()
	square, ok := m.squares[n]
	m.mu.RUnlock()
	if ok {
		return square
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.squares[n] = n * n
	return n * n
}

func lookUpTwice(get func(*memo, int) int) {
	m := memo{squares: map[int]int{}}
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() { get(&m, 3) })
	}
	users.Wait()
}

// table is a table of a database.
type table struct {
	mu   sync.RWMutex
	rows int
}

func (t *table) insert() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows++
}

// join reads two tables from two goroutines, while others insert into them. The
// second one locks the tables in the order that swap returns. Readers do not wait
// for readers, but for writers that wait for readers.
func join(swap func(l, r *table) (first, second *table)) {
	var l, r table
	read := func(first, second *table) int {
		first.mu.RLock()
		defer first.mu.RUnlock()
		second.mu.RLock()
		defer second.mu.RUnlock()
		return first.rows * second.rows
	}
	var users sync.WaitGroup
	users.Go(func() { read(&l, &r) })
	users.Go(func() { read(swap(&l, &r)) })
	users.Go(l.insert)
	users.Go(r.insert)
	users.Wait()
}
