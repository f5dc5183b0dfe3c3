package distribute

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	ctx    context.Context    // until nothing is answered any more
	end    context.CancelFunc // ends it

	mu   sync.Mutex       // held while a question is answered; guards what follows
	last map[string]given // of each worker
}

// given is an answer. It is kept until its worker asks something else, or until another one does
// after maxKept.
type given struct {
	number uint64 // of the question
	answer []byte
	at     time.Time
}

// maxKept is how long an answer is kept. Workers that come and go would fill the memory. Whoever
// asks once more after that is answered once more.
const maxKept = time.Minute

// listen answers questions from now on.
func (d *desk) listen() error {
	if d.answer == nil {
		return nil
	}
	_, err := d.nats.Subscribe(askSubject+d.run, d.take)
	return err
}

// Headers of a question. A worker asks one at a time, and its numbers rise.
const (
	askerHeader  = "Tandem-Worker"
	numberHeader = "Tandem-Question"
)

// take answers a question. A worker sends it again until it has an answer, so there may be copies,
// also some that come after the answer. Only the first one is worked off. All waits end with the
// context of the desk.
func (d *desk) take(m *nats.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	worker := m.Header.Get(askerHeader)
	number, err := strconv.ParseUint(m.Header.Get(numberHeader), 10, 64)
	last := d.last[worker]
	if d.ctx.Err() != nil || err != nil || number < last.number {
		return
	}
	if number > last.number {
		reading, cancel := context.WithTimeout(d.ctx, patience)
		defer cancel()
		question, err := d.unpack(reading, m.Data)
		if err != nil {
			return // it comes again
		}
		last = given{number, d.answer(d.ctx, question), time.Now()}
		if d.ctx.Err() != nil || last.answer == nil {
			return
		}
		maps.DeleteFunc(d.last, func(_ string, g given) bool { return last.at.Sub(g.at) > maxKept })
		d.last[worker] = last
	}
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	// What is too large for a message is removed by who has read it.
	answer, err := d.packOnce(ctx, fmt.Sprintf("answer.%s.%s.%d", d.run, worker, number), last.answer)
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

// await waits for the question that is being answered, once the context has ended. It is the last
// one.
func (d *desk) await() {
	d.mu.Lock()
	defer d.mu.Unlock()
}

// asked numbers questions.
var asked atomic.Uint64

// asks is how questions about a run are asked.
func (w *worker) asks(run Run) Ask {
	return func(ctx context.Context, question []byte) ([]byte, error) { return w.ask(ctx, run, question) }
}

// ask asks the leader of a run, as long as there is one. An answer may take longer than a server
// that is gone takes to come back, and may be lost. So the question is sent again and again. The
// answer to any of the copies counts, also a late one.
func (w *worker) ask(ctx context.Context, run Run, question []byte) ([]byte, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	q, name := w.newQuestion(run)
	inbox, err := w.nats.SubscribeSync(q.Reply)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLeader, err) // the connection will not be made again
	}
	defer func() {
		_ = inbox.Unsubscribe()
		w.forget(ctx, q.Data)
	}()
	var without absence
	for {
		answer, err := w.askOnce(ctx, q, name, question, inbox)
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

// newQuestion is a question that has no text yet.
func (w *worker) newQuestion(run Run) (m *nats.Msg, name string) {
	number := strconv.FormatUint(asked.Add(1), 10)
	m = nats.NewMsg(askSubject + run.ID)
	m.Reply = w.nats.NewInbox()
	m.Header.Set(askerHeader, w.state.ID)
	m.Header.Set(numberHeader, number)
	return m, fmt.Sprintf("question.%s.%s.%s", run.ID, w.state.ID, number)
}

// askOnce sends a question, and waits for a while. Under the name it is in the object store if it
// is large.
func (w *worker) askOnce(ctx context.Context, q *nats.Msg, name string, question []byte,
	inbox *nats.Subscription) ([]byte, error) {
	// A message that is sent while the server is away would come much later.
	if !w.nats.IsConnected() {
		return nil, nats.ErrDisconnected
	}
	packing, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var err error
	if q.Data, err = w.packOnce(packing, name, question); err != nil {
		return nil, err
	}
	if err := w.nats.PublishMsg(q); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, 2*beat)
	defer cancel()
	m, err := inbox.NextMsgWithContext(waiting)
	if err != nil {
		return nil, err
	}
	if problem := m.Header.Get(problemHeader); problem != "" {
		return nil, fmt.Errorf("%w: %s", errNoAnswer, problem)
	}
	answer, err := w.unpack(ctx, m.Data)
	if err == nil {
		w.forget(ctx, m.Data)
	}
	return answer, err
}
