// Package contexts has goroutines that a cancellation does not reach.
package contexts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const unreached = "blocking: context"

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{
			Name: "cancel-not-called", Class: unreached, Shows: bug.Leak,
			Doc:   "a session that fails to start leaves the goroutine that waits for its end",
			Buggy: func() { startSession((*session).start) },
			Fixed: func() { startSession((*session).startOrCancel) },
		},
		{
			Name: "detached-context", Class: unreached, Shows: bug.Deadlock,
			Doc:   "a context is derived from Background, and not from that of the caller who cancels it",
			Buggy: func() { cancelRequest(context.Background()) },
			//lint:ignore SA1012 nil stands for the context of the caller
			Fixed: func() { cancelRequest(nil) },
		},
		{
			Name: "send-ignores-cancel", Class: unreached, Shows: bug.Leak,
			Doc:   "a goroutine that delivers its result does not notice that nobody wants it any more",
			Buggy: func() { searchUntilCancelled(deliver) },
			Fixed: func() { searchUntilCancelled(deliverUnlessCancelled) },
		},
		{
			Name: "error-cancels-nobody", Class: unreached, Shows: bug.Deadlock,
			Doc: "the first error of a group does not cancel its other members, which wait for the " +
				"failed one",
			Buggy: func() { runGroup(false) },
			Fixed: func() { runGroup(true) },
		},
		{
			Name: "no-deadline", Class: unreached, Shows: bug.Deadlock,
			Doc:   "without a time-out in the settings, the context can never be done",
			Buggy: func() { waitForSilentPeer(0, withTimeout) },
			Fixed: func() { waitForSilentPeer(0, withTimeoutOrDefault) },
		},
		{
			Name: "result-or-done", Class: "blocking: context", Shows: bug.Deadlock,
			Doc:   "who collects results stops at a cancellation, but waits for senders that do not",
			Buggy: func() { collect(false) },
			Fixed: func() { collect(true) },
		},
	}
}

// session has a goroutine that closes it when its context is done.
type session struct {
	ctx    context.Context
	cancel context.CancelFunc
}

var errLogin = errors.New("login refused")

func login() error { return errLogin }

// start has the bug: after an error, nobody has the session to end it.
func (s *session) start() error {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.closeWhenDone()
	return login()
}

// startOrCancel undoes what it has begun.
func (s *session) startOrCancel() error {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.closeWhenDone()
	err := login()
	if err != nil {
		s.cancel()
	}
	return err
}

func (s *session) closeWhenDone() { <-s.ctx.Done() }

func startSession(start func(*session) error) {
	_ = start(new(session))
	time.Sleep(time.Hour) // the rest of the program's life
}

// cancelRequest cancels a request, which hands its context on to a helper, or
// hands on the other one that is given.
func cancelRequest(other context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	var helpers sync.WaitGroup
	helpers.Go(func() {
		parent := ctx
		if other != nil {
			parent = other
		}
		child, stop := context.WithCancel(parent)
		defer stop()
		<-child.Done()
	})
	cancel()
	helpers.Wait()
}

// deliver has the bug: the receiver may be gone.
func deliver(_ context.Context, results chan<- int, n int) { results <- n }

func deliverUnlessCancelled(ctx context.Context, results chan<- int, n int) {
	select {
	case results <- n:
	case <-ctx.Done():
	}
}

// searchUntilCancelled has a searcher, and a receiver who loses interest.
func searchUntilCancelled(deliver func(context.Context, chan<- int, int)) {
	ctx, cancel := context.WithCancel(context.Background())
	results := make(chan int)
	go deliver(ctx, results, 42)
	go cancel()
	select {
	case <-results:
	case <-ctx.Done():
	}
	time.Sleep(time.Hour) // the rest of the program's life
}

// runGroup has a member that fails, and one that waits for what it would have
// produced. The failure has to cancel the context of both.
func runGroup(cancelOnError bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var group sync.WaitGroup
	var once sync.Once
	var first error
	run := func(member func() error) {
		group.Go(func() {
			if err := member(); err != nil {
				once.Do(func() {
					first = err
					if cancelOnError {
						cancel()
					}
				})
			}
		})
	}
	product := make(chan int)
	run(func() error { return errors.New("producer: no input") })
	run(func() error {
		select {
		case <-product:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	group.Wait()
	_ = first
}

// withTimeout has the bug: the context that is not limited can never be done.
func withTimeout(limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), limit)
}

// withTimeoutOrDefault has a limit for those who set none.
func withTimeoutOrDefault(limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		limit = time.Minute
	}
	return context.WithTimeout(context.Background(), limit)
}

func waitForSilentPeer(limit time.Duration,
	limited func(time.Duration) (context.Context, context.CancelFunc)) {
	ctx, cancel := limited(limit)
	defer cancel()
	answer := make(chan string)
	select {
	case <-answer:
	case <-ctx.Done():
	}
}

// collect stops at a cancellation. Then it must go on to take results until all
// senders are done, or they must look at the context as well.
func collect(sendersLook bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	results := make(chan int)
	var senders sync.WaitGroup
	for n := range 2 {
		senders.Go(func() {
			if sendersLook {
				deliverUnlessCancelled(ctx, results, n)
			} else {
				deliver(ctx, results, n)
			}
		})
	}
	select {
	case <-results:
		cancel() // one is enough
	case <-ctx.Done():
	}
	senders.Wait()
}
