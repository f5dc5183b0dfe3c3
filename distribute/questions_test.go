package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
func reversed(_ context.Context, question []byte) []byte {
	answer := slices.Clone(question)
	slices.Reverse(answer)
	return answer
}

// TestQuestions: workers get answers, small and large, to questions that are small and large.
func TestQuestions(t *testing.T) {
	t.Parallel()
	var answering atomic.Int32
	l := mustLead(t, Options{URL: Embedded, Answer: func(_ context.Context, question []byte) []byte {
		if answering.Add(1) > 1 {
			t.Error("two questions are answered at the same time")
		}
		defer answering.Add(-1)
		return reversed(t.Context(), question)
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
			if err != nil || !bytes.Equal(found, reversed(t.Context(), part)) {
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
	l := mustLead(t, Options{URL: s.URL, Answer: func(_ context.Context, question []byte) []byte {
		once.Do(func() {
			s.Kill() // so that this answer is lost
			asked <- struct{}{}
		})
		return reversed(t.Context(), question)
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
	first := mustLead(t, Options{URL: s.URL, Answer: func(context.Context, []byte) []byte {
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
	l := mustLead(t, Options{URL: Embedded, Answer: func(_ context.Context, question []byte) []byte {
		if string(question) == "much" {
			return make([]byte, maxPart+1)
		}
		return reversed(t.Context(), question)
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

// TestLateAnswer: an answer that takes longer than the worker waits at a time is given once.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{}, 100)
	var answered atomic.Int32
	l := mustLead(t, Options{URL: Embedded, Answer: func(_ context.Context, question []byte) []byte {
		if answered.Add(1); string(question) == "one" {
			<-sent
			<-sent
		}
		return reversed(t.Context(), question)
	}})
	spy, err := l.nats.Subscribe(askSubject+">", func(*nats.Msg) { sent <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = spy.Unsubscribe() }()
	recruitCurious(t, l.URL(), 1, func(err error) { t.Error(err) }).await(l, 1)
	// The copies of the first question come before the second one.
	for _, part := range []string{"one", "two"} {
		found, err := l.Explore(t.Context(), []byte(part), nil)
		if err != nil || string(found) != string(reversed(t.Context(), []byte(part))) {
			t.Errorf("%s: found %q, %v", part, found, err)
		}
	}
	if answered.Load() != 2 {
		t.Errorf("2 questions were answered %d times", answered.Load())
	}
}

// TestCopies: a copy of the last question of a worker gets the same answer, also if that went
// through the object store and is lost there. A copy of an earlier one gets none.
func TestCopies(t *testing.T) {
	t.Parallel()
	answered := 0
	l := mustLead(t, Options{URL: Embedded, Answer: func(_ context.Context, question []byte) []byte {
		answered++
		return append(make([]byte, maxMessage), fmt.Sprintf("%s %d", question, answered)...)
	}})
	inbox, err := l.nats.SubscribeSync(l.nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		asker, number, question, want string // an empty answer: there is none
	}{
		{"a", "7", "x", "x 1"}, {"a", "7", "x", "x 1"}, {"b", "6", "y", "y 2"}, {"a", "6", "z", ""},
		{"a", "7", "x", "x 1"}, {"a", "8", "x", "x 3"}, {"a", "7", "x", ""}, {"a", "", "x", ""},
		{"b", "6", "y", "y 2"},
	} {
		message := append([]byte{inMessage}, c.question...)
		err := l.nats.PublishMsg(&nats.Msg{Subject: askSubject + l.run.ID, Reply: inbox.Subject,
			Data: message, Header: nats.Header{askerHeader: {c.asker}, numberHeader: {c.number}}})
		if err != nil {
			t.Fatal(err)
		}
		// If a question got an answer that is to get none, the next one shows it.
		if c.want == "" {
			continue
		}
		m, err := inbox.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answer, err := l.unpack(t.Context(), m.Data)
		if got := string(bytes.TrimLeft(answer, "\x00")); err != nil || got != c.want {
			t.Errorf("%s %s %s: %q, %v, want %q", c.asker, c.number, c.question, got, err, c.want)
		}
		l.forget(t.Context(), m.Data)
	}
}

// TestAskWhileAway: nothing is sent that would come only after the server is there again.
func TestAskWhileAway(t *testing.T) {
	t.Parallel()
	s := natsd.Start(t, t.TempDir())
	c, err := connect(Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	w := &worker{connection: c}
	q, name := w.newQuestion(Run{ID: "run"})
	inbox, err := c.nats.SubscribeSync(q.Reply)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.askOnce(t.Context(), q, name, nil, inbox); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("nobody is there: %v", err)
	}
	s.Kill()
	testkit.Await(t, "the server is gone", func() bool { return !c.nats.IsConnected() })
	if _, err := w.askOnce(t.Context(), q, name, nil, inbox); !errors.Is(err, nats.ErrDisconnected) {
		t.Errorf("the server is gone: %v", err)
	}
}

// TestObjectsOfRun: the end of a run removes its objects, and no others.
func TestObjectsOfRun(t *testing.T) {
	t.Parallel()
	s := natsd.Start(t, t.TempDir())
	l := mustLead(t, Options{URL: s.URL})
	c, err := connect(Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.provide(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"question.%s.w.1", "answer.%s.w.1", "part.%s.1", "result.%s.1"} {
		for _, run := range []string{l.run.ID, "other"} {
			if _, err := c.objects.PutString(t.Context(), fmt.Sprintf(format, run), "x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.Close()
	left, err := c.objects.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range left {
		if strings.Contains(object.Name, l.run.ID) {
			t.Errorf("%s is left", object.Name)
		}
	}
	if len(left) != 4 {
		t.Errorf("%d objects are left, want those of the other run", len(left))
	}
}

// TestSilence: whoever answers a question is told when nobody wants the answer any more, and no
// other question is answered then. The end of a run does not wait longer.
func TestSilence(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Leader){"silence": (*Leader).Silence, "end": (*Leader).Close} {
		asked, answered := make(chan struct{}), 0
		l := mustLead(t, Options{URL: Embedded, Answer: func(ctx context.Context, _ []byte) []byte {
			if answered++; answered == 1 {
				close(asked)
			}
			<-ctx.Done()
			return nil
		}})
		recruitCurious(t, l.URL(), 2, func(err error) { t.Logf("%s: %v", name, err) }).await(l, 2)
		ctx, stop := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		for range 2 {
			busy.Go(func() { _, _ = l.Explore(ctx, []byte("one"), nil) })
		}
		<-asked
		end(l)
		l.desk.await()
		if answered != 1 {
			t.Errorf("%s: %d questions were answered, want the one that was under way", name, answered)
		}
		stop()
		busy.Wait()
	}
}

// TestNoAnswerYet: a question that gets no answer is asked again.
func TestNoAnswerYet(t *testing.T) {
	t.Parallel()
	asked := 0
	l := mustLead(t, Options{URL: Embedded, Answer: func(ctx context.Context, question []byte) []byte {
		if asked++; asked == 1 {
			return nil
		}
		return reversed(ctx, question)
	}})
	recruitCurious(t, l.URL(), 1, func(err error) { t.Error(err) }).await(l, 1)
	if found, err := l.Explore(t.Context(), []byte("one"), nil); err != nil || string(found) != "eno" {
		t.Errorf("found %q, %v", found, err)
	}
	if asked != 2 {
		t.Errorf("it was asked %d times, want 2", asked)
	}
}
