package ckptd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/shared"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/awake"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/sys/userns"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
)

// The client's end of the channel to a daemon. Whether the client has started the daemon or a
// shared one has makes no difference here but for how its end is noticed: by waiting for a child,
// or by a pidfd.
//
// Many goroutines may ask at a time. A request is sent with a number, and the goroutine waits for
// the reply with that number, which the reader hands to it. When the channel ends, all that wait
// are told, with what the daemon wrote last. A caller that gives up leaves its number; a reply that
// comes later is let go of, with its descriptors, and a group that it has started is closed.

// Client is a checker's connection to its daemon. It is safe for concurrent use.
//
// Requests of several goroutines are under way at a time: each waits for the reply with its
// sequence number, which one goroutine reads and hands out.
type Client struct {
	channel int
	process *exec.Cmd     // nil if a shared daemon has started it
	pidfd   int           // of it then
	pid     int           // of the daemon
	exited  chan struct{} // closed when the daemon has ended
	read    chan struct{} // closed when the reader of replies has ended
	stderr  *tail
	noShim  error // why the peers run without the shim; nil: they do not
	without []string

	wakeups   *watch.Wakeups // nil: quiescence is judged by /proc alone
	noWakeups error          // why that is, where it was not asked for

	sending  sync.RWMutex // held to read while the channel is written to, and to write to close it
	mu       sync.Mutex
	closed   bool
	died     error // set before read is closed
	sequence uint32
	pending  map[uint32]chan<- wire.Answer
	groups   map[*Group]bool
}

// Spawn starts a daemon for this process alone. Without root that takes a user namespace, in which
// groups are saved in memory only: see Client.Without.
func Spawn(ctx context.Context, o Options) (*Client, error) {
	file, err := programFile(o.Daemon, Program)
	if err != nil {
		return nil, err
	}
	return o.with(ctx, func() (*Client, error) { return execute(file, o) })
}

// with makes a client, and sets up its daemon. What fails after the connection was made closes it
// again, and with it ends the daemon.
func (o *Options) with(ctx context.Context, connect func() (*Client, error)) (*Client, error) {
	s, err := o.complete()
	if err != nil {
		return nil, err
	}
	var noShim error
	// Without it groups run, and their behaviour cannot be chosen.
	s.Shim, noShim = findShim(ctx)
	c, err := connect()
	if err != nil {
		return nil, err
	}
	c.noShim, c.without = noShim, givenUp(s)
	if err := c.openWakeups(o.Quiescence); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if _, err := c.call(ctx, wire.Request{Operation: wire.OpSetup, Setup: &s}, nil); err != nil {
		err = fmt.Errorf("set up the checkpoint daemon: %w", userns.Explain(err))
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// givenUp are the lines of Without that follow from a set-up.
func givenUp(s wire.Setup) (lines []string) {
	// That there is no CRIU is a part of it.
	if unprivileged() {
		return []string{"root: peers run in a user namespace, where no other users and groups exist, and " +
			"checkpoints of them are taken in memory only: see docs/guide/privileges.md"}
	}
	// Where memory was asked for, CRIU is nothing that was given up.
	if s.NoCRIU != "" && s.Backend == BackendAuto {
		lines = append(lines, "CRIU: checkpoints of peers are taken in memory only: "+s.NoCRIU)
	}
	return lines
}

// Without says what the daemon runs without since the machine or the user does not have it, and
// what that costs: a line for each, such as "CRIU: ...". The client was made all the same.
func (c *Client) Without() []string { return c.without }

// execute starts the daemon's process and the reader of its replies. The daemon is pid 1 of its
// namespaces from its first instruction on. It is waited for at once, so that its end is known
// whatever the channel says.
func execute(daemon string, o Options) (*Client, error) {
	pair, err := seqpacket.Pair()
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "channel to the checkpoint daemon")
	defer theirs.Close()
	c := newClient(pair[0], o)
	c.process = exec.Command(daemon)
	c.process.Args[0] = Program               // it may be this executable, which is the daemon by that name
	c.process.ExtraFiles = []*os.File{theirs} // becomes descriptor Channel
	c.process.Stderr = c.stderr
	// A process that it has left behind may hold its standard error open.
	c.process.WaitDelay = closeTimeout
	c.process.SysProcAttr = shared.OwnNamespaces()
	if err := c.process.Start(); err != nil {
		unix.Close(pair[0])
		return nil, fmt.Errorf("start %s in namespaces of its own: %w", daemon, userns.Explain(err))
	}
	c.pid = c.process.Process.Pid
	go func() {
		c.process.Wait()
		close(c.exited)
	}()
	go c.readReplies()
	return c, nil
}

// newClient is a client whose reader of replies has not been started.
func newClient(channel int, o Options) *Client {
	return &Client{
		channel: channel,
		pidfd:   -1,
		exited:  make(chan struct{}),
		read:    make(chan struct{}),
		stderr:  &tail{also: o.Log},
		pending: map[uint32]chan<- wire.Answer{},
		groups:  map[*Group]bool{},
	}
}

// readReplies hands replies to those who wait for them, until the channel ends. Sockets come in
// messages before the reply that they belong to, since one message does not hold them.
func (c *Client) readReplies() {
	defer close(c.read)
	defer awake.Keep()()
	given := map[uint32][]int{} // sockets that have come before their reply
	for {
		message, descriptors, err := wire.Receive(c.channel)
		if err == nil && wire.KindOf(message) == wire.SocketsKind {
			var sequence uint32
			if sequence, err = wire.Decode(message, wire.SocketsKind, &struct{}{}); err == nil {
				given[sequence] = append(given[sequence], descriptors...)
				continue
			}
		}
		a := wire.Answer{Descriptors: descriptors}
		var sequence uint32
		if err == nil {
			sequence, err = wire.Decode(message, wire.ReplyKind, &a.Response)
		}
		if err != nil {
			sys.CloseAll(descriptors)
			for _, sockets := range given {
				sys.CloseAll(sockets)
			}
			c.failAll(err)
			return
		}
		a.SocketFDs = given[sequence]
		delete(given, sequence)
		c.mu.Lock()
		if waiter := c.pending[sequence]; waiter != nil {
			delete(c.pending, sequence)
			waiter <- a // has room
		} else { // it has given up
			c.discard(a)
		}
		c.mu.Unlock()
		// to whoever has waited: it goes on in this thread, and no other has to be woken up for it
		runtime.Gosched()
	}
}

// failAll records why there are no more replies and tells everybody who waits for one. The end of
// the channel mostly is the end of the daemon, which may have written why.
func (c *Client) failAll(err error) {
	died := fmt.Errorf("%w: %w", ErrDaemonDied, err)
	if err == io.EOF {
		died = fmt.Errorf("%w: %s", ErrDaemonDied, c.exitReason())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.died = died
	for sequence, waiter := range c.pending {
		delete(c.pending, sequence)
		close(waiter)
	}
}

const (
	closeTimeout = 5 * time.Second
	// exitTimeout is how long a daemon may take to end after its channel. The kernel ends all that
	// is below it first, which can take some seconds on a busy machine.
	exitTimeout = 20 * time.Second
	// groupTimeout is how long a group may take to end, and with it its images, of which there may
	// be thousands.
	groupTimeout = time.Minute
	causeTimeout = 2 * time.Second
	// killedTimeout is how long the death of a proxy may take to follow that of a peer.
	killedTimeout = 100 * time.Millisecond
)

// exitReason says how the daemon ended, whose end of the channel is closed. It is given time to
// end.
func (c *Client) exitReason() string {
	select {
	case <-c.exited:
	case <-time.After(exitTimeout):
		return fmt.Sprintf("process %d closed its channel but lives", c.pid)
	}
	text := fmt.Sprintf("process %d has ended", c.pid) // the shared daemon knows how
	if c.process != nil {
		text = fmt.Sprintf("process %d: %v", c.pid, c.process.ProcessState)
	}
	if last := strings.TrimSpace(string(c.stderr.bytes())); last != "" {
		text += "; it wrote: " + last
	}
	return text
}

// call sends a request and waits for its reply, whose descriptors belong to the caller. The daemon
// gets somewhat less time than the caller has, so that it is the first to give up, and can say why.
func (c *Client) call(ctx context.Context, r wire.Request, descriptors []int) (wire.Answer, error) {
	if ctx.Err() != nil {
		return wire.Answer{}, fmt.Errorf("ask the checkpoint daemon to %s: %w", r.Operation,
			context.Cause(ctx))
	}
	if deadline, ok := ctx.Deadline(); ok && r.TimeoutMillis == 0 {
		left := time.Until(deadline)
		r.TimeoutMillis = max(1, (left - wire.MarginOf(left)).Milliseconds())
	}
	sequence, waiter, err := c.send(r, descriptors)
	if err != nil {
		return wire.Answer{}, err
	}
	select {
	case a, ok := <-waiter:
		if !ok {
			return wire.Answer{}, c.Err()
		}
		if err := a.AsError(); err != nil {
			a.Close() // sockets may have come before it was found that the rest cannot be sent
			return wire.Answer{}, err
		}
		return a, nil
	case <-ctx.Done():
		c.forget(sequence, waiter)
		return wire.Answer{}, fmt.Errorf("no reply from the checkpoint daemon to %s: %w\n%s", r.Operation,
			context.Cause(ctx), describeThreads(c.pid))
	}
}

// send sends a request, whose reply comes through waiter. It holds the lock for reading, so that
// the channel is not closed, and its number another file's, meanwhile.
func (c *Client) send(r wire.Request, descriptors []int) (sequence uint32, waiter chan wire.Answer,
	err error) {
	c.sending.RLock()
	defer c.sending.RUnlock()
	if sequence, waiter, err = c.expect(); err != nil {
		return 0, nil, err
	}
	message, err := wire.Encode(wire.RequestKind, sequence, r)
	if err == nil {
		// After EPIPE the reader of replies finds out what happened.
		if err = seqpacket.Send(c.channel, message, descriptors); err == nil || err == unix.EPIPE {
			return sequence, waiter, nil
		}
	}
	c.forget(sequence, waiter)
	return 0, nil, fmt.Errorf("ask the checkpoint daemon to %s: %w", r.Operation, err)
}

var errClosed = errors.New("the connection to the checkpoint daemon was closed")

// expect registers a new request, whose reply comes through waiter; that is closed when
// the daemon dies.
func (c *Client) expect() (sequence uint32, waiter chan wire.Answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, nil, errClosed
	}
	if c.died != nil {
		return 0, nil, c.died
	}
	waiter = make(chan wire.Answer, 1)
	c.sequence++
	c.pending[c.sequence] = waiter
	return c.sequence, waiter, nil
}

// forget gives up waiting for a reply, which may have come meanwhile. It may have descriptors,
// which are closed then.
func (c *Client) forget(sequence uint32, waiter <-chan wire.Answer) {
	c.mu.Lock()
	delete(c.pending, sequence)
	c.mu.Unlock()
	select {
	case a := <-waiter:
		c.discard(a)
	default:
	}
}

// Err returns ErrDaemonDied with the circumstances once the daemon has died, else nil.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.died
}

// Start starts a group in fresh namespaces and waits until its peers are ready, at most
// g.ReadyTimeout. The error names the peer that failed and holds the end of its output. It is
// closed again where it does not become ready, and its output was read by then.
func (c *Client) Start(ctx context.Context, g peers.Group) (*Group, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := checkUsers(g); err != nil {
		return nil, err
	}
	if g.Chosen() && c.noShim != nil {
		return nil, fmt.Errorf("the behaviour of a peer cannot be chosen: %w", c.noShim)
	}
	g, err := prepare(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("start the peer group: %w", err)
	}
	group, err := c.launch(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("start the peer group: %w", err)
	}
	timeout := g.ReadyTimeout
	if timeout == 0 {
		timeout = peers.DefaultReadyTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := group.ready(ctx); err != nil {
		err = errors.Join(err, group.Close())
		return nil, fmt.Errorf("start the peer group: %w%s", err, group.lastWords())
	}
	return group, nil
}

// Close ends the daemon and with it all groups; it returns when all of their processes
// are gone. Closing again does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	// From now on no group is added: see keep.
	groups := c.groups
	c.groups = nil
	c.mu.Unlock()
	// The daemon takes the end of the channel as its own end; the kernel kills all that
	// lives in its pid namespace before the daemon counts as dead.
	unix.Shutdown(c.channel, unix.SHUT_RDWR)
	select {
	case <-c.exited:
	case <-time.After(closeTimeout):
		c.kill()
		<-c.exited
	}
	// It has told all that wait why there are no more replies.
	<-c.read
	c.sending.Lock() // by now nobody waits with it
	unix.Close(c.channel)
	c.sending.Unlock()
	if c.pidfd >= 0 {
		unix.Close(c.pidfd)
	}
	for g := range groups {
		g.release()
	}
	if c.wakeups != nil {
		return c.wakeups.Close()
	}
	return nil
}

// kill kills the daemon, which has not ended although its channel was closed.
func (c *Client) kill() {
	if c.process != nil {
		c.process.Process.Kill()
	} else {
		unix.PidfdSendSignal(c.pidfd, unix.SIGKILL, nil, 0) // its failure means that it has ended
	}
}

// openWakeups has wake-ups counted, if a way to judge quiescence wants or allows it. Where the
// choice is free, a kernel that does not allow it is no error, and told by Quiescence.
func (c *Client) openWakeups(method string) (err error) {
	switch method {
	case watch.MethodProcfs:
	case "", QuiescenceAuto:
		c.wakeups, c.noWakeups = watch.OpenWakeups()
	case watch.MethodEBPF:
		c.wakeups, err = watch.OpenWakeups()
	default:
		err = fmt.Errorf("there is no way %.64q to judge quiescence: choose %s, %s or %s", method,
			QuiescenceAuto, watch.MethodProcfs, watch.MethodEBPF)
	}
	return err
}

// Quiescence is how it is told that groups are quiescent: watch.MethodProcfs or MethodEBPF. An
// error says why it is the first, where that was not asked for.
func (c *Client) Quiescence() (method string, why error) {
	if c.wakeups == nil {
		return watch.MethodProcfs, c.noWakeups
	}
	return watch.MethodEBPF, nil
}

// Status asks the daemon for what it has for this client.
func (c *Client) Status(ctx context.Context) (Status, error) {
	a, err := c.call(ctx, wire.Request{Operation: wire.OpStatus}, nil)
	if err != nil {
		return Status{}, err
	}
	var s Status
	return s, wire.ReadStatus(a.Descriptors, &s)
}
