// Package harness has misuses of package testing. The tests run in the program
// itself, by testing.Main, so that they are exhibits like all others.
package harness

import (
	"os"
	"sync"
	"testing"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const misusedTesting = "non-blocking: library, testing"

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{
			Name: "skip-in-goroutine", Class: "blocking: library, testing", Shows: bug.Deadlock,
			Doc: "t.Skip ends the goroutine that calls it, which is not the test's, and so never sends " +
				"its result",
			Buggy: func() { run(skipInGoroutine) },
			Fixed: func() { run(skipFromTest) },
		},
		{
			Name: "log-after-test", Class: misusedTesting, Shows: bug.Panic,
			Doc:   "a goroutine that outlives its test logs to it",
			Buggy: func() { run(logWithoutWaiting) },
			Fixed: func() { run(logAndWait) },
		},
		{
			Name: "parallel-capture", Class: misusedTesting, Shows: bug.Exit,
			Doc: "parallel subtests share the variable of the loop, and see what it is when the loop is " +
				"over",
			Buggy: func() { run(parallelCapture) },
			Fixed: func() { run(parallelArgument) },
		},
		{
			Name: "deferred-teardown", Class: misusedTesting, Shows: bug.Exit,
			Doc: "a deferred teardown runs before the parallel subtests, which begin when their parent " +
				"has returned",
			Buggy: func() { run(teardownDeferred) },
			Fixed: func() { run(teardownCleanup) },
		},
		{
			Name: "parallel-fixture", Class: misusedTesting, Shows: bug.Exit,
			Doc:   "parallel subtests change a fixture that they share, each as if it were its own",
			Buggy: func() { run(sharedFixture) },
			Fixed: func() { run(ownFixture) },
		},
	}
}

// run runs a test as `go test -parallel 2` does. It exits with 1 if the test fails.
func run(test func(*testing.T)) {
	os.Args = []string{os.Args[0], "-test.parallel=2"}
	match := func(pattern, name string) (bool, error) { return true, nil }
	testing.Main(match, []testing.InternalTest{{Name: "Test", F: test}}, nil, nil)
}

// skipInGoroutine has the bug: t.Skip, like t.Fatal, calls runtime.Goexit.
func skipInGoroutine(t *testing.T) {
	found := make(chan bool)
	go func() { found <- lookUp(t) }()
	<-found
}

func lookUp(t *testing.T) bool {
	t.Skip("there is no network")
	return true
}

// skipFromTest leaves the decision to the goroutine of the test.
func skipFromTest(t *testing.T) {
	found := make(chan bool)
	go func() { found <- false }()
	if !<-found {
		t.Skip("there is no network")
	}
}

// logWithoutWaiting has the bug: nobody waits for the goroutine. What it logs is
// lost where the next test is still running, and panics where there is none.
func logWithoutWaiting(t *testing.T) {
	t.Run("first", func(t *testing.T) {
		go t.Log("done")
	})
}

func logAndWait(t *testing.T) {
	t.Run("first", func(t *testing.T) {
		var helper sync.WaitGroup
		helper.Go(func() { t.Log("done") })
		t.Cleanup(helper.Wait)
	})
}

var inputs = []string{"", "a", "ab"}

// parallelCapture has the bug: all subtests see the last input, since all of
// them begin when the loop is over. It is a loop over an index that they share.
func parallelCapture(t *testing.T) {
	var n int
	seen := newSet()
	for n = range inputs {
		t.Run("input", func(t *testing.T) {
			t.Parallel()
			seen.add(inputs[n])
		})
	}
	t.Cleanup(func() { seen.require(t, len(inputs)) })
}

// parallelArgument has a variable for each round.
func parallelArgument(t *testing.T) {
	seen := newSet()
	for n := range inputs {
		t.Run("input", func(t *testing.T) {
			t.Parallel()
			seen.add(inputs[n])
		})
	}
	t.Cleanup(func() { seen.require(t, len(inputs)) })
}

// set is a set of strings.
type set struct {
	mu      sync.Mutex
	members map[string]bool
}

func newSet() *set { return &set{members: map[string]bool{}} }

func (s *set) add(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[member] = true
}

func (s *set) require(t *testing.T, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.members) != size {
		t.Errorf("%d different inputs were tested, there are %d", len(s.members), size)
	}
}

// fixture is what tests need: here, a server that can be asked until it is closed.
type fixture struct {
	mu     sync.Mutex
	closed bool
	value  int
}

func (f *fixture) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

func (f *fixture) requireOpen(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		t.Error("the server is closed")
	}
}

// teardownDeferred has the bug: subtests wait in t.Parallel for their parent.
func teardownDeferred(t *testing.T) {
	f := new(fixture)
	defer f.close()
	for range 2 {
		t.Run("ask", func(t *testing.T) {
			t.Parallel()
			f.requireOpen(t)
		})
	}
}

// teardownCleanup is called when all subtests have ended.
func teardownCleanup(t *testing.T) {
	f := new(fixture)
	t.Cleanup(f.close)
	for range 2 {
		t.Run("ask", func(t *testing.T) {
			t.Parallel()
			f.requireOpen(t)
		})
	}
}

func (f *fixture) set(value int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.value = value
}

func (f *fixture) get() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value
}

// sharedFixture has the bug: another subtest sets a value between set and get.
func sharedFixture(t *testing.T) {
	f := new(fixture)
	for n := range 2 {
		t.Run("set", func(t *testing.T) {
			t.Parallel()
			setAndGet(t, f, n)
		})
	}
}

// ownFixture makes one for each subtest.
func ownFixture(t *testing.T) {
	for n := range 2 {
		t.Run("set", func(t *testing.T) {
			t.Parallel()
			setAndGet(t, new(fixture), n)
		})
	}
}

func setAndGet(t *testing.T, f *fixture, n int) {
	f.set(n)
	if got := f.get(); got != n {
		t.Errorf("the value is %d, and was set to %d", got, n)
	}
}
