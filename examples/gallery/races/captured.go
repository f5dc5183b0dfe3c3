// Package races has accesses to shared memory that nothing puts in an order.
package races

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug { return slices.Concat(capturedBugs, sharedBugs, guardedBugs) }

const captured = "non-blocking: data race, captured variable"

var capturedBugs = []bug.Bug{
	{
		Name: "race-loop-variable", Class: captured, Shows: bug.DataRace,
		Doc:   "goroutines read the variable of the loop, which goes on in the meantime",
		Buggy: func() { visitAll(visitShared) },
		Fixed: func() { visitAll(visitOwn) },
	},
	{
		Name: "race-error-variable", Class: captured, Shows: bug.DataRace,
		Doc:   "a goroutine assigns to the err of the function around it, which uses err as well",
		Buggy: func() { saveBoth(saveSharingError) },
		Fixed: func() { saveBoth(saveWithOwnError) },
	},
	{
		Name: "race-named-result", Class: captured, Shows: bug.DataRace,
		Doc:   "a return statement writes the named result that a goroutine reads",
		Buggy: func() { audit(countNamed) },
		Fixed: func() { audit(countCopied) },
	},
	{
		Name: "race-group-inside", Class: "non-blocking: data race, misuse of WaitGroup", Shows: bug.DataRace,
		Doc:   "Add is called inside the goroutine: results are read that are not there yet",
		Buggy: func() { squareAll(startInside) },
		Fixed: func() { squareAll(startOutside) },
	},
	{
		Name: "race-after-time-out", Class: "non-blocking: data race, message and shared memory",
		Shows: bug.DataRace,
		Doc:   "at a time-out, the caller writes the error that the late worker writes as well",
		Buggy: func() { callWithTimeout((*future).waitShared) },
		Fixed: func() { callWithTimeout((*future).wait) },
	},
	{
		Name: "race-timer-callback", Class: "non-blocking: data race, library", Shows: bug.DataRace,
		Doc:   "the function of a timer changes what the rest of the program reads without a lock",
		Buggy: func() { expire(new(entry), (*entry).isStaleUnlocked) },
		Fixed: func() { expire(new(entry), (*entry).isStale) },
	},
}

// visitShared has the bug that every loop had before Go 1.22.
func visitShared(n int, visit func(int)) {
	var visitors sync.WaitGroup
	var i int
	for i = 0; i < n; i++ {
		visitors.Go(func() { visit(i) })
	}
	visitors.Wait()
}

// visitOwn has a variable for each round.
func visitOwn(n int, visit func(int)) {
	var visitors sync.WaitGroup
	for i := range n {
		visitors.Go(func() { visit(i) })
	}
	visitors.Wait()
}

func visitAll(each func(n int, visit func(int))) { each(2, func(int) {}) }

func save(file string) error { return errors.New(file + ": read-only file system") }

// saveSharingError has the bug: = where := was meant.
func saveSharingError() error {
	err := save("index")
	done := make(chan error, 1)
	go func() {
		err = save("backup")
		done <- err
	}()
	if err != nil {
		<-done
		return err
	}
	return <-done
}

// saveWithOwnError has two variables.
func saveWithOwnError() error {
	done := make(chan error, 1)
	go func() {
		err := save("backup")
		done <- err
	}()
	err := save("index")
	return errors.Join(err, <-done)
}

func saveBoth(save func() error) { _ = save() }

// countNamed has the bug: return 2 assigns to n.
func countNamed(report func(int) func()) (n int, wait func()) {
	n = 1
	wait = start(func() { report(n)() })
	return 2, wait
}

// countCopied hands the goroutine its own.
func countCopied(report func(int) func()) (n int, wait func()) {
	first := 1
	wait = start(func() { report(first)() })
	return 2, wait
}

// start starts a goroutine and returns what waits for it.
func start(f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() { <-done }
}

func audit(count func(func(int) func()) (int, func())) {
	_, wait := count(func(int) func() { return func() {} })
	wait()
}

// startInside has the bug: Wait may come before the first Add.
func startInside(group *sync.WaitGroup, f func()) { go member(group, f) }

func member(group *sync.WaitGroup, f func()) {
	group.Add(1)
	defer group.Done()
	f()
}

func startOutside(group *sync.WaitGroup, f func()) { group.Go(f) }

func squareAll(start func(*sync.WaitGroup, func())) {
	var group sync.WaitGroup
	squares := make([]int, 2)
	for i := range squares {
		start(&group, func() { squares[i] = i * i })
	}
	group.Wait()
	sum := 0
	for _, square := range squares {
		sum += square
	}
}

// future is the outcome of a call that may take too long.
type future struct {
	err  error
	done chan error
}

// waitShared has the bug: err belongs to the worker until it is done.
func (f *future) waitShared(ctx context.Context, work func() error) {
	finished := make(chan struct{})
	go func() {
		f.err = work()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		f.err = ctx.Err()
	}
}

// wait has the worker send its error: only one goroutine writes err.
func (f *future) wait(ctx context.Context, work func() error) {
	f.done = make(chan error, 1)
	go func() { f.done <- work() }()
	select {
	case f.err = <-f.done:
	case <-ctx.Done():
		f.err = ctx.Err()
	}
}

func callWithTimeout(wait func(*future, context.Context, func() error)) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	wait(new(future), ctx, func() error {
		time.Sleep(time.Second)
		return nil
	})
	time.Sleep(time.Minute) // the worker ends
}

// entry is an entry of a cache that becomes stale.
type entry struct {
	mu    sync.Mutex
	stale bool
}

func (e *entry) markStale() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stale = true
}

// isStaleUnlocked has the bug: a timer's function is one more goroutine.
func (e *entry) isStaleUnlocked() bool { return e.stale }

func (e *entry) isStale() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stale
}

func expire(e *entry, isStale func(*entry) bool) {
	time.AfterFunc(time.Second, e.markStale)
	time.Sleep(2 * time.Second)
	isStale(e)
}
