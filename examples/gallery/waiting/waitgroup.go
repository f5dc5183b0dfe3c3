// Package waiting has goroutines that wait for a group, a condition or an
// initialisation that never comes, or do not wait where they should.
package waiting

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug { return slices.Concat(waitGroupBugs, condBugs, onceBugs) }

const (
	waitGroup         = "blocking: WaitGroup"
	misusedWaitGroup  = "non-blocking: misuse of WaitGroup"
	conditionVariable = "blocking: Cond"
)

var waitGroupBugs = []bug.Bug{
	{
		Name: "wait-in-loop", Class: waitGroup, Shows: bug.Deadlock,
		Doc:   "Wait is inside of the loop that starts what it waits for",
		Buggy: func() { pruneAll(pruneWaitingEach) },
		Fixed: func() { pruneAll(prune) },
	},
	{
		Name: "missing-done", Class: waitGroup, Shows: bug.Deadlock,
		Doc:   "a goroutine returns early, without Done",
		Buggy: func() { ping([]string{"a", ""}, pingOne) },
		Fixed: func() { ping([]string{"a", ""}, pingDeferred) },
	},
	{
		Name: "counted-but-skipped", Class: waitGroup, Shows: bug.Deadlock,
		Doc:   "Add counts a list of which some members are then skipped",
		Buggy: func() { mail([]string{"a@example.org", ""}, addAll) },
		Fixed: func() { mail([]string{"a@example.org", ""}, addEach) },
	},
	{
		Name: "add-inside", Class: misusedWaitGroup, Shows: bug.Assertion,
		Doc:   "Add is called by the goroutine itself, when Wait may be over",
		Buggy: func() { sum(addInside) },
		Fixed: func() { sum(addBefore) },
	},
	{
		Name: "done-twice", Class: misusedWaitGroup, Shows: bug.Panic,
		Doc:   "a request that is retried calls Done for each attempt: the counter becomes negative",
		Buggy: func() { retry(attemptAndDone) },
		Fixed: func() { retry(attempt) },
	},
	{
		Name: "reused-too-early", Class: waitGroup, Shows: bug.Deadlock,
		Doc:   "a group is used for a second round before all have returned from waiting for the first",
		Buggy: func() { twoRounds(1) },
		Fixed: func() { twoRounds(2) },
	},
}

// pruneWaitingEach has the bug: the first Wait is for two Dones.
func pruneWaitingEach(group *sync.WaitGroup, volumes []string) {
	group.Add(len(volumes))
	for range volumes {
		go group.Done()
		group.Wait()
	}
}

// prune waits when all are started.
func prune(group *sync.WaitGroup, volumes []string) {
	group.Add(len(volumes))
	for range volumes {
		go group.Done()
	}
	group.Wait()
}

func pruneAll(prune func(*sync.WaitGroup, []string)) {
	var group sync.WaitGroup
	prune(&group, []string{"cache", "data"})
}

// pingOne has the bug: a host without a name is never done.
func pingOne(group *sync.WaitGroup, host string) {
	if host == "" {
		return
	}
	group.Done()
}

// pingDeferred is done, whatever happens.
func pingDeferred(group *sync.WaitGroup, host string) {
	defer group.Done()
	if host == "" {
		return
	}
}

func ping(hosts []string, one func(*sync.WaitGroup, string)) {
	var group sync.WaitGroup
	for _, host := range hosts {
		group.Add(1)
		go one(&group, host)
	}
	group.Wait()
}

// addAll has the bug: it counts the empty address too.
func addAll(group *sync.WaitGroup, addresses []string) func() {
	group.Add(len(addresses))
	return func() {}
}

// addEach leaves counting to those who start a goroutine.
func addEach(group *sync.WaitGroup, addresses []string) func() {
	return func() { group.Add(1) }
}

func mail(addresses []string, count func(*sync.WaitGroup, []string) func()) {
	var group sync.WaitGroup
	add := count(&group, addresses)
	for _, address := range addresses {
		if address == "" {
			continue
		}
		add()
		go group.Done()
	}
	group.Wait()
}

// addInside has the bug: Wait may see the group before its first member.
func addInside(group *sync.WaitGroup, f func()) { go member(group, f) }

func member(group *sync.WaitGroup, f func()) {
	group.Add(1)
	defer group.Done()
	f()
}

// addBefore counts before there is anything to wait for.
func addBefore(group *sync.WaitGroup, f func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		f()
	}()
}

func sum(start func(*sync.WaitGroup, func())) {
	var group sync.WaitGroup
	var total atomic.Int32
	for n := range int32(3) {
		start(&group, func() { total.Add(n) })
	}
	group.Wait()
	tandem.Assert(total.Load() == 3, "the sum of 0, 1 and 2 is ", total.Load())
}

// attemptAndDone has the bug: it does not know that it is not the last attempt.
func attemptAndDone(group *sync.WaitGroup, number int) (ok bool) {
	defer group.Done()
	return number == 1
}

func attempt(group *sync.WaitGroup, number int) (ok bool) {
	if number != 1 {
		return false
	}
	group.Done()
	return true
}

// retry makes two requests, each of which succeeds the second time.
func retry(attempt func(*sync.WaitGroup, int) bool) {
	var group sync.WaitGroup
	for range 2 {
		group.Add(1)
		go func() {
			for number := 0; !attempt(&group, number); number++ {
				continue
			}
		}()
	}
	group.Wait()
}

// twoRounds has two goroutines wait for the first of two rounds; the second ends
// when both have returned. With one group for both rounds, a goroutine that looks
// late waits for the second round. With a group for each, there is nothing to reuse.
func twoRounds(groups int) {
	var group [2]sync.WaitGroup
	first, second := &group[0], &group[groups-1]
	first.Add(1)
	var waiters sync.WaitGroup
	waiters.Go(first.Wait)
	waiters.Go(first.Wait)
	first.Done()
	second.Add(1)
	waiters.Wait()
	second.Done()
}
