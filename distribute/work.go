package distribute

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Start makes who explores the parts of a run, with the program in a file. Both may ask the leader.
type Start func(ctx context.Context, run Run, program string, ask Ask) (Explorer, error)

// worker works at runs, one after the other.
type worker struct {
	*connection
	start  Start
	become Become
	own    Identity
	news   chan struct{} // has something when a run has begun or ended
	end    context.CancelCauseFunc

	mu    sync.Mutex // guards what follows
	state Worker
	rate  rate // of this run, in which done executions have ended with their part
	done  int
	ended map[uint64]bool // parts that are to end, or not to begin

	begun atomic.Int64 // executions of the part that is explored

	last string // the run at which it has worked before; only the goroutine that works has it

	embedded atomic.Bool // the server of the last run ends with it

	asking sync.Mutex // held while a question is asked
}

// errBye is why a worker ends whose server has ended with its run.
var errBye = errors.New("the server has ended with its check")

// Work explores parts of the runs that are led at a server, until the context ends, or the server
// ends with its run. It needs neither the source of the program nor Go. An error is one that would
// come again: another build, or no server.
func Work(ctx context.Context, o Options, own Identity, start Start,
	become Become) error {
	if isEmbedded(o.URL) {
		return errors.New("a worker has no server of its own: give the URL that tandem check " +
			"--distribute has shown")
	}
	c, err := connect(o)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.provide(ctx); err != nil {
		return fmt.Errorf("NATS server %s: %w", WithoutSecret(c.url), err)
	}
	host, _ := os.Hostname()
	w := &worker{connection: c, start: start, become: become, own: own,
		state: Worker{ID: rand.Text()[:8], Host: host},
		news:  make(chan struct{}, 1)}
	ctx, w.end = context.WithCancelCause(ctx)
	var busy sync.WaitGroup
	defer busy.Wait()
	defer w.end(nil)
	for subject, told := range map[string]func(){
		// There is room for one message: who looks sees that there was one or more.
		newsSubject: func() {
			select {
			case w.news <- struct{}{}:
			default: // nobody has looked since the last time
			}
		},
		byeSubject: func() { w.end(errBye) },
	} {
		if _, err := c.nats.Subscribe(subject, func(*nats.Msg) { told() }); err != nil {
			return err
		}
	}
	busy.Go(func() { w.tellAlways(ctx) })
	w.say("waiting for a check at %s", WithoutSecret(c.url))
	err = w.wait(ctx)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errBye):
		w.say("%v", errBye)
		return nil
	case errors.Is(cause, errAway):
		return cause
	}
	return err
}

// errAway is why a worker ends whose server is gone, and cannot come back.
var errAway = errors.New("start a worker with the URL that the next check shows")

// miss ends a worker whose server would have ended with its run, and did not say so. It has been
// killed, or nobody knows what has become of it: the next check has another URL.
func (w *worker) miss(now time.Time) {
	since := w.away.Load()
	if gone := now.Sub(time.Unix(0, since)); w.embedded.Load() && since > 0 && gone >= awayMost {
		w.end(fmt.Errorf("the NATS server %s has been gone for %v, and its check with it: %w",
			WithoutSecret(w.url), gone.Round(time.Second), errAway))
	}
}

// wait works at each run that begins, until the context or the server ends.
func (w *worker) wait(ctx context.Context) error {
	look := time.NewTicker(beat)
	defer look.Stop()
	for {
		// Other errors are those of a server that is away. It is asked again.
		p, err := runOf(ctx, w.connection.state)
		if errors.Is(err, errOtherVersion) {
			return err
		}
		if err == nil && p != nil {
			w.embedded.Store(p.Run.Embedded)
			// A run that seems to have ended may be there again: after a server of a cluster has
			// gone, another one may not know yet what there is. Without its program a run has just
			// begun, or is over. Without its leader it is over.
			err := w.work(ctx, p.Run)
			if err != nil && ctx.Err() == nil && !errors.Is(err, jetstream.ErrObjectNotFound) &&
				!errors.Is(err, ErrNoLeader) {
				w.tellProblem(err)
				return err
			}
		}
		select {
		case <-w.closed:
			return fmt.Errorf("the NATS server %s does not let this worker in any more: start it with the "+
				"URL that tandem check shows now", WithoutSecret(w.url))
		case <-ctx.Done():
			return nil
		case <-w.news:
		case <-look.C:
		}
	}
}

// refusal says why a worker cannot work at a run; nil: it can.
func (own Identity) refusal(run Run) error {
	switch lead := run.Identity; {
	case lead.Tandem == own.Tandem:
		return nil
	case lead.OS != own.OS:
		return fmt.Errorf("the check of %s is led on %s, and this is %s: start the worker on the same",
			run.Package, lead.OS, own.OS)
	case lead.Version != own.Version:
		return fmt.Errorf("the check of %s is led by tandem %s, and this is %s: install the same file on "+
			"all machines", run.Package, lead.Version, own.Version)
	case lead.Go != own.Go:
		return fmt.Errorf("the check of %s is led by a tandem that was built with %s, and this one was with "+
			"%s: install the same file on all machines", run.Package, lead.Go, own.Go)
	}
	return fmt.Errorf("the check of %s is led by another build of tandem than this: install the same file "+
		"on all machines", run.Package)
}

// work works at a run until it has ended. Errors of a single part are the leader's to find.
func (w *worker) work(ctx context.Context, run Run) error {
	// Another build might explore in another order, or write what this one cannot read.
	if err := w.own.refusal(run); err != nil {
		return err
	}
	// A worker that is killed leaves its directory, which the system removes some day.
	dir, err := os.MkdirTemp("", "tandem-worker-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The program comes from the leader, so that it is the same to the last byte.
	program := filepath.Join(dir, "program")
	since := w.since.Load()
	if err := w.objects.GetFile(ctx, programOf(run.ID), program); err != nil {
		// The server may be away, or the run may have ended meanwhile.
		_, away := runOf(ctx, w.connection.state)
		if away != nil || errors.Is(err, nats.ErrTimeout) || w.since.Load() != since {
			return jetstream.ErrObjectNotFound // as if it were not there yet
		}
		return fmt.Errorf("getting the program of the check of %s: %w", run.Package, err)
	}
	if err := os.Chmod(program, 0o700); err != nil {
		return err
	}
	if run.Key != "" {
		return w.takeShares(ctx, run, program)
	}
	// To start may take a while: the program runs once, to see that it does what it does elsewhere.
	start := func() (Explorer, error) { return w.start(ctx, run, program, w.asks(run)) }
	explorer, err := start()
	if err != nil {
		return err
	}
	defer func() {
		if explorer != nil {
			explorer.Close()
		}
	}()
	// It listens before it takes a part, so it hears of all that are not wanted any more.
	stops, err := w.nats.Subscribe(stopSubject+run.ID+".*", func(m *nats.Msg) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended[partOf(m.Subject)] = true
	})
	if err != nil {
		return err
	}
	defer func() { _ = stops.Unsubscribe() }()
	w.begin(run.ID)
	defer w.begin("")
	w.sayWorking(run)
	var failed error
	// All workers of a run share a consumer: each part goes to one of them.
	w.receive(ctx, partsStream, jetstream.ConsumerConfig{Durable: "workers-" + run.ID,
		FilterSubject: "tandem.parts." + run.ID + ".*", AckWait: ackWait},
		func() bool { return failed == nil && !w.isOver(ctx, run) },
		func(m jetstream.Msg) { explorer, failed = w.explore(ctx, run, start, explorer, m) })
	if cause := context.Cause(ctx); failed == nil && (cause == nil || errors.Is(cause, errBye)) {
		w.mu.Lock()
		executions, parts := w.state.Executions, w.state.Parts
		w.mu.Unlock()
		w.say("%s; %d executions in %d parts were explored here", w.ending(ctx, run), executions, parts)
	}
	return failed
}

// sayWorking says that the worker works at a run, perhaps not for the first time.
func (w *worker) sayWorking(run Run) {
	again := ""
	if w.last == run.ID {
		again = " again: it goes on, and is announced at the server"
	}
	w.last = run.ID
	w.say("working at the check of %s%s", run.Package, again)
}

// ending says why a worker does not work at a run any more, as far as it is known. A check that
// ends removes what it has announced, and the server knows that for a while (lifetime). Afterwards
// there is nothing, as where a leader was killed, or where a server has lost its data. In the last
// case the check goes on, and is announced again.
func (w *worker) ending(ctx context.Context, run Run) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	kept, err := w.js.Stream(ctx, "KV_"+stateBucket) // which is what a bucket is
	var last *jetstream.RawStreamMsg
	if err == nil {
		last, err = kept.GetLastMsgForSubject(ctx, "$KV."+stateBucket+"."+runKey)
	}
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Sprintf("nobody speaks of the check of %s any more (it has ended or was killed, or the "+
			"server has lost its data)", run.Package)
	case err == nil && runIn(last.Data).ID == run.ID:
		return fmt.Sprintf("the check of %s was away for a moment, and is there again", run.Package)
	}
	return fmt.Sprintf("the check of %s has ended", run.Package)
}

// isOver reports whether a run has ended, or its server has.
func (w *worker) isOver(ctx context.Context, run Run) bool {
	// The server is asked last, since that takes the longest.
	select {
	case <-w.closed:
		return true
	default:
	}
	if ctx.Err() != nil {
		return true
	}
	p, err := runOf(ctx, w.connection.state)
	return err == nil && (p == nil || p.Run.ID != run.ID)
}

// begin notes at which run the worker works, and tells.
func (w *worker) begin(run string) {
	w.mu.Lock()
	w.state.Run, w.state.Part, w.state.Parts, w.state.Executions = run, 0, 0, 0
	w.rate, w.done, w.ended = rate{}, 0, map[uint64]bool{}
	w.mu.Unlock()
	w.tell()
}

// isEnded reports whether a part is not wanted any more.
func (w *worker) isEnded(part uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended[part]
}

// explore explores a part, and sends the result. Meanwhile the server is told that it takes time.
// After an error of the execution the part is left to the leader, with an empty result, and the
// explorer is made anew.
func (w *worker) explore(ctx context.Context, run Run, start func() (Explorer, error), x Explorer,
	m jetstream.Msg) (Explorer, error) {
	part := partOf(m.Subject())
	if w.isEnded(part) {
		return x, ignored(m.Ack())
	}
	data, err := w.unpack(ctx, m.Data())
	if err != nil {
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return x, ignored(m.Ack()) // it was withdrawn, and so was what it is about
		}
		return x, nil // it is delivered again
	}
	// From here on the leader waits for this worker, and the server is told that it is at work.
	w.at(part)
	_ = w.nats.Publish(begunSubject+fmt.Sprintf("%s.%d", run.ID, part), nil)
	working, done := context.WithCancel(ctx)
	var busy sync.WaitGroup
	busy.Go(func() { keepTaken(working, m) })
	// This takes seconds to minutes. A part that is not wanted any more ends early, with what was
	// found. Explorers ask for that before each execution.
	result, executions, err := x.Explore(data, func() bool {
		w.begun.Add(1)
		return ctx.Err() != nil || w.isEnded(part)
	})
	var failed error
	if err != nil && ctx.Err() == nil {
		w.say("part %d is left to the leader: %v", part, err)
		// The worker process may be gone, or in a state that nobody knows.
		x.Close()
		x, failed = start()
		result = nil
	}
	if ctx.Err() == nil {
		// The result first: if the worker is killed in between, the part is explored twice.
		w.send(ctx, run, part, result, executions)
		_ = m.Ack()
	} // else another worker gets the part
	done()
	busy.Wait()
	w.mu.Lock()
	w.state.Part = 0
	w.state.Parts++
	w.state.Executions += executions
	w.done += max(executions, int(w.begun.Swap(0)))
	w.mu.Unlock()
	return x, failed
}

// ignored is nil: without its acknowledgement a message comes again.
func ignored(error) error { return nil }

// at notes which part the worker explores.
func (w *worker) at(part uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Part = part
}

// tries is how often a result is sent while the server is there. While it is not, it is waited for.
const tries = 3

// send sends a result. If the server does not take it, the leader finds out by itself.
func (w *worker) send(ctx context.Context, run Run, part uint64, result []byte, executions int) {
	// The subject says which part the result is of, also if another worker has the part, too.
	name := fmt.Sprintf("%s.%d", run.ID, part)
	var err error
	for try := 0; try < tries && ctx.Err() == nil; {
		// What was explored is too dear to be lost because the server is away for a while.
		if w.nats.IsConnected() {
			try++
		}
		sending, cancel := context.WithTimeout(ctx, patience)
		var message []byte
		if message, err = w.pack(sending, "result."+name, result); err == nil {
			_, err = w.js.PublishMsg(sending, &nats.Msg{Subject: "tandem.results." + name, Data: message,
				Header: nats.Header{executionsHeader: {strconv.Itoa(executions)}}})
		}
		cancel()
		if err == nil {
			return
		}
		select {
		case <-w.closed:
			return
		default:
			pause(ctx, beat)
		}
	}
	if ctx.Err() == nil {
		w.say("the result of part %d cannot be sent, and is lost: %v", part, err)
	}
}

// keepTaken has the server not give a part to another worker.
func keepTaken(ctx context.Context, m jetstream.Msg) {
	// If one of these is lost, the next one comes in time.
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = m.InProgress()
		case <-ctx.Done():
			return
		}
	}
}

// tell gives a sign of life: to the leader, and to those who ask for the status.
func (w *worker) tell() {
	w.mu.Lock()
	w.state.Rate = w.rate.note(time.Now(), w.done+int(w.begun.Load()))
	data, err := json.Marshal(w.state)
	w.mu.Unlock()
	// A message that is sent while the server is away would come much later.
	if err == nil && w.nats.IsConnected() {
		_ = w.nats.Publish(aliveSubject, data)
		ctx, cancel := context.WithTimeout(context.Background(), beat)
		defer cancel()
		_, _ = w.connection.state.Put(ctx, workerKey+w.state.ID, data) // else the next time
	}
}

// tellProblem tells the leader why the worker cannot help.
func (w *worker) tellProblem(err error) {
	w.mu.Lock()
	w.state.Problem = err.Error()
	w.mu.Unlock()
	w.tell()
	_ = w.nats.FlushTimeout(beat)
}

// tellAlways gives signs of life until the context ends.
func (w *worker) tellAlways(ctx context.Context) {
	w.tell()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			w.miss(now)
			w.tell()
		case <-ctx.Done():
			w.mu.Lock()
			w.state.Run = ""
			w.mu.Unlock()
			// The leader need not wait until it finds out by itself.
			if w.nats.IsConnected() {
				w.tell()
				going, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat)
				defer cancel()
				_ = w.connection.state.Delete(going, workerKey+w.state.ID)
				_ = w.nats.FlushWithContext(going)
			}
			return
		}
	}
}
