// Package cs has the small programs of the family CS of SCTBench, a public suite for concurrency
// testing, written anew in Go. They are known by their names there. What was a data race there is
// an atomic variable here, so that the bug is the one that the suite means, and not the race.
//
//   - Thomson, Donaldson, Betts, "Concurrency Testing Using Controlled Schedulers: An Empirical
//     Study", ACM Transactions on Parallel Computing 2(4), 2016
package cs

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the programs of this package.
func Bugs() []bug.Bug {
	return slices.Concat(accountBugs, queueBugs, lockBugs, waitingBugs, orderBugs())
}

// orderBugs has programs in several sizes, as the suite does.
func orderBugs() (list []bug.Bug) {
	for _, n := range []int{3, 4, 5, 10, 20} {
		list = append(list, bug.Bug{
			Name: fmt.Sprintf("reorder-%d", n), Class: atomicity, Shows: bug.Assertion,
			Doc:   fmt.Sprintf("%d goroutines: all but one set two variables, and that sees half of it", n),
			Buggy: func() { reorder(n-1, new(loosePair)) },
			Fixed: func() { reorder(n-1, new(lockedPair)) },
		})
	}
	for _, n := range []int{1, 99} {
		list = append(list, bug.Bug{
			Name: fmt.Sprintf("twostage-%d", n+1), Class: atomicity, Shows: bug.Assertion,
			Doc:   fmt.Sprintf("%d goroutines set a second value after the first, under another lock", n),
			Buggy: func() { twoStage(n, (*stages).set) },
			Fixed: func() { twoStage(n, (*stages).setTogether) },
		})
	}
	for _, n := range []int{3, 7} {
		list = append(list, bug.Bug{
			Name: fmt.Sprintf("wronglock-%d", n), Class: atomicity, Shows: bug.Assertion,
			Doc:   fmt.Sprintf("%d goroutines hold another lock than the one that guards the value", n),
			Buggy: func() { wrongLock(n, false) },
			Fixed: func() { wrongLock(n, true) },
		})
	}
	for _, n := range []int{2, 3, 5, 7} {
		list = append(list, bug.Bug{
			Name: fmt.Sprintf("din-phil-%d", n), Class: "wrong claim", Shows: bug.Assertion,
			Doc:   fmt.Sprintf("it is claimed that %d philosophers cannot all have eaten", n),
			Buggy: func() { dinner(n, n) },
			Fixed: func() { dinner(n, n+1) },
		})
	}
	return list
}

// The classes of the bugs.
const (
	atomicity  = "atomicity violation"
	order      = "order violation"
	wrongClaim = "wrong claim"
	lockOrder  = "lock order"
	waiting    = "missed or missing wake-up"
)
