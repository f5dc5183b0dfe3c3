package ckptd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// A group from the checker's side. The daemon has its processes and images; here is what the
// checker needs to talk to the peers: the channel of the proxy, the watch that tells when they are
// quiescent, what they write, and what they read that differs from run to run. All but the outputs
// and the counters is another one after each restore.
//
// Errors say who has died, where somebody has. A death shows in several places, and not at once in
// all of them: see because.

// Group is a running group of peers. It is safe for concurrent use; Quiesce, Checkpoint,
// Restore and Drop run one at a time.
//
// Two locks: an operation may take long, and is held by one caller at a time; what it changes in
// contact is read by others, such as the callback of a proxy's client that finds out why it is
// gone.
type Group struct {
	client    *Client
	id        uint64
	processes []peers.Process

	counters *shim.Counters
	outputs  []*output // of the proxy, and then of each peer

	operation sync.Mutex  // held during an operation, guards what follows
	ticks     watch.Ticks // of all incarnations
	// Since the group was saved or restored last:
	disturbed    bool // see TakeDisturbed
	steps        int  // how often it was quiescent
	unrepeatable bool // whether its peers have read what they may not read again

	timers savedTimers

	mu      sync.Mutex // guards contact and closed
	contact contact
	closed  bool
}

// contact is what the checker has of a group that changes with every restore. Each incarnation has
// its channel and its processes, so none of this outlives it.
type contact struct {
	number int // of restores before it
	pid    int
	proxy  *proxy.Client
	watch  *watch.Watch
}

// ofIncarnation is how many descriptors the daemon gives of every incarnation: a pidfd of the
// proxy, its command channel, and a sock_diag socket in its network. What only some answers have
// comes behind them.
const ofIncarnation = 3

// adopt takes over the descriptors of a new incarnation: a pidfd, its channel, a sock_diag socket,
// and pidfds of its peers, which may be missing. The old contact is released when the new one is
// complete: an error leaves the group as it was, and the next operation finds out more.
func (g *Group) adopt(descriptors []int) error {
	pidfd, channel, diag, peerFDs := descriptors[0], descriptors[1], descriptors[2], descriptors[3:]
	defer unix.Close(pidfd)
	defer sys.CloseAll(peerFDs)
	file := os.NewFile(uintptr(channel), "command channel of a peer group")
	pid, err := pidOf(pidfd)
	if err != nil {
		file.Close()
		unix.Close(diag)
		return g.because(err)
	}
	next := contact{number: g.current().number + 1, pid: pid}
	if next.proxy, err = proxy.NewClient(file, func() error { return g.whyGone(next.number) }); err != nil {
		unix.Close(diag)
		return err
	}
	// Pids on the machine are other ones in each incarnation.
	processes := slices.Clone(g.processes)
	for i, fd := range peerFDs {
		if processes[i].Host, err = pidOf(fd); err != nil {
			next.proxy.Disconnect()
			unix.Close(diag)
			return g.because(err)
		}
	}
	if next.watch, err = watch.NewWith(pid, diag, processes); err != nil {
		next.proxy.Disconnect()
		return g.because(err)
	}
	next.watch.ShareTicks(g.ticks)
	if g.client.wakeups != nil {
		if err := next.watch.Count(g.client.wakeups); err != nil {
			next.release()
			return g.because(err)
		}
	}
	g.mu.Lock()
	old := g.contact
	g.contact = next
	g.mu.Unlock()
	old.release()
	return nil
}

// release closes the channel and the watch. The descriptors of sockets are the caller's.
func (i contact) release() {
	if i.proxy != nil {
		i.proxy.Disconnect()
		i.watch.Close()
	}
}

// current is the contact with the incarnation that runs, as of now.
func (g *Group) current() contact {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.contact
}

// PID is the pid of the group's pid 1, the proxy, as this process sees it.
// A restore may change it.
func (g *Group) PID() int { return g.current().pid }

// Proxy is the command channel to the group's proxy. A restore makes another one, which
// replaces this one; the sockets keep their ids. It is nil once the group is closed.
func (g *Group) Proxy() *proxy.Client { return g.current().proxy }

// ready waits for the peers to be ready.
func (g *Group) ready(ctx context.Context) error {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch() // there is none if the client was closed meanwhile
	if err != nil {
		return err
	}
	return g.because(w.Ready(ctx))
}

// Quiesce waits until every thread of the peers waits for input and there is none under
// way: see watch.Watch.Quiesce, also about drain.
func (g *Group) Quiesce(ctx context.Context, drain func() (progress bool, err error)) error {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return err
	}
	g.steps++
	set := w.Timers()
	err = w.Quiesce(ctx, drain)
	g.noteDisturbed(set, -1)
	return g.because(err)
}

// ResetEffort returns what it has taken to find out whether the group is quiescent, since it
// was last called or the last restore.
func (g *Group) ResetEffort() watch.Effort {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return watch.Effort{}
	}
	return w.ResetEffort()
}

// StartClient starts a client, by its index, which must neither run nor have ended since the group
// was started or restored.
func (g *Group) StartClient(ctx context.Context, peer int) error {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return err
	}
	g.outputs[0].take() // then what is there afterwards is about this start
	if err := g.current().proxy.Start(ctx, peer); err != nil {
		err = g.because(err)
		if why := bytes.TrimSpace(g.outputs[0].take()); len(why) > 0 {
			err = fmt.Errorf("%w: %s", err, why)
		}
		return fmt.Errorf("start %s: %w", g.processes[peer].Name, err)
	}
	return g.because(w.Started())
}

// Ended lists the clients that have ended, in their order. After a restore, one that had ended at
// the checkpoint may be missing.
func (g *Group) Ended() ([]watch.Ending, error) {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return nil, err
	}
	ended, err := w.Ended()
	return ended, g.because(err)
}

// watch is the watch of the incarnation that runs, or an error once the group was closed. It does
// not change while the operation is held.
func (g *Group) watch() (*watch.Watch, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fmt.Errorf("%w: it was closed", ErrGroupDown)
	}
	return g.contact.watch, nil
}

// Checkpoint saves the state of the group, which goes on. The group must be quiescent, with the
// checker's own descriptors drained; ErrNotQuiescent says that it is not, and changes nothing. So
// does ErrUnsavable: the group is quiescent, but connections that nobody has accepted, or data that
// nobody has read, cannot be saved. After ErrNotStored the group may go on or be down: see Check.
// Other errors mean that it is down: see Restore.
//
// The daemon looks once more when the peers stand still. A group that has died while it was saved
// has no image: it might be that of a dying one.
func (g *Group) Checkpoint(ctx context.Context) (Image, error) {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return Image{}, err
	}
	if err := w.Check(); err != nil {
		return Image{}, g.because(err)
	}
	// CRIU loses data and connections that are under way, and says nothing.
	busy, waiting, err := w.InFlight()
	if err != nil {
		return Image{}, err
	}
	if busy != "" {
		if died := dying(w); died != nil {
			return Image{}, g.because(died)
		}
		return Image{}, fmt.Errorf("%w: %s", ErrNotQuiescent, busy)
	}
	if waiting != "" {
		return Image{}, fmt.Errorf("%w: %s", ErrUnsavable, waiting)
	}
	// As of now, before the daemon takes its time.
	saved := w.Save()
	a, err := g.client.call(ctx, wire.Request{Operation: wire.OpCheckpoint, Group: g.id, Steps: g.steps,
		Unrepeatable: g.unrepeatable}, nil)
	if err != nil {
		g.steps, g.unrepeatable = 0, false
		died := w.Check()
		if !errors.Is(err, ErrNotStored) {
			died = dying(w)
		}
		if died != nil { // which explains it
			err = fmt.Errorf("%w; %w", g.because(died), err)
		}
		return Image{}, err
	}
	if died := w.Check(); died != nil { // perhaps it was dead already when it was saved
		g.steps, g.unrepeatable = 0, false
		// unless it has ended, too
		_, _ = g.client.call(ctx, wire.Request{Operation: wire.OpDrop, Group: g.id, Image: a.Image}, nil)
		return Image{}, fmt.Errorf("%w; the group died as it was saved", g.because(died))
	}
	g.timers.keep(a.Image, saved)
	g.client.forgetTimers(a.Dropped)
	return Image{ID: a.Image, Bytes: a.Bytes, Took: time.Duration(a.Micros) * time.Microsecond,
		Dropped: a.Dropped, Backend: a.Backend, Refusal: a.Refusal}, nil
}

// dying tells whether a peer has ended, or is about to be known to have: its connections end first.
// A connection that ends looks like something under way: with a peer that dies that is no reason to
// wait.
func dying(w *watch.Watch) error {
	const attempts, pause = 50, 2 * time.Millisecond
	for range attempts {
		if died := w.Check(); died != nil {
			return died
		}
		time.Sleep(pause)
	}
	return nil
}

// Restore ends the group as it is, if it still runs, and puts it back to the image.
// With ErrImageGone (the image was dropped, or is damaged, or has ended with the processes
// that held it) nothing has changed; after other errors the group is down, or will
// be if ctx ended first, and another Restore may be tried.
func (g *Group) Restore(ctx context.Context, imageID string) error {
	g.operation.Lock()
	defer g.operation.Unlock()
	if _, err := g.watch(); err != nil {
		return err
	}
	a, err := g.client.call(ctx, wire.Request{Operation: wire.OpRestore, Group: g.id, Image: imageID}, nil)
	if err != nil {
		return err
	}
	g.steps, g.unrepeatable = 0, false
	n, most := len(a.Descriptors), ofIncarnation+len(g.processes)
	if n != ofIncarnation && n != most || len(a.SocketFDs) != len(a.Sockets) {
		a.Close()
		return fmt.Errorf(
			"the checkpoint daemon gave %d of %d descriptors, and %d of %d sockets, for a restored group",
			n, most, len(a.SocketFDs), len(a.Sockets))
	}
	g.Written() // by what has ended
	if err := g.adopt(a.Descriptors); err != nil {
		sys.CloseAll(a.SocketFDs)
		return err
	}
	for n, id := range a.Sockets {
		g.Proxy().Know(id, a.SocketFDs[n])
	}
	w, err := g.watch()
	if err == nil {
		w.Restored(g.timers.of(imageID))
	}
	return err
}

// Drop removes an image from the store.
func (g *Group) Drop(ctx context.Context, imageID string) error {
	g.operation.Lock()
	defer g.operation.Unlock()
	g.timers.forget(imageID)
	_, err := g.client.call(ctx, wire.Request{Operation: wire.OpDrop, Group: g.id, Image: imageID}, nil)
	return err
}

// Close ends the group and drops its images. Closing again does nothing. Errors of a daemon that
// has ended do not count: the group has ended with it.
func (g *Group) Close() error {
	g.mu.Lock()
	closed := g.closed
	g.closed = true
	g.mu.Unlock()
	if closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	_, err := g.client.call(ctx, wire.Request{Operation: wire.OpClose, Group: g.id}, nil)
	g.release() // after an operation that is under way has seen the group end
	g.client.mu.Lock()
	defer g.client.mu.Unlock()
	delete(g.client.groups, g)
	if g.client.closed || errors.Is(err, ErrDaemonDied) {
		return nil // then the group is gone, too
	}
	return err
}

// release lets go of a group that has ended. What the peers wrote last is read before, for the
// errors that quote it.
func (g *Group) release() {
	patience, cancel := context.WithTimeout(context.Background(), causeTimeout)
	defer cancel()
	for _, o := range g.outputs {
		select {
		case <-o.ended: // the rest of it was read
		case <-patience.Done():
		}
	}
	g.operation.Lock()
	defer g.operation.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.counters != nil {
		g.counters.Close()
		g.counters = nil
	}
	g.contact.release()
	g.contact = contact{}
}

// because adds to an error that says who died why that was. When a proxy or the daemon is killed
// the kernel kills what is below, and those deaths may be seen first. The daemon knows, but may
// learn of it a moment later.
func (g *Group) because(err error) error {
	var died *watch.Died
	patience := causeTimeout
	switch {
	// The kernel kills peers with that when their namespace ends.
	case errors.As(err, &died) && died.Status.Signal() == unix.SIGKILL:
		patience = killedTimeout
	case !errors.Is(err, proxy.ErrDied):
		return err
	}
	cause := g.cause(patience)
	switch {
	case cause == nil:
		return err
	case died != nil:
		return fmt.Errorf("%w: %w", proxy.ErrDied, cause)
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// whyGone is cause for the incarnation with this number, which may be an older one.
func (g *Group) whyGone(number int) error {
	if g.current().number != number {
		return errors.New("the group was restored since: use the channel that its Proxy method returns now")
	}
	return g.cause(causeTimeout)
}

// cause asks the daemon, if that lives, why the group is down, and gives it some time to
// go down. Nil means that it is up.
func (g *Group) cause(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience+closeTimeout)
	defer cancel()
	_, err := g.client.call(ctx, wire.Request{Operation: wire.OpCause, Group: g.id,
		TimeoutMillis: patience.Milliseconds()}, nil)
	return err
}

// Check returns nil while the daemon, the proxy and all peers of the group live, else an
// error that names what has died. It is for callers that have no business with the
// group for a while, and costs some microseconds.
func (g *Group) Check() error {
	if err := g.client.Err(); err != nil {
		return err
	}
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return err
	}
	return g.because(w.Check())
}

// Written is what each peer has written to its standard output and error since the last
// call of this method, or the last restore: the end of it, at most 64 KiB each.
func (g *Group) Written() []string {
	texts := make([]string, len(g.processes))
	for i := range texts {
		texts[i] = string(g.outputs[1+i].take())
	}
	return texts
}

// Output is the end of what the peers, and the proxy, wrote to their standard output and
// error, at most 64 KiB each, one after the other. A restore does not take it back.
func (g *Group) Output() []byte {
	var text []byte
	for _, o := range g.outputs {
		text = append(text, o.all.bytes()...)
	}
	return text
}

// lastWords is the output of a group that has been closed, as a part of an error text. Of a group
// that did not start it is all that there is to go by.
func (g *Group) lastWords() string {
	var text strings.Builder
	for i, o := range g.outputs {
		name := "the proxy"
		if i > 0 {
			name = g.processes[i-1].Name
		}
		if wrote := strings.TrimSpace(string(o.all.bytes())); wrote != "" {
			fmt.Fprintf(&text, "\n%s wrote:\n%s", name, wrote)
		}
	}
	if text.Len() == 0 {
		return "\nthe peers wrote nothing"
	}
	return text.String()
}
