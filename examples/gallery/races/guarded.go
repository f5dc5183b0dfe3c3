package races

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const (
	locking    = "non-blocking: data race, missing or wrong lock"
	publishing = "non-blocking: data race, unsafe publication"
)

var guardedBugs = []bug.Bug{
	{
		Name: "race-unlocked-getter", Class: locking, Shows: bug.DataRace,
		Doc:   "all methods lock but the one that only reads",
		Buggy: func() { pushWhileMeasuring((*stack).sizeUnlocked) },
		Fixed: func() { pushWhileMeasuring((*stack).size) },
	},
	{
		Name: "race-write-under-read-lock", Class: locking, Shows: bug.DataRace,
		Doc:   "a look-up counts itself under the read lock, which others hold too",
		Buggy: func() { lookUpTwice((*index).getCounting) },
		Fixed: func() { lookUpTwice((*index).getCountingAtomically) },
	},
	{
		Name: "race-two-locks", Class: locking, Shows: bug.DataRace,
		Doc:   "two methods protect the same field by different locks",
		Buggy: func() { openAndClose((*pool).closeUnderOther) },
		Fixed: func() { openAndClose((*pool).close) },
	},
	{
		Name: "race-local-lock", Class: locking, Shows: bug.DataRace,
		Doc:   "the lock is a variable of the function, and each call has its own",
		Buggy: func() { addTwice(addUnderLocal) },
		Fixed: func() { addTwice(addUnderShared) },
	},
	{
		Name: "race-unlocked-too-early", Class: locking, Shows: bug.DataRace,
		Doc:   "a value is changed after the unlock that ends its protection",
		Buggy: func() { moveTwice((*point).moveUnlocking) },
		Fixed: func() { moveTwice((*point).move) },
	},
	{
		Name: "race-atomic-and-plain", Class: "non-blocking: data race, misuse of atomics",
		Shows: bug.DataRace,
		Doc:   "a counter is increased atomically, and read as any other variable",
		Buggy: func() { countAndRead(func(n *int32) int32 { return *n }) },
		Fixed: func() { countAndRead(atomic.LoadInt32) },
	},
	{
		Name: "race-double-checked", Class: publishing, Shows: bug.DataRace,
		Doc:   "an instance is looked for without the lock under which it is made",
		Buggy: func() { useInstance((*lazy).getDoubleChecked) },
		Fixed: func() { useInstance((*lazy).get) },
	},
	{
		Name: "race-ready-flag", Class: publishing, Shows: bug.DataRace,
		Doc:   "a plain flag says that data is ready, and orders nothing",
		Buggy: func() { publish(new(plainMail)) },
		Fixed: func() { publish(new(atomicMail)) },
	},
	{
		Name: "race-once-bypassed", Class: publishing, Shows: bug.DataRace,
		Doc:   "what a Once initialises is read without asking the Once",
		Buggy: func() { describe((*device).nameIfKnown) },
		Fixed: func() { describe((*device).name) },
	},
	{
		Name: "race-parallel-tests", Class: "non-blocking: data race, parallel tests", Shows: bug.DataRace,
		Doc:   "parallel subtests set a variable of their package",
		Buggy: func() { runTests(func() *testOptions { return options }) },
		Fixed: func() { runTests(func() *testOptions { return new(testOptions) }) },
	},
}

// stack is a stack of numbers.
type stack struct {
	mu      sync.Mutex
	numbers []int
}

func (s *stack) push(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers = append(s.numbers, n)
}

// sizeUnlocked has the bug: a read needs the lock as well.
func (s *stack) sizeUnlocked() int { return len(s.numbers) }

func (s *stack) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.numbers)
}

func pushWhileMeasuring(size func(*stack) int) {
	var s stack
	var group sync.WaitGroup
	group.Go(func() { s.push(1) })
	group.Go(func() { size(&s) })
	group.Wait()
}

// index counts how often it is used.
type index struct {
	mu         sync.RWMutex
	entries    map[string]int
	uses       int
	atomicUses atomic.Int32
}

// getCounting has the bug: two readers count at the same time.
func (x *index) getCounting(key string) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.uses++
	return x.entries[key]
}

func (x *index) getCountingAtomically(key string) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.atomicUses.Add(1)
	return x.entries[key]
}

func lookUpTwice(get func(*index, string) int) {
	var x index
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { get(&x, "key") })
	}
	group.Wait()
}

// pool has a lock for its members and one for its state.
type pool struct {
	members, state sync.Mutex
	open           int
}

func (p *pool) add() {
	p.members.Lock()
	defer p.members.Unlock()
	p.open++
}

// closeUnderOther has the bug: open belongs to the members.
func (p *pool) closeUnderOther() {
	p.state.Lock()
	defer p.state.Unlock()
	p.open = 0
}

func (p *pool) close() {
	p.members.Lock()
	defer p.members.Unlock()
	p.open = 0
}

func openAndClose(end func(*pool)) {
	var p pool
	var group sync.WaitGroup
	group.Go(p.add)
	group.Go(func() { end(&p) })
	group.Wait()
}

// total is a number and the lock that belongs to it.
type total struct {
	mu sync.Mutex
	n  int
}

// addUnderLocal has the bug: nobody else can hold this lock.
func addUnderLocal(t *total, n int) {
	var mu sync.Mutex
	mu.Lock()
	defer mu.Unlock()
	t.n += n
}

func addUnderShared(t *total, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += n
}

func addTwice(add func(*total, int)) {
	var t total
	var group sync.WaitGroup
	for n := range 2 {
		group.Go(func() { add(&t, n) })
	}
	group.Wait()
}

// point has two coordinates that change together.
type point struct {
	mu   sync.Mutex
	x, y int
}

// moveUnlocking has the bug: y is left for later.
func (p *point) moveUnlocking(by int) {
	p.mu.Lock()
	p.x += by
	p.mu.Unlock()
	p.y += by
}

func (p *point) move(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.x += by
	p.y += by
}

func moveTwice(move func(*point, int)) {
	var p point
	var group sync.WaitGroup
	for by := range 2 {
		group.Go(func() { move(&p, by) })
	}
	group.Wait()
}

// countAndRead needs both sides to be atomic: an atomic operation orders nothing
// for those who do without.
func countAndRead(read func(*int32) int32) {
	var n int32
	var group sync.WaitGroup
	group.Go(func() { atomic.AddInt32(&n, 1) })
	group.Go(func() { read(&n) })
	group.Wait()
}

// lazy makes its instance when it is first asked for.
type lazy struct {
	mu       sync.Mutex
	instance *int
}

// getDoubleChecked has the bug: the first look may see a pointer to what is not
// there yet.
func (l *lazy) getDoubleChecked() int {
	if l.instance == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.instance == nil {
			l.instance = new(int)
		}
	}
	return *l.instance
}

// get locks for each look. sync.OnceValue does the same, and faster.
func (l *lazy) get() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.instance == nil {
		l.instance = new(int)
	}
	return *l.instance
}

func useInstance(get func(*lazy) int) {
	var l lazy
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { get(&l) })
	}
	group.Wait()
}

// mail is a letter that is there, or not yet.
type mail interface {
	write(letter string)
	read() (letter string, ok bool)
}

// plainMail has the bug: that ready is written last does not mean that it is seen
// last.
type plainMail struct {
	letter string
	ready  bool
}

func (m *plainMail) write(letter string) {
	m.letter = letter
	m.ready = true
}

func (m *plainMail) read() (string, bool) {
	if !m.ready {
		return "", false
	}
	return m.letter, true
}

// atomicMail orders the letter by the flag.
type atomicMail struct {
	letter string
	ready  atomic.Bool
}

func (m *atomicMail) write(letter string) {
	m.letter = letter
	m.ready.Store(true)
}

func (m *atomicMail) read() (string, bool) {
	if !m.ready.Load() {
		return "", false
	}
	return m.letter, true
}

func publish(m mail) {
	var group sync.WaitGroup
	group.Go(func() { m.write("hello") })
	group.Go(func() { m.read() })
	group.Wait()
}

// device finds out its name when it is first used.
type device struct {
	once  sync.Once
	known string
}

func (d *device) probe() { d.known = "disk" }

// nameIfKnown has the bug: it does not wait for whoever is at it.
func (d *device) nameIfKnown() string { return d.known }

func (d *device) name() string {
	d.once.Do(d.probe)
	return d.known
}

func describe(name func(*device) string) {
	var d device
	var group sync.WaitGroup
	group.Go(func() { d.once.Do(d.probe) })
	group.Go(func() { name(&d) })
	group.Wait()
}

// options is a variable that tests change. They have it to themselves as long as
// none of them is parallel.
var options = new(testOptions)

type testOptions struct{ verbose bool }

// runTests runs two parallel subtests, as `go test -parallel 2` does. Each has the
// options of the package, or in the fixed program its own.
func runTests(choose func() *testOptions) {
	os.Args = []string{os.Args[0], "-test.parallel=2"}
	match := func(pattern, name string) (bool, error) { return true, nil }
	lines := make(chan string, 2)
	testing.Main(match, []testing.InternalTest{{Name: "Test", F: func(t *testing.T) {
		for _, verbose := range []bool{false, true} {
			t.Run("print", func(t *testing.T) {
				t.Parallel()
				o := choose()
				o.verbose = verbose
				lines <- o.line()
			})
		}
	}}}, nil, nil)
}

func (o *testOptions) line() string {
	if o.verbose {
		return "a long line"
	}
	return "a line"
}
