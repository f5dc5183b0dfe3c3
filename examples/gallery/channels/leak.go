package channels

import (
	"errors"
	"time"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// The programs with these bugs come to their ends. What is left behind is a
// goroutine that waits forever.
var leaks = []bug.Bug{
	{
		Name: "timeout-leak", Class: missingReceiver, Shows: bug.Leak,
		Doc:   "a request times out, and the goroutine that answers it can never send its answer",
		Buggy: func() { request(make(chan string)) },
		Fixed: func() { request(make(chan string, 1)) },
	},
	{
		Name: "first-answer-wins", Class: missingReceiver, Shows: bug.Leak,
		Doc:   "several replicas are asked, and only the first to answer finds a receiver",
		Buggy: func() { askReplicas(make(chan int)) },
		Fixed: func() { askReplicas(make(chan int, replicas)) },
	},
	{
		Name: "abandoned-generator", Class: missingReceiver, Shows: bug.Leak,
		Doc:   "a consumer leaves its loop, and the generator waits for it to come back",
		Buggy: func() { findSquare(generate) },
		Fixed: func() { findSquare(generateUntil) },
	},
	{
		Name: "forgotten-subscriber", Class: missingSender, Shows: bug.Leak,
		Doc:   "a topic is dropped without closing the channels of those who listen to it",
		Buggy: func() { publishOnce((*topic).drop) },
		Fixed: func() { publishOnce((*topic).close) },
	},
	{
		Name: "start-fails-halfway", Class: missingSender, Shows: bug.Leak,
		Doc:   "a constructor starts a goroutine and then fails; nobody has what would stop it",
		Buggy: func() { open(false) },
		Fixed: func() { open(true) },
	},
}

var errTimeout = errors.New("time-out")

// request waits a second for an answer that takes two. With room for it in the
// channel, it does not matter that it comes too late.
func request(answer chan string) {
	defer serveOn()
	go func() {
		time.Sleep(2 * time.Second)
		answer <- "late"
	}()
	_, _ = within(time.Second, answer)
}

func within(d time.Duration, answer <-chan string) (string, error) {
	select {
	case a := <-answer:
		return a, nil
	case <-time.After(d):
		return "", errTimeout
	}
}

const replicas = 3

// askReplicas leaves the channel to its answers. It has to have room for all.
func askReplicas(answers chan int) {
	defer serveOn()
	for replica := range replicas {
		go func() { answers <- replica }()
	}
	<-answers
}

// generate has the bug: it can only be stopped by receiving from it.
func generate(quit <-chan struct{}) <-chan int {
	squares := make(chan int)
	go func() {
		defer close(squares)
		for n := range 10 {
			squares <- n * n
		}
	}()
	return squares
}

// generateUntil ends when its consumer does.
func generateUntil(quit <-chan struct{}) <-chan int {
	squares := make(chan int)
	go func() {
		defer close(squares)
		for n := range 10 {
			select {
			case squares <- n * n:
			case <-quit:
				return
			}
		}
	}()
	return squares
}

func findSquare(generate func(quit <-chan struct{}) <-chan int) {
	quit := make(chan struct{})
	for square := range generate(quit) {
		if square > 3 {
			break
		}
	}
	close(quit)
	serveOn()
}

// topic has a subscriber for its messages.
type topic struct{ messages chan string }

func (t *topic) subscribe(handle func(string)) {
	go func() {
		for m := range t.messages {
			handle(m)
		}
	}()
}

// drop has the bug: that nobody else has the channel any more ends no receive.
func (t *topic) drop() { t.messages = nil }

// close tells the subscriber.
func (t *topic) close() { close(t.messages) }

func publishOnce(end func(*topic)) {
	t := topic{messages: make(chan string)}
	subscribed := t.messages
	t.subscribe(func(string) {})
	subscribed <- "news"
	end(&t)
	serveOn()
}

// open makes a connection whose handshake fails, after its reader was started.
// Only the fixed one stops the reader on that path.
func open(stopOnError bool) {
	defer serveOn()
	incoming, stop := make(chan byte), make(chan struct{})
	go func() {
		select {
		case <-incoming:
		case <-stop:
		}
	}()
	if err := handshake(); err != nil && stopOnError {
		close(stop)
	}
}

func handshake() error { return errors.New("protocol version 1 is too old") }
