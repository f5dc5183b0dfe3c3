package waiting

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var condBugs = []bug.Bug{
	{
		Name: "lost-signal", Class: conditionVariable, Shows: bug.Deadlock,
		Doc:   "a goroutine waits for a signal without asking whether it has been given already",
		Buggy: func() { await((*gate).waitUnasked) },
		Fixed: func() { await((*gate).wait) },
	},
	{
		Name: "signal-for-all", Class: conditionVariable, Shows: bug.Deadlock,
		Doc:   "Signal wakes one of two goroutines that wait for the same event",
		Buggy: func() { openForTwo((*sync.Cond).Signal) },
		Fixed: func() { openForTwo((*sync.Cond).Broadcast) },
	},
	{
		Name: "flag-without-lock", Class: conditionVariable, Shows: bug.Deadlock,
		Doc:   "the condition changes without the lock, between a look at it and the wait",
		Buggy: func() { finish((*job).finishUnlocked) },
		Fixed: func() { finish((*job).finish) },
	},
	{
		Name: "one-cond-for-both", Class: conditionVariable, Shows: bug.Deadlock,
		Doc:   "producers and consumers wait for one condition variable, and a signal reaches the wrong ones",
		Buggy: func() { passThrough((*sync.Cond).Signal) },
		Fixed: func() { passThrough((*sync.Cond).Broadcast) },
	},
	{
		Name: "if-for-while", Class: "non-blocking: Cond", Shows: bug.Panic,
		Doc:   "a consumer that was woken does not look again whether there is something for it",
		Buggy: func() { consumeTwo((*list).popIf) },
		Fixed: func() { consumeTwo((*list).popWhile) },
	},
}

// gate is closed until it is opened.
type gate struct {
	mu   sync.Mutex
	cond *sync.Cond
	open bool
}

func newGate() *gate {
	g := new(gate)
	g.cond = sync.NewCond(&g.mu)
	return g
}

// waitUnasked has the bug: a Cond does not remember signals.
func (g *gate) waitUnasked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cond.Wait()
}

// wait asks for what the signal stands for.
func (g *gate) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.open {
		g.cond.Wait()
	}
}

func await(wait func(*gate)) {
	g := newGate()
	var users sync.WaitGroup
	users.Go(func() { wait(g) })
	g.mu.Lock()
	g.open = true
	g.cond.Signal()
	g.mu.Unlock()
	users.Wait()
}

func openForTwo(wake func(*sync.Cond)) {
	g := newGate()
	var users sync.WaitGroup
	users.Go(g.wait)
	users.Go(g.wait)
	g.mu.Lock()
	g.open = true
	wake(g.cond)
	g.mu.Unlock()
	users.Wait()
}

// job is something that others wait for. That done is atomic lets it be read
// without the lock, and makes the bug below look right.
type job struct {
	mu   sync.Mutex
	cond *sync.Cond
	done atomic.Bool
}

func (j *job) wait() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for !j.done.Load() {
		j.cond.Wait()
	}
}

// finishUnlocked has the bug: who has just seen that the job is not done will
// wait after the broadcast.
func (j *job) finishUnlocked() {
	j.done.Store(true)
	j.cond.Broadcast()
}

// finish cannot come between the look and the wait.
func (j *job) finish() {
	j.mu.Lock()
	j.done.Store(true)
	j.mu.Unlock()
	j.cond.Broadcast()
}

func finish(finish func(*job)) {
	j := new(job)
	j.cond = sync.NewCond(&j.mu)
	var users sync.WaitGroup
	users.Go(j.wait)
	finish(j)
	users.Wait()
}

// passThrough sends two numbers through a buffer for one, with two producers
// and two consumers. All wait for one Cond: the wake-up of a producer may reach
// another producer, which goes back to sleep, and then all sleep.
func passThrough(wake func(*sync.Cond)) {
	var mu sync.Mutex
	changed := sync.NewCond(&mu)
	full := false
	turn := func(produce bool) {
		mu.Lock()
		defer mu.Unlock()
		for full == produce {
			changed.Wait()
		}
		full = produce
		wake(changed)
	}
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() { turn(true) })
		users.Go(func() { turn(false) })
	}
	users.Wait()
}

// list is a list of numbers that consumers wait for.
type list struct {
	mu      sync.Mutex
	cond    *sync.Cond
	numbers []int
}

func (l *list) push(n int) {
	l.mu.Lock()
	l.numbers = append(l.numbers, n)
	l.mu.Unlock()
	l.cond.Broadcast()
}

// popIf has the bug: both consumers are woken by the first number.
func (l *list) popIf() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.numbers) == 0 {
		l.cond.Wait()
	}
	return l.first()
}

// popWhile looks again.
func (l *list) popWhile() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.numbers) == 0 {
		l.cond.Wait()
	}
	return l.first()
}

func (l *list) first() int {
	n := l.numbers[0]
	l.numbers = l.numbers[1:]
	return n
}

func consumeTwo(pop func(*list) int) {
	l := new(list)
	l.cond = sync.NewCond(&l.mu)
	var consumers sync.WaitGroup
	for range 2 {
		consumers.Go(func() { pop(l) })
	}
	l.push(1)
	l.push(2)
	consumers.Wait()
}
