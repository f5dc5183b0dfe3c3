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
	if err == nil {
		_ = m.Respond(answer)
	}
}

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
	for began := time.Now(); ; {
		answer, err := w.askOnce(ctx, run, name, question)
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		// After a server has come back, the leader may not be there yet. A leader that was killed
		// does not come back, and the server knows for some seconds only what it was about.
		noLeader := errors.Is(err, nats.ErrNoResponders) && time.Since(began) > lifetime
		if noLeader || w.isOver(ctx, run) {
			return nil, ErrNoLeader
		}
		pause(ctx, beat/4)
	}
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
	defer w.forget(ctx, m.Data)
	return w.unpack(ctx, m.Data)
}
