// Package harness has misuses of package testing. The tests run in the program
// itself, by testing.RunTests, so that they are exhibits like all others.
package harness

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const misusedTesting = "non-blocking: library, testing"

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{
			Name: "fatal-in-goroutine", Class: "blocking: library, testing", Shows: bug.Deadlock,
			Doc:   "t.Fatal ends the goroutine that calls it, which is not the test, and never sends its result",
			Buggy: func() { run(fatalInGoroutine, true) },
			Fixed: func() { run(errorFromGoroutine, true) },
		},
		{
			Name: "log-after-test", Class: misusedTesting, Shows: bug.Panic,
			Doc:   "a goroutine that outlives its test logs to it",
			Buggy: func() { run(logWithoutWaiting, false) },
			Fixed: func() { run(logAndWait, false) },
		},
		{
			Name: "parallel-capture", Class: misusedTesting, Shows: bug.Exit,
			Doc:   "parallel subtests share the variable of the loop, and see what it is when the loop is over",
			Buggy: func() { run(parallelCapture, false) },
			Fixed: func() { run(parallelArgument, false) },
		},
		{
			Name: "deferred-teardown", Class: misusedTesting, Shows: bug.Exit,
			Doc:   "a deferred teardown runs before the parallel subtests, which begin when their parent has returned",
			Buggy: func() { run(teardownDeferred, false) },
			Fixed: func() { run(teardownCleanup, false) },
		},
		{
			Name: "parallel-fixture", Class: misusedTesting, Shows: bug.Exit,
			Doc:   "parallel subtests change a fixture that they share, each as if it were its own",
			Buggy: func() { run(sharedFixture, false) },
			Fixed: func() { run(ownFixture, false) },
		},
	}
}

// run runs a test as `go test` does, and exits with 1 if it fails, unless it is
// a test that is meant to.
func run(test func(*testing.T), fails bool) {
	testing.Init()
	match := func(pattern, name string) (bool, error) { return true, nil }
	ok := testing.RunTests(match, []testing.InternalTest{{Name: "Test", F: test}})
	if ok == fails {
		os.Exit(1)
	}
}

// fatalInGoroutine has the bug: t.Fatal calls runtime.Goexit.
func fatalInGoroutine(t *testing.T) {
	result := make(chan int)
	var client sync.WaitGroup
	client.Go(func() { result <- ask(t) })
	<-result
	client.Wait()
}

func ask(t *testing.T) int {
	t.Fatal("the server does not answer")
	return 0
}

// errorFromGoroutine leaves the decision to the goroutine of the test.
func errorFromGoroutine(t *testing.T) {
	result := make(chan string)
	go func() { result <- "the server does not answer" }()
	t.Fatal(<-result)
}

// logWithoutWaiting has the bug: nobody waits for the goroutine.
func logWithoutWaiting(t *testing.T) {
	go func() {
		time.Sleep(time.Millisecond)
		t.Log("done")
	}()
	t.Cleanup(func() { time.Sleep(time.Millisecond) })
}

func logAndWait(t *testing.T) {
	var helper sync.WaitGroup
	helper.Go(func() {
		time.Sleep(time.Millisecond)
		t.Log("done")
	})
	t.Cleanup(helper.Wait)
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
