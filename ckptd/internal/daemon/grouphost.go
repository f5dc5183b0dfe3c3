package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// The checker knows a group by its id. Requests about it come here: start, checkpoint, restore,
// close. Each takes the lock of the group and then goes through the parts of it that are concerned,
// in the order in which the file of the operation shows them.

// groupHost is a group as the daemon has it. Its operations run one at a time: each of them holds
// the lock from beginning to end, but for awaitEnd and status.
//
// Its parts are types of their own: layout is what the group sees of files, runs what is alive,
// files what goes back, and saves how.
type groupHost struct {
	id     uint64
	names  []string // of the peers
	verify bool     // restored groups are compared with their images
	done   counters

	mu     sync.Mutex
	layout layout
	runs   *incarnationHost
	files  *groupFiles
	saves  *backends
	from   *store.Image // that was saved or restored last, and may be gone; nil: there was none
}

// start starts the first incarnation. The descriptors are to be closed once handed over.
//
// What was made before an error stays until the group is closed, which the caller does: then the
// output that says why can still be read.
func (h *groupHost) start(ctx context.Context, g peers.Group) (pids []int, descriptors []int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g = g.In(paths.Scratch)
	if err := h.layout.make(g); err != nil {
		return nil, nil, err
	}
	read, err := h.runs.makeOutputs(len(g.Peers))
	defer sys.CloseAll(read)
	if err != nil {
		return nil, nil, err
	}
	channel, err := h.runs.fork(h.layout.directory)
	if err != nil {
		return nil, nil, err
	}
	// The proxy says which pids the peers have in its namespace once all of them are started.
	pids, err = proxy.ReceiveHello(ctx, channel)
	if errors.Is(err, proxy.ErrDied) { // which the checker is not told as such
		err = fmt.Errorf("%w: %w", wire.ErrGroupDown, err)
	}
	if err == nil && len(pids) != len(g.Peers) {
		err = fmt.Errorf("the proxy has started %d peers, not %d", len(pids), len(g.Peers))
	}
	if err == nil {
		h.runs.know(g, pids)
		given := append([]int{int(h.layout.counters.Fd())}, read...)
		descriptors, err = h.runs.handOver(channel, given...)
	}
	if err != nil {
		unix.Close(channel)
		return nil, nil, withOutput(err, read)
	}
	return pids, descriptors, nil
}

// withOutput adds to err what the group has written: it says most of why a start has failed.
func withOutput(err error, outputs []int) error {
	const most = 4 << 10
	b := make([]byte, most)
	for _, fd := range outputs {
		n, _ := unix.Read(fd, b)
		if text := bytes.TrimSpace(b[:max(n, 0)]); len(text) > 0 {
			err = fmt.Errorf("%w; output: %s", err, text)
		}
	}
	return err
}

// incarnation is the one that runs, or has run last.
func (h *groupHost) incarnation() *incarnation.Incarnation { return h.runs.current(h.layout.mounts) }

// awaitEnd waits for the incarnation to end and says why it did; nil if ctx ends before. It does
// not hold the lock meanwhile, so that the group can be used.
func (h *groupHost) awaitEnd(ctx context.Context) error {
	h.mu.Lock()
	process := h.runs.process
	h.mu.Unlock()
	if process != nil {
		select {
		case <-process.Done:
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs.cause()
}

// status does not wait for an operation that is under way. While one is, the state is that the
// group is at work, and all that the lock guards is left out.
func (h *groupHost) status() wire.GroupStatus {
	s := wire.GroupStatus{ID: h.id, Peers: h.names, State: "at work", Images: []wire.ImageStatus{}}
	if h.mu.TryLock() {
		s.State = "runs"
		if err := h.runs.cause(); err != nil {
			s.State = err.Error()
		}
		if h.saves.refusal != nil {
			s.Refusal = h.saves.refusal.Error()
		}
		h.mu.Unlock()
	}
	s.Checkpoints, s.Restores = h.done.get()
	return s
}

// close ends the group for good: first what runs, then what it is mounted from. What cannot be
// unmounted is left as it is, and ends with the daemon.
func (h *groupHost) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs.close()
	if err := h.layout.close(); err != nil {
		return err // and remove nothing below what is mounted
	}
	return errors.Join(h.files.store.RemoveGroup(h.id), h.layout.remove())
}
