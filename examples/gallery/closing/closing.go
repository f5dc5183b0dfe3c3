// Package closing has programs that close channels too early, twice, or not at
// all the right ones.
package closing

import (
	"sync"
	"time"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const (
	doubleClose  = "non-blocking: channel, closed twice"
	sendOnClosed = "non-blocking: channel, send on closed"
)

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{
			Name: "check-then-close", Class: doubleClose, Shows: bug.Panic,
			Doc:   "two goroutines see that a channel is open, and both close it",
			Buggy: func() { closeTwice((*client).closeIfOpen) },
			Fixed: func() { closeTwice((*client).closeOnce) },
		},
		{
			Name: "every-worker-closes", Class: doubleClose, Shows: bug.Panic,
			Doc:   "each worker closes the channel of the results when it is done",
			Buggy: func() { countLines(closeWhenDone) },
			Fixed: func() { countLines(closeWhenAllDone) },
		},
		{
			Name: "close-nil", Class: "non-blocking: channel, closed while nil", Shows: bug.Panic,
			Doc:   "Stop closes a channel that Start makes, and may come first",
			Buggy: func() { stopWhileStarting(&service{}) },
			Fixed: func() { stopWhileStarting(&service{quit: make(chan struct{})}) },
		},
		{
			Name: "send-after-shutdown", Class: sendOnClosed, Shows: bug.Panic,
			Doc:   "a queue is closed by its consumer, while a producer still sends",
			Buggy: func() { enqueueWhileClosing(&queue{}, (*queue).close) },
			Fixed: func() { enqueueWhileClosing(&queue{quit: make(chan struct{})}, (*queue).stop) },
		},
		{
			Name: "hub-closes-subscriber", Class: sendOnClosed, Shows: bug.Panic,
			Doc:   "a message is sent to a copy of the list of subscribers, one of which leaves",
			Buggy: func() { broadcastWhileLeaving((*hub).broadcastToCopy) },
			Fixed: func() { broadcastWhileLeaving((*hub).broadcast) },
		},
		{
			Name: "late-result", Class: sendOnClosed, Shows: bug.Panic,
			Doc:   "at a time-out, the channel is closed of which the answer comes later",
			Buggy: func() { askWithTimeout(true) },
			Fixed: func() { askWithTimeout(false) },
		},
		{
			Name: "zero-from-closed", Class: "non-blocking: channel, receive from closed",
			Shows: bug.Assertion,
			Doc:   "the zero value that a closed channel gives is taken for a reading of the sensor",
			Buggy: func() { measure(next) },
			Fixed: func() { measure(nextIfOpen) },
		},
	}
}

// client tells its goroutines by a channel that it is closed.
type client struct {
	once   sync.Once
	closed chan struct{}
}

// closeIfOpen has the bug: between the look and the close, another one closes.
func (c *client) closeIfOpen() {
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
}

// closeOnce makes it one operation.
func (c *client) closeOnce() { c.once.Do(func() { close(c.closed) }) }

func closeTwice(end func(*client)) {
	c := client{closed: make(chan struct{})}
	var users sync.WaitGroup
	users.Go(func() { end(&c) })
	users.Go(func() { end(&c) })
	users.Wait()
}

// closeWhenDone has the bug, with more than one worker.
func closeWhenDone(results chan int, _ *sync.WaitGroup) { close(results) }

// closeWhenAllDone is called by each worker too, and leaves the end to the last.
func closeWhenAllDone(_ chan int, pending *sync.WaitGroup) { pending.Done() }

func countLines(done func(results chan int, pending *sync.WaitGroup)) {
	results := make(chan int, 2)
	var pending sync.WaitGroup
	pending.Add(2)
	for lines := range 2 {
		go func() {
			results <- lines
			done(results, &pending)
		}()
	}
	go func() {
		pending.Wait()
		close(results)
	}()
	for range results {
		continue
	}
}

// service runs until it is stopped. The fixed one has its channel from the
// beginning.
type service struct {
	mu   sync.Mutex
	quit chan struct{}
}

func (s *service) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quit == nil {
		s.quit = make(chan struct{})
	}
}

func (s *service) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.quit)
}

func stopWhileStarting(s *service) {
	var users sync.WaitGroup
	users.Go(s.start)
	users.Go(s.stop)
	users.Wait()
}

// queue is a bounded queue.
type queue struct {
	items chan int
	quit  chan struct{} // nil: it ends when items is closed
}

func (q *queue) enqueue(n int) {
	select {
	case q.items <- n:
	case <-q.quit:
	}
}

// close has the bug: only a sender knows when the last value was sent.
func (q *queue) close() { close(q.items) }

// stop tells producers that nobody will receive. The channel stays open, which
// costs nothing.
func (q *queue) stop() { close(q.quit) }

func enqueueWhileClosing(q *queue, end func(*queue)) {
	q.items = make(chan int, 1)
	var users sync.WaitGroup
	users.Go(func() { q.enqueue(1) })
	users.Go(func() { end(q) })
	users.Wait()
}

// hub sends messages to those who listen.
type hub struct {
	mu        sync.Mutex
	listeners []chan string
}

func (h *hub) leave(listener chan string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, l := range h.listeners {
		if l == listener {
			h.listeners = append(h.listeners[:i:i], h.listeners[i+1:]...)
		}
	}
	close(listener)
}

// broadcastToCopy has the bug: who is in the copy may have left.
func (h *hub) broadcastToCopy(message string) {
	h.mu.Lock()
	listeners := h.listeners
	h.mu.Unlock()
	send(listeners, message)
}

// broadcast keeps the list as it is. It does not wait for listeners, so that it
// may hold the lock.
func (h *hub) broadcast(message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	send(h.listeners, message)
}

func send(listeners []chan string, message string) {
	for _, l := range listeners {
		select {
		case l <- message:
		default: // too slow
		}
	}
}

func broadcastWhileLeaving(broadcast func(*hub, string)) {
	listener := make(chan string, 1)
	h := hub{listeners: []chan string{listener}}
	var users sync.WaitGroup
	users.Go(func() { broadcast(&h, "news") })
	users.Go(func() { h.leave(listener) })
	users.Wait()
}

// askWithTimeout waits a second for an answer that takes as long. The buggy one
// closes the channel when it leaves, to be tidy.
func askWithTimeout(tidy bool) {
	answers := make(chan int, 1)
	var helper sync.WaitGroup
	helper.Go(func() {
		time.Sleep(time.Second)
		answers <- 42
	})
	select {
	case <-answers:
	case <-time.After(time.Second):
	}
	if tidy {
		close(answers)
	}
	helper.Wait()
}

// next has the bug: after the last reading come zeros.
func next(readings <-chan int) (reading int, ok bool) { return <-readings, true }

func nextIfOpen(readings <-chan int) (reading int, ok bool) {
	reading, ok = <-readings
	return reading, ok
}

// measure reads twice from a sensor that breaks at some time.
func measure(next func(<-chan int) (int, bool)) {
	readings := make(chan int, 2)
	go func() {
		readings <- 20
		close(readings)
	}()
	for range 2 {
		if degrees, ok := next(readings); ok {
			tandem.Assert(degrees == 20, "the room is at ", degrees, " degrees")
		}
	}
}
