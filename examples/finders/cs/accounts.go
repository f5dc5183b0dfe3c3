package cs

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var accountBugs = []bug.Bug{
	{
		Name: "account", Class: wrongClaim, Shows: bug.Assertion,
		Doc:   "the balance is checked with the deposit subtracted, if both transactions are done",
		Buggy: func() { account(1 - 2 - 4) },
		Fixed: func() { account(1 + 2 - 4) },
	},
	{
		Name: "lazy01", Class: wrongClaim, Shows: bug.Assertion,
		Doc:   "it is claimed that a third goroutine cannot see the work of both others",
		Buggy: func() { lazy(3) },
		Fixed: func() { lazy(4) },
	},
	{
		Name: "bluetooth-driver", Class: atomicity, Shows: bug.Assertion,
		Doc:   "a request asks whether the driver is being stopped before it counts itself as pending",
		Buggy: func() { stopDriver((*driver).enter) },
		Fixed: func() { stopDriver((*driver).enterCounted) },
	},
	{
		Name: "token-ring", Class: order, Shows: bug.Assertion,
		Doc:   "a token is handed on in the order in which goroutines happen to run",
		Buggy: func() { tokenRing(false) },
		Fixed: func() { tokenRing(true) },
	},
}

// account has the bug if want is not 1 + 2 - 4. It shows if the check comes last, although it is
// started first.
func account(want int) {
	var mu sync.Mutex
	balance, deposited, withdrawn := 1, false, false
	var users sync.WaitGroup
	locked := func(do func()) {
		users.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			do()
		})
	}
	locked(func() {
		if deposited && withdrawn {
			tandem.Assert(balance == want, "the balance is ", balance, " and not ", want)
		}
	})
	locked(func() { balance += 2; deposited = true })
	locked(func() { balance -= 4; withdrawn = true })
	users.Wait()
}

// lazy has the bug if below is 3. It shows if the goroutine that looks comes last.
func lazy(below int) {
	var mu sync.Mutex
	var users sync.WaitGroup
	data := 0
	add := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		data += n
	}
	users.Go(func() { add(1) })
	users.Go(func() { add(2) })
	users.Go(func() {
		mu.Lock()
		defer mu.Unlock()
		tandem.Assert(data < below, "the data is ", data)
	})
	users.Wait()
}

// driver counts the requests that are under way, and one for itself until it is stopped.
type driver struct {
	pending                    atomic.Int32
	stopping, drained, stopped atomic.Bool
}

// enter has the bug. It shows if the driver is stopped as a whole between the two steps.
func (d *driver) enter() bool {
	if d.stopping.Load() {
		return false
	}
	d.pending.Add(1)
	return true
}

// enterCounted counts first: a stop that it does not see will see it.
func (d *driver) enterCounted() bool {
	d.pending.Add(1)
	if d.stopping.Load() {
		d.leave()
		return false
	}
	return true
}

func (d *driver) leave() {
	if d.pending.Add(-1) == 0 {
		d.drained.Store(true)
	}
}

func stopDriver(enter func(*driver) bool) {
	var d driver
	d.pending.Store(1)
	var stop sync.WaitGroup
	stop.Go(func() {
		d.stopping.Store(true)
		d.leave()
		if d.drained.Load() {
			d.stopped.Store(true)
		}
	})
	if enter(&d) {
		tandem.Assert(!d.stopped.Load(), "a request is served by a driver that is stopped")
		d.leave()
	}
	stop.Wait()
}

// tokenRing has three goroutines that each take over what the one before has, and one that looks
// when all are done. Without waiting for the one before, any other order of the three shows it.
func tokenRing(inOrder bool) {
	var mu sync.Mutex
	var users sync.WaitGroup
	tokens, done := [3]int{1, 2, 1}, 0
	turns := [4]chan bool{}
	for i := range turns {
		turns[i] = make(chan bool, 1)
	}
	turns[0] <- true
	for i := range tokens {
		users.Go(func() {
			if inOrder {
				<-turns[i]
			}
			mu.Lock()
			defer mu.Unlock()
			if i == 0 {
				tokens[0] = (tokens[2] + 1) % 4
			} else {
				tokens[i] = tokens[i-1]
			}
			done++
			turns[i+1] <- true
		})
	}
	users.Go(func() {
		mu.Lock()
		defer mu.Unlock()
		if done == len(tokens) {
			tandem.Assert(tokens[0] == tokens[1] && tokens[1] == tokens[2], "the tokens are ", tokens)
		}
	})
	users.Wait()
}
