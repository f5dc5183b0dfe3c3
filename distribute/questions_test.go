package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/internal/testkit/natsd"
)

// curious asks the leader what it is given as parts.
type curious struct {
	ctx    context.Context
	ask    Ask
	failed func(error)
}

// Explore implements Explorer.
func (c curious) Explore(part []byte, _ func() bool) ([]byte, int, error) {
	answer, err := c.ask(c.ctx, part)
	if err != nil {
		c.failed(err)
	}
	return answer, 1, err
}

func (curious) Close() {}

// recruitCurious has workers join that ask. Failed is told of errors.
func recruitCurious(t *testing.T, url string, workers int, failed func(error)) *crew {
	return recruitAsking(t, url, workers, failed, func(ask Ask) Ask { return ask })
}

// recruitAsking has workers join that ask in another way.
func recruitAsking(t *testing.T, url string, workers int, failed func(error), by func(Ask) Ask) *crew {
	c := recruit(t, url, 0, nil)
	c.make = func(ctx context.Context, _ Run, _ string, ask Ask) (Explorer, error) {
		return curious{ctx, by(ask), failed}, nil
	}
	for range workers {
		c.join()
	}
	return c
}

// reversed is the answer to each question of these tests.
func reversed(question []byte) []byte {
	answer := slices.Clone(question)
	slices.Reverse(answer)
	return answer
}

// TestQuestions: workers get answers, small and large, to questions that are small and large.
func TestQuestions(t *testing.T) {
	t.Parallel()
	var answering atomic.Int32
	l := mustLead(t, Options{URL: Embedded, Answer: func(question []byte) []byte {
		if answering.Add(1) > 1 {
			t.Error("two questions are answered at the same time")
		}
		defer answering.Add(-1)
		return reversed(question)
	}})
	recruitCurious(t, l.URL(), 3, func(err error) { t.Error(err) }).await(l, 3)
	var busy sync.WaitGroup
	for i := range 30 {
		busy.Go(func() {
			part := fmt.Appendf(nil, "part %d", i)
			if i%10 == 0 {
				part = append(part, make([]byte, 2*maxMessage)...)
			}
			found, err := l.Explore(t.Context(), part, nil)
			if err != nil || !bytes.Equal(found, reversed(part)) {
				t.Errorf("part %d: found %d bytes, %v", i, len(found), err)
			}
		})
	}
	busy.Wait()
	// What was too large for a message is not left behind.
	testkit.Await(t, "only the program is left", func() bool {
		list, err := l.objects.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list) == 1
	})
}

// TestQuestionsWithoutServer: a question is answered when the server is there again.
func TestQuestionsWithoutServer(t *testing.T) {
	t.Parallel()
	s := natsd.Start(t, t.TempDir())
	asked := make(chan struct{}, 1)
	var once sync.Once
	l := mustLead(t, Options{URL: s.URL, Answer: func(question []byte) []byte {
		once.Do(func() {
			s.Kill() // so that this answer is lost
			asked <- struct{}{}
		})
		return reversed(question)
	}})
	recruitCurious(t, s.URL, 1, func(err error) { t.Log(err) }).await(l, 1)
	var busy sync.WaitGroup
	busy.Go(func() {
		<-asked
		s.Restart()
	})
	found, err := l.Explore(t.Context(), []byte("one"), nil)
	for ; errors.Is(err, ErrUnexplored); found, err = l.Explore(t.Context(), []byte("one"), nil) {
		t.Log("once more") // nobody has spoken of the part for long
	}
	busy.Wait()
	if err != nil || string(found) != "eno" {
		t.Errorf("found %q, %v", found, err)
	}
}

// TestNoLeader: whoever asks a leader that was killed gives up, and works at the next run.
func TestNoLeader(t *testing.T) {
	t.Parallel()
	s := natsd.Start(t, t.TempDir())
	gone := make(chan struct{})
	first := mustLead(t, Options{URL: s.URL, Answer: func([]byte) []byte {
		<-gone
		return nil
	}})
	given := make(chan error, 1)
	c := recruitCurious(t, s.URL, 1, func(err error) { given <- err })
	c.await(first, 1)
	exploring, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() { _, _ = first.Explore(exploring, []byte("one"), nil) })
	testkit.Await(t, "a worker is at work", func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		return first.books.Begun(1)
	})
	first.end() // it says nothing any more, and cleans nothing up
	first.nats.Close()
	close(gone)
	stop()
	busy.Wait()
	if err := <-given; !errors.Is(err, ErrNoLeader) {
		t.Errorf("a question to a leader that is gone: %v", err)
	}
	second := mustLead(t, Options{URL: s.URL, Answer: reversed})
	c.await(second, 1)
	if found, err := second.Explore(t.Context(), []byte("two"), nil); err != nil || string(found) != "owt" {
		t.Errorf("found %q, %v", found, err)
	}
}

// TestAbsence: nobody leads if nobody was there for long, in all tries since, and not if the
// question is old.
func TestAbsence(t *testing.T) {
	t.Parallel()
	var a absence
	began := time.Now()
	for _, c := range []struct {
		after time.Duration // since the question
		err   error
		want  bool
	}{
		{lifetime, context.DeadlineExceeded, false},
		{2 * lifetime, nats.ErrNoResponders, false}, // the first one
		{3 * lifetime, nats.ErrNoResponders, false},
		{3*lifetime + 1, fmt.Errorf("asking: %w", nats.ErrNoResponders), true},
		{4 * lifetime, context.DeadlineExceeded, false},
		{5 * lifetime, nats.ErrNoResponders, false},
		{7 * lifetime, nats.ErrNoResponders, true},
	} {
		if got := a.isLong(c.err, began.Add(c.after)); got != c.want {
			t.Errorf("after %v, %v: %t", c.after, c.err, got)
		}
	}
}

// TestTooLarge: a question or an answer that is never sent is an error, and the next one is not.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	l := mustLead(t, Options{URL: Embedded, Answer: func(question []byte) []byte {
		if string(question) == "much" {
			return make([]byte, maxPart+1)
		}
		return reversed(question)
	}})
	failed := make(chan error, 2)
	recruitAsking(t, l.URL(), 1, func(err error) { failed <- err }, func(ask Ask) Ask {
		return func(ctx context.Context, question []byte) ([]byte, error) {
			if string(question) == "long" {
				question = make([]byte, maxPart+1)
			}
			return ask(ctx, question)
		}
	}).await(l, 1)
	for part, want := range map[string]error{"long": errTooLarge, "much": errNoAnswer} {
		if _, err := l.Explore(t.Context(), []byte(part), nil); !errors.Is(err, ErrUnexplored) {
			t.Errorf("%s: %v", part, err)
		}
		if err := <-failed; !errors.Is(err, want) {
			t.Errorf("%s: the worker is told %v, want %v", part, err, want)
		}
	}
	found, err := l.Explore(t.Context(), []byte("short"), nil)
	if err != nil || string(found) != "trohs" {
		t.Errorf("found %q, %v", found, err)
	}
}
