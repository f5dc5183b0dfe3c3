package distribute

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tandem-mc/tandem/distribute/internal/ledger"
)

// Leader gives out the parts of one run. Its methods may be called by several goroutines.
type Leader struct {
	*connection
	ctx     context.Context
	end     context.CancelFunc
	run     Run
	program string // the file
	began   time.Time
	busy    sync.WaitGroup
	parts   jetstream.Stream
	desk    *desk
	once    sync.Once // is done when it is closed

	mu         sync.Mutex // guards what follows
	books      ledger.Ledger
	open       map[uint64]*givenPart
	workers    map[string]time.Time // when each gave a sign of life last
	shares     map[string][]uint64  // the members of each
	refused    map[string]bool      // workers that have said why they cannot work
	executions int
	states     *States // nil: nothing was told
	problem    string  // why parts cannot be given out, as it was told last; empty: they can
}

// givenPart is a part whose result is waited for.
type givenPart struct {
	result chan []byte
	seen   time.Time // when a worker has spoken of it last
}

// ErrUnexplored is the error of a part that nobody has explored.
var ErrUnexplored = errors.New("no worker has explored it")

// Lead begins a run: it gives out the program, and says that there is something to do. The run gets
// a name. The caller has to close the leader.
func Lead(ctx context.Context, o Options, run Run, program string) (*Leader, error) {
	c, err := connect(o)
	if err != nil {
		return nil, err
	}
	run.ID, run.Embedded = rand.Text()[:12], c.own != nil
	l := &Leader{connection: c, run: run, program: program, began: time.Now(), open: map[uint64]*givenPart{},
		workers: map[string]time.Time{}, shares: map[string][]uint64{}, refused: map[string]bool{}}
	l.ctx, l.end = withoutDeadline(ctx)
	l.desk = &desk{connection: c, run: run.ID, answer: o.Answer, last: map[string]given{}}
	l.desk.ctx, l.desk.end = context.WithCancel(l.ctx)
	if err := l.begin(); err != nil {
		l.end()
		l.busy.Wait()
		l.close()
		return nil, fmt.Errorf("NATS server %s: %w", WithoutSecret(c.url), err)
	}
	l.busy.Go(l.tellAlways)
	return l, nil
}

// withoutDeadline is a context that ends when another one does, and has no deadline. The client of
// NATS waits for an answer for some seconds where there is no deadline, and until that where there
// is one. A server that was killed never answers. So with the time of a check as deadline, one
// request could take all of it.
func withoutDeadline(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { end(context.Cause(parent)) })
	return ctx, func() {
		stop()
		end(nil)
	}
}

// URL is where workers connect to.
func (l *Leader) URL() string { return l.url }

// hear notes that a worker is there, and which part it explores.
func (l *Leader) hear(m *nats.Msg) {
	var w Worker
	if json.Unmarshal(m.Data, &w) != nil {
		return // another version
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Each worker is told of once, although it may say so several times.
	if w.Problem != "" && !l.refused[w.ID] {
		l.refused[w.ID] = true
		l.say("a worker at %s cannot help: %s", w.Host, w.Problem)
	}
	if w.Run != l.run.ID {
		delete(l.workers, w.ID)
		delete(l.shares, w.ID)
		return
	}
	// The clock is that of the leader: those of workers may differ.
	l.workers[w.ID], l.shares[w.ID] = time.Now(), w.Shares
	l.see(w.Part)
}

// hearBegun notes that a worker has begun with a part.
func (l *Leader) hearBegun(m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.books.Begin(partOf(m.Subject))
	l.see(partOf(m.Subject))
}

// see notes that a worker has spoken of a part. The caller holds mu.
func (l *Leader) see(part uint64) {
	if p := l.open[part]; p != nil {
		p.seen = time.Now()
	}
}

// Workers is how many workers are at work for the run.
func (l *Leader) Workers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Workers that end by themselves say so. Those that are killed are found out here.
	for id, at := range l.workers {
		if time.Since(at) > lifetime {
			delete(l.workers, id)
			delete(l.shares, id)
		}
	}
	return len(l.workers)
}

// take takes a result. It is acknowledged when it has been handed on, or is not wanted.
func (l *Leader) take(m jetstream.Msg) {
	part := partOf(m.Subject())
	// What comes twice counts as work that was done twice.
	executions, _ := strconv.Atoi(m.Headers().Get(executionsHeader))
	// What is too large for a message is got from the object store.
	data, err := l.unpack(l.ctx, m.Data())
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return // it is delivered again
	}
	l.mu.Lock()
	to := l.open[part]
	if l.books.Finish(part, executions) && to != nil {
		to.result <- data // which has room
	}
	l.mu.Unlock()
	l.forget(l.ctx, m.Data())
	_ = m.Ack()
}

// Explore has a part explored. Once wanted is closed its worker is told to end with it, and if that
// takes long, or nobody has begun, the part is withdrawn. The error is then ErrUnexplored.
func (l *Leader) Explore(ctx context.Context, part []byte, wanted <-chan struct{}) ([]byte, error) {
	// The result may come before the call that has published the part returns.
	given := &givenPart{result: make(chan []byte, 1), seen: time.Now()}
	l.mu.Lock()
	number := l.books.Give()
	l.open[number] = given
	l.mu.Unlock()
	// Nobody else uses the number, so a result cannot be taken for that of another part.
	name := fmt.Sprintf("%s.%d", l.run.ID, number)
	sending, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	message, err := l.pack(sending, "part."+name, part)
	var sent *jetstream.PubAck
	if err == nil {
		defer l.forget(l.ctx, message)
		sent, err = l.js.Publish(sending, "tandem.parts."+name, message)
	}
	if ctx.Err() == nil { // else nobody wants it any more
		l.complain(err)
	}
	if err != nil {
		l.withdraw(number, 0)
		await(ctx, wanted, beat) // it may not work the next time, either
		return nil, fmt.Errorf("%w: %w", ErrUnexplored, err)
	}
	defer l.withdraw(number, sent.Sequence)
	return l.await(ctx, number, given, wanted)
}

// complain tells once that parts cannot be given out, and once that they can again.
func (l *Leader) complain(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Not each part that cannot be given out is told of: there may be hundreds in a second.
	switch {
	case err == nil && l.problem != "":
		l.say("parts are given out again")
		l.problem = ""
	case err != nil && l.problem == "" && l.ctx.Err() == nil:
		l.problem = err.Error()
		l.say("parts cannot be given out (%v): the check goes on by itself until they can", err)
	}
}

// await waits until a part is wanted, but not for long.
func await(ctx context.Context, wanted <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wanted:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// await waits for the result of a part.
func (l *Leader) await(ctx context.Context, number uint64, given *givenPart, wanted <-chan struct{}) (
	[]byte, error) {
	var late <-chan time.Time
	look := time.NewTicker(beat)
	defer look.Stop()
	for {
		select {
		case data := <-given.result:
			// An execution has failed there. Here it will, too, or there was something wrong with
			// the worker.
			if len(data) == 0 {
				return nil, ErrUnexplored
			}
			return data, nil
		case <-ctx.Done():
			l.stop(number)
			return nil, ctx.Err()
		case <-l.ctx.Done(): // the run has ended
			l.stop(number)
			return nil, ErrUnexplored
		case <-wanted:
			wanted = nil
			l.stop(number)
			l.mu.Lock()
			begun := l.books.Begun(number)
			l.mu.Unlock()
			// To wait for a worker that has not begun would take longer than to explore the part
			// here.
			if !begun {
				return nil, ErrUnexplored
			}
			timer := time.NewTimer(stopGrace)
			defer timer.Stop()
			late = timer.C
		case <-late:
			return nil, ErrUnexplored
		case <-look.C:
			if l.isLost(given) {
				return nil, ErrUnexplored
			}
		}
	}
}

// stop has a worker end with a part at the next execution. If that is lost, it goes on, and its
// result comes too late.
func (l *Leader) stop(number uint64) {
	_ = l.nats.Publish(stopSubject+fmt.Sprintf("%s.%d", l.run.ID, number), nil)
}

// isLost reports whether no worker has spoken of a part for long, although it could.
func (l *Leader) isLost(given *givenPart) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	// While the server was away, nobody could speak of anything.
	since := given.seen
	if connected := time.Unix(0, l.since.Load()); connected.After(since) {
		since = connected
	}
	return l.nats.IsConnected() && time.Since(since) > lost
}

// withdraw settles a part. Workers do not get it any more.
func (l *Leader) withdraw(number, sequence uint64) {
	// After this a result is too late.
	l.mu.Lock()
	open := l.books.Withdraw(number)
	delete(l.open, number)
	l.mu.Unlock()
	// What is done was taken out of the queue by the worker.
	if open && sequence > 0 && l.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(l.ctx, beat)
		defer cancel()
		_ = l.parts.DeleteMsg(ctx, sequence) // a worker may have it already
	}
}

// Ended reports whether the leader was closed.
func (l *Leader) Ended() bool { return l.ctx.Err() != nil }

// Silence has no question be answered any more. It does not wait for the answer that is under way,
// which ends soon. Parts are still given out.
func (l *Leader) Silence() { l.desk.end() }

// Note notes how many executions were reported to the search, for those who ask for the status.
func (l *Leader) Note(executions int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.executions = executions
}

// Tell notes how far a search over states is, for those who ask for the status.
func (l *Leader) Tell(s States) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = &s
}

// Progress is how far the run is.
func (l *Leader) Progress() Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Progress{l.run, l.books.Counts(), l.executions, time.Since(l.began), l.states}
}

// tell says that the run goes on, and how far it is.
func (l *Leader) tell() error {
	data, err := json.Marshal(l.Progress())
	if err == nil {
		ctx, cancel := context.WithTimeout(l.ctx, patience)
		defer cancel()
		_, err = l.state.Put(ctx, runKey, data)
	}
	return err
}

// tellAlways tells now and then. What cannot be told now is told the next time. A server that has
// come back may have lost what it had.
func (l *Leader) tellAlways() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for isBack := false; ; {
		select {
		case <-ticker.C:
		case <-l.again:
			isBack = true
		case <-l.ctx.Done():
			return
		}
		// What a server has that comes back is seen when it is asked for it.
		if !isBack {
			_ = l.tell()
		} else if err := l.restore(); err == nil {
			isBack = false
		} else if l.nats.IsConnected() {
			l.complain(err)
		}
	}
}

// restore makes what the server has to have, where it is not there any more.
func (l *Leader) restore() error {
	if err := l.provide(l.ctx); err != nil {
		return err
	}
	// Of all that is stored only the program cannot be made from nothing.
	_, err := l.objects.GetInfo(l.ctx, programOf(l.run.ID))
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = l.giveProgram()
	}
	if err == nil {
		err = l.tell()
	}
	return err
}

// Close ends the run: it takes back what it has given out, and nobody waits for a part any more.
// Workers stay for the next run, if the server does. To close it again does nothing.
func (l *Leader) Close() { l.once.Do(l.finish) }

// finish is Close, the first time.
func (l *Leader) finish() {
	// Nothing is told or taken any more. What follows is cleaning up: it may fail, and the next
	// leader does it then.
	l.end()
	// Workers are to be free for the next run. Who waits for a part says so, too, but may be late.
	l.mu.Lock()
	for number := range l.open {
		l.stop(number)
	}
	l.mu.Unlock()
	l.busy.Wait()
	l.desk.await()
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	for _, stream := range []string{partsStream, resultsStream} {
		for _, consumer := range []string{"leader-" + l.run.ID, "workers-" + l.run.ID} {
			_ = l.js.DeleteConsumer(ctx, stream, consumer)
		}
	}
	_ = l.state.Delete(ctx, runKey)
	_ = l.parts.Purge(ctx)
	_ = l.objects.Delete(ctx, programOf(l.run.ID))
	l.forgetRun(ctx, l.run.ID)
	// Workers of a server that goes on wait for the next run.
	subject := newsSubject
	if l.own != nil && l.Server == nil {
		subject = byeSubject
	}
	_ = l.nats.Publish(subject, nil)
	_ = l.nats.FlushWithContext(ctx)
	l.close()
}

// programOf is the object that has the program of a run.
func programOf(run string) string { return "program." + run }

// executionsHeader says of a result how many executions it took.
const executionsHeader = "Tandem-Executions"

// partOf is the number of the part that a subject is about; 0: it is about none.
func partOf(subject string) uint64 {
	n, _ := strconv.ParseUint(subject[strings.LastIndex(subject, ".")+1:], 10, 64)
	return n
}

// runOf is the run that a check leads there; nil if there is none.
func runOf(ctx context.Context, state jetstream.KeyValue) (*Progress, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	entry, err := state.Get(ctx, runKey)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	p := &Progress{}
	if err := json.Unmarshal(entry.Value(), p); err != nil {
		return nil, fmt.Errorf("%w: what it has told cannot be read", errOtherVersion)
	}
	return p, nil
}

// errOtherVersion is the error of what another version of tandem has left at the server.
var errOtherVersion = errors.New("the check there is of another version of tandem")
