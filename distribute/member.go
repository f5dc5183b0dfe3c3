package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Post brings messages to the members of a run, and from them. What was sent is there until whoever
// leads says that nobody needs it, so a new member gets all that it needs of what the one before it
// has got.
type Post interface {
	// Send sends a message. It tries again until the server has taken it, or the context ends.
	Send(ctx context.Context, to int, data []byte) error
	// Receive waits for the next message. Its place is behind those of all that were sent before;
	// zero: it has none.
	Receive(ctx context.Context) (data []byte, place uint64, err error)
	// Put stores an object of the run, Get returns it. The error of Get is ErrLost if it is not
	// there, or not as it was.
	Put(ctx context.Context, name string, data []byte) error
	Get(ctx context.Context, name string) ([]byte, error)
	// Ends are the messages to ToEnds that were sent so far.
	Ends(ctx context.Context) ([][]byte, error)
}

// Member is one of the processes that do a run together.
type Member struct {
	Part    int    `json:"part"`
	Process uint64 `json:"process"` // its number
	// Saved is what it begins with, for who becomes it.
	Saved []byte `json:"saved,omitempty"`
}

// Become has a process with the program be a member, until the process or the context ends. An
// error says why it cannot go on; nil: its work is done.
type Become func(ctx context.Context, run Run, program string, m Member, p Post) error

// Addresses that are no parts, as package protocol/session has them. Those of all parts are three:
// a leader that goes on where another one has ended needs the last message to one of them, and all
// of another.
const (
	ToFront  = -1
	ToAll    = -2
	ToLevels = -3
	ToEnds   = -4
)

// shareSubject is where messages to an address go.
func shareSubject(key string, to int) (string, error) {
	switch {
	case to >= 0:
		return sharesSubject + key + ".to." + strconv.Itoa(to), nil
	case to == ToFront:
		return sharesSubject + key + ".front", nil
	case to == ToAll:
		return sharesSubject + key + ".all", nil
	case to == ToLevels:
		return sharesSubject + key + ".levels", nil
	case to == ToEnds:
		return sharesSubject + key + ".ends", nil
	}
	return "", fmt.Errorf("there is nobody with the address %d", to)
}

// mail is a Post at a server. One goroutine may receive, and another one send.
type mail struct {
	*connection
	key     string
	subject []string // of what is received
	last    uint64   // sequence of the last message
	name    string   // of what is too large for a message
	sent    int
	news    chan []byte // from nobody at the server; nil: there are none

	messages jetstream.MessagesContext
}

// newMail is for a member that receives what is sent to some addresses. The name is that of the
// member: what is too large for a message is stored under it.
func newMail(c *connection, key, name string, addresses ...int) *mail {
	m := &mail{connection: c, key: key, name: name}
	for _, a := range addresses {
		subject, _ := shareSubject(key, a)
		m.subject = append(m.subject, subject)
	}
	return m
}

// Send implements Post. A message may be sent twice: the server may have taken it, and be away
// before it says so.
func (m *mail) Send(ctx context.Context, to int, data []byte) error {
	subject, err := shareSubject(m.key, to)
	if err != nil {
		return err
	}
	m.sent++
	name := fmt.Sprintf("%s%s.%s.%d", sharesSubject, m.key, m.name, m.sent)
	if len(data) > maxPart {
		return fmt.Errorf("a message has %d MB, and the limit is %d: divide the search into more parts",
			len(data)>>20, maxPart>>20)
	}
	return again(ctx, m.connection, "states cannot be sent", func() error {
		return m.try(ctx, subject, name, data)
	})
}

// again does something at the server until it is done, the context ends, or the server is gone for
// good. The user is told once if the server is there and does not do it.
func again(ctx context.Context, c *connection, what string, do func() error) error {
	for isTold := false; ; pause(ctx, beat/2) {
		err := do()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if !isTold && c.nats.IsConnected() {
			c.say("%s (%v): trying again; see that the server has room on its disk", what, err)
			isTold = true
		}
		select {
		case <-c.closed:
			return err
		default:
		}
	}
}

// try sends a message once. A server whose disk is full may not answer at all, and a message that
// it has taken without saying so may come twice. So it is not waited for as long as elsewhere.
func (m *mail) try(ctx context.Context, subject, name string, data []byte) error {
	packing, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	message, err := m.pack(packing, name, data)
	if err == nil {
		trying, cancel := context.WithTimeout(ctx, 2*beat)
		defer cancel()
		_, err = m.js.Publish(trying, subject, message)
	}
	return err
}

// Receive implements Post. After the server was away it goes on behind the last message.
func (m *mail) Receive(ctx context.Context) (data []byte, place uint64, err error) {
	for failed := 1; ctx.Err() == nil; failed++ {
		data, err := m.next(ctx)
		if err == nil {
			return data, m.last, nil
		}
		// The server is away, or the consumer is.
		m.stop()
		if failed == 3 && m.nats.IsConnected() && ctx.Err() == nil {
			m.say("states cannot be received (%v): trying again", err)
		}
		select {
		case <-m.closed:
			return nil, 0, err
		default:
			pause(ctx, beat/4)
		}
	}
	return nil, 0, ctx.Err()
}

// stop gives the consumer back. The next call of next makes another one, which begins behind the
// last message that was received.
func (m *mail) stop() {
	if m.messages != nil {
		m.messages.Stop()
		m.messages = nil
	}
}

// next waits for one message. The consumer is one that the server does not have to remember: it
// begins behind the last message that was received here, and nothing is acknowledged.
func (m *mail) next(ctx context.Context) ([]byte, error) {
	if m.messages == nil {
		making, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		consumer, err := m.js.OrderedConsumer(making, sharesStream, jetstream.OrderedConsumerConfig{
			FilterSubjects: m.subject, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
			OptStartSeq: m.last + 1})
		if err != nil {
			return nil, err
		}
		if m.messages, err = consumer.Messages(jetstream.PullMaxMessages(pulled)); err != nil {
			m.messages = nil
			return nil, err
		}
	}
	message, err := m.messages.Next(jetstream.NextContext(ctx))
	if err != nil {
		return nil, err
	}
	meta, err := message.Metadata()
	if err != nil {
		return nil, err
	}
	data, err := m.unpack(ctx, message.Data())
	if err == nil {
		m.last = meta.Sequence.Stream
	}
	return data, err
}

// pulled is how many messages are on the way to a member at a time: some megabytes.
const pulled = 32

// host has processes of this machine be members of a run. A worker has one for each run, and so has
// the leader, for the case that there is no worker.
type host struct {
	*connection
	ctx     context.Context
	run     Run
	program string
	become  Become
	left    func(Member, string)

	mu      sync.Mutex
	members map[uint64]context.CancelFunc // by number
	busy    sync.WaitGroup
}

// newHost has no member yet. Left is called with each member that has ended, and why; it is empty
// if the work is done.
func newHost(ctx context.Context, c *connection, run Run, program string, become Become,
	left func(Member, string)) *host {
	return &host{connection: c, ctx: ctx, run: run, program: program, become: become, left: left,
		members: map[uint64]context.CancelFunc{}}
}

// add has another process become a member. It may be asked for twice: the leader asks again if it
// has not heard that the worker has it.
func (h *host) add(m Member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.members[m.Process] != nil || h.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	h.members[m.Process] = cancel
	h.busy.Go(func() {
		defer cancel()
		mail := newMail(h.connection, h.run.Key, strconv.FormatUint(m.Process, 36), m.Part, ToAll, ToLevels,
			ToEnds)
		err := h.become(ctx, h.run, h.program, m, mail)
		mail.stop()
		h.mu.Lock()
		delete(h.members, m.Process)
		h.mu.Unlock()
		reason := ""
		if err != nil {
			reason = err.Error()
		}
		if h.ctx.Err() == nil {
			m.Saved = nil // it has been read
			h.left(m, reason)
		}
	})
}

// drop ends a member that is not wanted any more: its worker was taken for gone, and another one
// has the part now. Both doing it would be no harm, but twice the work.
func (h *host) drop(process uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if end := h.members[process]; end != nil {
		end()
	}
}

// list are the numbers of the members, in ascending order, for the sign of life of the worker.
func (h *host) list() (numbers []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.members {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// takeShares has this worker be members of a run until it has ended. How many it has is a matter of
// the leader: with fewer workers than parts, some have several. Each member is a process of its
// own, so what one of them needs is given back when it ends.
func (w *worker) takeShares(ctx context.Context, run Run, program string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := newHost(ctx, w.connection, run, program, w.become, func(m Member, reason string) {
		data, err := json.Marshal(leaving{m, reason})
		if err == nil {
			_ = w.nats.Publish(leftSubject+run.ID, data) // if it is lost, the leader misses it soon
		}
	})
	defer h.busy.Wait()
	defer cancel()
	asked, err := w.nats.Subscribe(becomeSubject+w.state.ID, func(m *nats.Msg) {
		var member Member
		if json.Unmarshal(m.Data, &member) == nil {
			h.add(member)
			w.setShares(h.list())
			w.tell()
		} else {
			_ = m.Respond(nil) // the leader asks whether this worker is there
		}
	})
	if err != nil {
		return err
	}
	defer func() { _ = asked.Unsubscribe() }()
	dropped, err := w.nats.Subscribe(dropSubject+w.state.ID, func(m *nats.Msg) {
		n, _ := strconv.ParseUint(string(m.Data), 10, 64)
		h.drop(n)
	})
	if err != nil {
		return err
	}
	defer func() { _ = dropped.Unsubscribe() }()
	w.begin(run.ID)
	defer w.begin("")
	w.sayWorking(run)
	for !w.isOver(ctx, run) {
		w.setShares(h.list())
		pause(ctx, beat/2)
	}
	w.setShares(nil)
	w.say("%s", w.ending(ctx, run))
	return nil
}

// setShares notes which members this worker has. The next sign of life says so.
func (w *worker) setShares(numbers []uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Shares = numbers
}

// leaving is what a worker tells of a member that has ended by itself.
type leaving struct {
	Member
	Reason string `json:"reason"`
}

// sharesConfig is how messages are kept. What they may take is bounded by the disk only: a bound
// would be reserved, and nobody knows how much a search sends.
func sharesConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: sharesStream, Subjects: []string{sharesSubject + ">"},
		Replicas: replicas, MaxMsgSize: 2 * maxMessage, Duplicates: time.Second}
}
