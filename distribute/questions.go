package distribute

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// askSubject is where questions of a run go.
const askSubject = "tandem.ask."

// desk answers the questions of the workers of a run.
type desk struct {
	*connection
	run    string
	answer Answer

	mu     sync.Mutex // held while a question is answered; guards what follows
	closed bool
	given  int // answers
}

// listen answers questions from now on.
func (d *desk) listen() error {
	if d.answer == nil {
		return nil
	}
	_, err := d.nats.Subscribe(askSubject+d.run, d.take)
	return err
}

// take answers a question. Who gets no answer asks again, so an error needs nobody who knows of it.
func (d *desk) take(m *nats.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	question, err := d.unpack(ctx, m.Data)
	if err != nil {
		return
	}
	d.given++
	// What is too large for a message is removed by who has read it.
	answer, err := d.pack(ctx, fmt.Sprintf("answer.%s.%d", d.run, d.given), d.answer(question))
	switch {
	case err == nil:
		_ = m.Respond(answer)
	case errors.Is(err, errTooLarge):
		_ = m.RespondMsg(&nats.Msg{Header: nats.Header{problemHeader: {err.Error()}}})
	}
}

// problemHeader says why there is no answer to a question, and will be none.
const problemHeader = "Tandem-Problem"

// errNoAnswer is the error of a question to which there will be no answer.
var errNoAnswer = errors.New("the check that leads cannot send the answer")

// close waits for the question that is being answered. It is the last one.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// asked numbers questions that are too large for a message.
var asked atomic.Uint64

// asking is how questions about a run are asked.
func (w *worker) asking(run Run) Ask {
	return func(ctx context.Context, question []byte) ([]byte, error) { return w.ask(ctx, run, question) }
}

// ask asks the leader of a run, as long as there is one. An answer may take longer than a server
// that is gone takes to come back, and may be lost. So the question is sent again and again.
func (w *worker) ask(ctx context.Context, run Run, question []byte) ([]byte, error) {
	name := fmt.Sprintf("question.%s.%s.%s", run.ID, w.state.ID, strconv.FormatUint(asked.Add(1), 36))
	var without absence
	for {
		answer, err := w.askOnce(ctx, run, name, question)
		if err == nil || ctx.Err() != nil || errors.Is(err, errTooLarge) || errors.Is(err, errNoAnswer) {
			return answer, err
		}
		if without.isLong(err, time.Now()) || w.isOver(ctx, run) {
			return nil, ErrNoLeader
		}
		pause(ctx, beat/4)
	}
}

// absence is since when nobody has been there for questions; zero: somebody may be.
type absence struct{ since time.Time }

// isLong notes how a try has ended, and reports whether nobody has been there for too long. After a
// server has come back, the leader may not be there yet. A leader that was killed does not come
// back, and the server knows for some seconds only what it was about.
func (a *absence) isLong(err error, now time.Time) bool {
	switch {
	case !errors.Is(err, nats.ErrNoResponders):
		a.since = time.Time{}
		return false
	case a.since.IsZero():
		a.since = now
	}
	return now.Sub(a.since) > lifetime
}

// askOnce asks, and waits for a while.
func (w *worker) askOnce(ctx context.Context, run Run, name string, question []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*beat)
	defer cancel()
	message, err := w.pack(ctx, name, question)
	if err != nil {
		return nil, err
	}
	defer w.forget(ctx, message)
	m, err := w.nats.RequestWithContext(ctx, askSubject+run.ID, message)
	if err != nil {
		return nil, err
	}
	if problem := m.Header.Get(problemHeader); problem != "" {
		return nil, fmt.Errorf("%w: %s", errNoAnswer, problem)
	}
	defer w.forget(ctx, m.Data)
	return w.unpack(ctx, m.Data)
}
