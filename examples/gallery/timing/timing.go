// Package timing has programs that misuse timers and tickers.
package timing

import (
	"sync"
	"time"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const misusedTimer = "non-blocking: library, timer"

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{
			Name: "stop-then-drain", Class: "blocking: library, timer", Shows: bug.Deadlock,
			Doc:   "a timer is drained after Stop, though its value has been received before",
			Buggy: func() { poll(restartDraining) },
			Fixed: func() { poll(restart) },
		},
		{
			Name: "range-over-ticker", Class: "blocking: library, timer", Shows: bug.Leak,
			Doc:   "a loop ranges over the channel of a ticker, which Stop does not close",
			Buggy: func() { refreshFor(time.Minute, refresh) },
			Fixed: func() { refreshFor(time.Minute, refreshUntil) },
		},
		{
			Name: "zero-timer", Class: misusedTimer, Shows: bug.Assertion,
			Doc:   "a timer that stands for no time-out is made with a duration of zero, and fires at once",
			Buggy: func() { dial(0, newTimer) },
			Fixed: func() { dial(0, newTimerIfLimited) },
		},
		{
			Name: "callback-after-close", Class: misusedTimer, Shows: bug.Panic,
			Doc:   "Stop does not wait for a function that the timer has already started",
			Buggy: func() { closeAtExpiry((*lease).close) },
			Fixed: func() { closeAtExpiry((*lease).closeGuarded) },
		},
		{
			Name: "heartbeat-too-late", Class: misusedTimer, Shows: bug.Assertion,
			Doc:   "a heartbeat resets a watchdog that is already on its way to end the session",
			Buggy: func() { beat((*watchdog).expire) },
			Fixed: func() { beat((*watchdog).expireIfStillDue) },
		},
		{
			Name: "time-out-per-round", Class: misusedTimer, Shows: bug.Assertion,
			Doc: "time.After in a loop begins anew with each message: the time-out of the whole " +
				"never comes",
			Buggy: func() { receiveFor(time.Second, receivePerRound) },
			Fixed: func() { receiveFor(time.Second, receiveInAll) },
		},
	}
}

// restartDraining has the bug: a value that was received is not there to drain.
func restartDraining(t *time.Timer) {
	if !t.Stop() {
		<-t.C
	}
	t.Reset(time.Second)
}

// restart needs no more than Reset, since Go 1.23.
func restart(t *time.Timer) { t.Reset(time.Second) }

// poll waits for messages, and does something else when none comes in a second.
func poll(restart func(*time.Timer)) {
	messages := make(chan int, 1)
	go func() {
		time.Sleep(time.Second)
		messages <- 1
	}()
	idle := time.NewTimer(time.Second)
	for {
		select {
		case <-messages:
			return
		case <-idle.C:
			restart(idle)
		}
	}
}

// refresh has the bug: after Stop, no tick comes, and no end.
func refresh(t *time.Ticker, _ <-chan struct{}) {
	for range t.C {
		continue
	}
}

func refreshUntil(t *time.Ticker, quit <-chan struct{}) {
	for {
		select {
		case <-t.C:
		case <-quit:
			return
		}
	}
}

func refreshFor(d time.Duration, refresh func(*time.Ticker, <-chan struct{})) {
	t := time.NewTicker(40 * time.Second)
	quit := make(chan struct{})
	go refresh(t, quit)
	time.Sleep(d)
	t.Stop()
	close(quit)
	time.Sleep(time.Hour) // the rest of the program's life
}

// newTimer has the bug: a timer that is not wanted must not be made.
func newTimer(limit time.Duration) <-chan time.Time { return time.NewTimer(limit).C }

// newTimerIfLimited returns nil where there is no limit: it never fires.
func newTimerIfLimited(limit time.Duration) <-chan time.Time {
	if limit == 0 {
		return nil
	}
	return time.NewTimer(limit).C
}

// dial makes a connection, without a limit if that is zero.
func dial(limit time.Duration, timer func(time.Duration) <-chan time.Time) {
	connected := make(chan struct{}, 1)
	go func() {
		time.Sleep(time.Millisecond)
		connected <- struct{}{}
	}()
	select {
	case <-connected:
	case <-timer(limit):
		tandem.Assert(limit > 0, "a time-out, though there is no limit")
	}
}

// lease tells its owner when it expires.
type lease struct {
	mu      sync.Mutex
	closed  bool
	expired chan struct{}
	timer   *time.Timer
}

func newLease(d time.Duration) *lease {
	l := &lease{expired: make(chan struct{}, 1)}
	l.timer = time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.closed {
			l.expired <- struct{}{}
		}
	})
	return l
}

// close has the bug: that the timer is stopped does not mean that its function
// has not begun.
func (l *lease) close() {
	l.timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.expired)
}

// closeGuarded tells the function that it comes too late.
func (l *lease) closeGuarded() {
	l.timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	close(l.expired)
}

func closeAtExpiry(end func(*lease)) {
	l := newLease(time.Second)
	time.Sleep(time.Second)
	end(l)
}

// watchdog ends a session in which no heartbeat came for a second.
type watchdog struct {
	mu    sync.Mutex
	last  time.Time // heartbeat
	dead  bool
	alive int // heartbeats before the end
	timer *time.Timer
}

const patience = time.Second

func (w *watchdog) heartbeat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return
	}
	w.last = time.Now()
	w.alive++
	w.timer.Reset(patience)
}

// expire has the bug: a heartbeat may have come since it was started.
func (w *watchdog) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

// expireIfStillDue looks at the clock again.
func (w *watchdog) expireIfStillDue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.last) >= patience {
		w.end()
	}
}

func (w *watchdog) end() {
	w.dead = true
	tandem.Assert(time.Since(w.last) >= patience, "the session ends, with a heartbeat ", time.Since(w.last),
		" ago")
}

// beat gives one heartbeat, in the last moment.
func beat(expire func(*watchdog)) {
	w := &watchdog{last: time.Now()}
	w.timer = time.AfterFunc(patience, func() { expire(w) })
	time.Sleep(patience)
	w.heartbeat()
	w.timer.Stop()
}

// receivePerRound has the bug: each message begins a new second.
func receivePerRound(limit time.Duration, messages <-chan int) {
	for {
		select {
		case <-messages:
		case <-time.After(limit):
			return
		}
	}
}

// receiveInAll has one timer for all messages.
func receiveInAll(limit time.Duration, messages <-chan int) {
	end := time.After(limit)
	for {
		select {
		case <-messages:
		case <-end:
			return
		}
	}
}

func receiveFor(limit time.Duration, receive func(time.Duration, <-chan int)) {
	messages := make(chan int, 3)
	go func() {
		for n := range 3 {
			time.Sleep(limit * 3 / 4)
			messages <- n
		}
	}()
	start := time.Now()
	receive(limit, messages)
	tandem.Assert(time.Since(start) <= limit, "a time-out of ", limit, " came after ", time.Since(start))
	time.Sleep(time.Minute) // the sender ends
}
