// Package channels has goroutines that wait for a message that nobody sends, or
// send one that nobody takes.
package channels

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug { return slices.Concat(leaks, channelBugs, selectBugs) }

const (
	missingReceiver = "blocking: channel, missing receiver"
	missingSender   = "blocking: channel, missing sender"
	circularWait    = "blocking: channel, circular wait"
	buffering       = "blocking: channel, buffer too small"
)

var channelBugs = []bug.Bug{
	{
		Name: "consumer-gives-up", Class: missingReceiver, Shows: bug.Deadlock,
		Doc:   "a consumer returns at the first error, and the producer's next send has no receiver",
		Buggy: func() { store(storeUntilError) },
		Fixed: func() { store(storeAndDrain) },
	},
	{
		Name: "missing-close", Class: missingSender, Shows: bug.Deadlock,
		Doc:   "a consumer ranges over a channel that is not closed when the last producer is done",
		Buggy: func() { gather(func(lines chan string) {}) },
		Fixed: func() { gather(func(lines chan string) { close(lines) }) },
	},
	{
		Name: "nil-channel", Class: missingSender, Shows: bug.Deadlock,
		Doc:   "a channel that only one of two constructors makes is nil, and waits forever",
		Buggy: func() { tailOnce(newFollower) },
		Fixed: func() { tailOnce(newCompleteFollower) },
	},
	{
		Name: "both-send-first", Class: circularWait, Shows: bug.Deadlock,
		Doc:   "two ends of a handshake send before they receive, over channels without a buffer",
		Buggy: func() { shakeHands(sendFirst, sendFirst) },
		Fixed: func() { shakeHands(sendFirst, receiveFirst) },
	},
	{
		Name: "jobs-before-results", Class: circularWait, Shows: bug.Deadlock,
		Doc:   "a pool is given all jobs before anybody takes the first result",
		Buggy: func() { square(submitThenCollect) },
		Fixed: func() { square(submitWhileCollecting) },
	},
	{
		Name: "self-feeding-queue", Class: circularWait, Shows: bug.Deadlock,
		Doc:   "workers put follow-up work into the bounded queue that only they empty",
		Buggy: func() { crawl(func(queue chan page, p page) { queue <- p }) },
		Fixed: func() { crawl(func(queue chan page, p page) { go func() { queue <- p }() }) },
	},
	{
		Name: "actor-calls-itself", Class: circularWait, Shows: bug.Deadlock,
		Doc:   "the goroutine that serves requests makes one to itself",
		Buggy: func() { useCounter((*counter).doubleByRequest) },
		Fixed: func() { useCounter((*counter).double) },
	},
	{
		Name: "semaphore-kept", Class: buffering, Shows: bug.Deadlock,
		Doc:   "a slot of a semaphore is not given back where the work fails",
		Buggy: func() { convertAll(convert) },
		Fixed: func() { convertAll(convertReleasing) },
	},
	{
		Name: "length-then-receive", Class: "blocking: channel, check then act", Shows: bug.Deadlock,
		Doc:   "two consumers see the length of the channel, and there is one value for both",
		Buggy: func() { pollTwice(receiveIfLong) },
		Fixed: func() { pollTwice(receiveIfReady) },
	},
}

var errFull = errors.New("disk full")

// storeUntilError has the bug: the producer does not learn that nobody listens.
func storeUntilError(blocks <-chan int) error {
	for b := range blocks {
		if b == 2 {
			return errFull
		}
	}
	return nil
}

// storeAndDrain takes what the producer still has to say.
func storeAndDrain(blocks <-chan int) (err error) {
	for b := range blocks {
		if b == 2 {
			err = errFull
		}
	}
	return err
}

func store(consume func(<-chan int) error) {
	blocks := make(chan int)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		defer close(blocks)
		for b := range 4 {
			blocks <- b
		}
	})
	tasks.Go(func() { _ = consume(blocks) })
	tasks.Wait()
}

// gather reads the lines of two files. After them, the fixed program closes the
// channel: that has to be done by whoever knows that all producers are done.
func gather(finish func(lines chan string)) {
	lines := make(chan string)
	var readers sync.WaitGroup
	for _, file := range []string{"hosts", "passwd"} {
		readers.Go(func() { lines <- file + ": first line" })
	}
	go func() {
		readers.Wait()
		finish(lines)
	}()
	for range lines {
		continue
	}
}

// follower waits for a file to grow.
type follower struct {
	name  string
	grown chan int
}

// newFollower has the bug: a receive from a nil channel is not an error.
func newFollower(name string) *follower { return &follower{name: name} }

// newCompleteFollower leaves no field without the value that its methods need.
func newCompleteFollower(name string) *follower {
	return &follower{name: name, grown: make(chan int, 1)}
}

func tailOnce(follow func(string) *follower) {
	f := follow("log")
	go func() { f.grown <- 100 }()
	<-f.grown
}

func sendFirst(in <-chan string, out chan<- string) {
	out <- "hello"
	<-in
}

func receiveFirst(in <-chan string, out chan<- string) {
	<-in
	out <- "hello"
}

// shakeHands works if one of the two is the first to speak.
func shakeHands(client, server func(in <-chan string, out chan<- string)) {
	up, down := make(chan string), make(chan string)
	var ends sync.WaitGroup
	ends.Go(func() { client(down, up) })
	ends.Go(func() { server(up, down) })
	ends.Wait()
}

// square has two workers for three numbers.
func square(run func(jobs chan<- int, results <-chan int)) {
	jobs, results := make(chan int), make(chan int)
	for range 2 {
		go func() {
			for n := range jobs {
				results <- n * n
			}
		}()
	}
	run(jobs, results)
}

// submitThenCollect has the bug: with all workers at their results, the third
// job is not taken, and nobody takes a result before it is.
func submitThenCollect(jobs chan<- int, results <-chan int) {
	for n := range 3 {
		jobs <- n
	}
	close(jobs)
	for range 3 {
		<-results
	}
}

// submitWhileCollecting does both at the same time.
func submitWhileCollecting(jobs chan<- int, results <-chan int) {
	go func() {
		defer close(jobs)
		for n := range 3 {
			jobs <- n
		}
	}()
	for range 3 {
		<-results
	}
}

// page is a page of a web site: how many links are below it.
type page struct{ links int }

// crawl visits a page and those that it links to. How a page is put into the
// queue is what the bug is about: a worker must not wait for itself.
func crawl(enqueue func(queue chan page, p page)) {
	queue := make(chan page, 1)
	var pages sync.WaitGroup
	pages.Add(1)
	queue <- page{links: 2}
	go func() {
		for p := range queue {
			for range p.links {
				pages.Add(1)
				enqueue(queue, page{})
			}
			pages.Done()
		}
	}()
	pages.Wait()
	close(queue)
}

// counter is a number that belongs to one goroutine; others send it requests.
type counter struct {
	n        int
	requests chan func()
}

func (c *counter) serve() {
	for request := range c.requests {
		request()
	}
}

// call runs a function where the number belongs, and waits for its end.
func (c *counter) call(f func()) {
	done := make(chan bool)
	c.requests <- func() {
		f()
		close(done)
	}
	<-done
}

func (c *counter) add(n int) { c.call(func() { c.n += n }) }

// doubleByRequest has the bug: add makes a request from within a request.
func (c *counter) doubleByRequest() { c.call(func() { c.add(c.n) }) }

// double has the number at hand.
func (c *counter) double() { c.call(func() { c.n += c.n }) }

func useCounter(double func(*counter)) {
	c := counter{requests: make(chan func())}
	go c.serve()
	defer close(c.requests)
	c.add(21)
	double(&c)
}

var errFormat = errors.New("unknown format")

// convert has the bug: an error keeps the slot.
func convert(slots chan struct{}, image string) error {
	slots <- struct{}{}
	if image == "" {
		return errFormat
	}
	<-slots
	return nil
}

// convertReleasing gives the slot back on all paths.
func convertReleasing(slots chan struct{}, image string) error {
	slots <- struct{}{}
	defer func() { <-slots }()
	if image == "" {
		return errFormat
	}
	return nil
}

// convertAll converts at most one image at a time.
func convertAll(convert func(slots chan struct{}, image string) error) {
	slots := make(chan struct{}, 1)
	var images sync.WaitGroup
	for _, image := range []string{"", "cat"} {
		images.Go(func() { _ = convert(slots, image) })
	}
	images.Wait()
}

// receiveIfLong has the bug: the value may be gone when it is received.
func receiveIfLong(values <-chan int) (value int, ok bool) {
	if len(values) > 0 {
		return <-values, true
	}
	return 0, false
}

// receiveIfReady looks and receives in one.
func receiveIfReady(values <-chan int) (value int, ok bool) {
	select {
	case value = <-values:
		return value, true
	default:
		return 0, false
	}
}

func pollTwice(poll func(<-chan int) (int, bool)) {
	values := make(chan int, 2)
	values <- 1
	var consumers sync.WaitGroup
	for range 2 {
		consumers.Go(func() { poll(values) })
	}
	consumers.Wait()
}

// serveOn stands for the rest of a server's life, in which leaks add up.
func serveOn() { time.Sleep(time.Hour) }
