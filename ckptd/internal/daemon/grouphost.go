package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/ckptd/internal/memory"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/reaper"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// groupHost is a group as the daemon has it: at most one incarnation of it runs at a time.
type groupHost struct {
	daemon    *daemon
	id        uint64
	directory string // becomes /run of the group
	mounts    []proxy.Mount
	views     []string        // read-only mounts of the daemon for this group
	base      *store.FileNode // files of the image that was taken or restored last; nil: none
	from      *store.Image    // that image, which may be gone; nil: there was none
	names     []string        // of the peers
	done      counters

	mu       sync.Mutex
	network  *os.File      // namespace of the incarnation
	process  *reaper.Child // pid 1 of the incarnation, the proxy; nil while none was started
	down     error         // why none runs, where that is known better than from process
	outputs  []*os.File    // write ends of pipes: what the proxy writes, and then each peer
	counters *os.File      // in which the peers' shim counts what they read

	channelInode uint64 // of the proxy's end of the command channel
	channel      int    // the checker's end of it, a copy, for visits; -1: there is none

	criu    *criu.Group
	memory  *memory.Group // nil where every group is saved by CRIU
	refusal error         // why the memory backend does not hold the group
	parked  *parked       // holds the copies once CRIU has brought back another incarnation

	innerPeers []int        // pids of the peers in the group's pid namespace
	clients    map[int]bool // which of them may be absent
	peers      []int        // of those that live, and as the daemon sees them; nil: not looked for
	stamps     store.Stamps // of its files; nil: none
}

// start starts the first incarnation. The descriptors are to be closed once handed over.
func (h *groupHost) start(ctx context.Context, g peers.Group) (pids []int, descriptors []int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g = g.In(paths.Scratch)
	if err := h.layOut(g); err != nil {
		return nil, nil, err
	}
	read, err := h.makeOutputs(len(g.Peers))
	defer sys.CloseAll(read)
	if err != nil {
		return nil, nil, err
	}
	channel, err := h.fork()
	if err != nil {
		return nil, nil, err
	}
	pids, err = proxy.ReceiveHello(ctx, channel)
	if errors.Is(err, proxy.ErrDied) { // which the checker is not told as such
		err = fmt.Errorf("%w: %w", wire.ErrGroupDown, err)
	}
	if err == nil && len(pids) != len(g.Peers) {
		err = fmt.Errorf("the proxy has started %d peers, not %d", len(pids), len(g.Peers))
	}
	if err == nil {
		h.innerPeers, h.clients = pids, clientsOf(g, pids)
		descriptors, err = h.handOver(channel, append([]int{int(h.counters.Fd())}, read...)...)
	}
	if err != nil {
		unix.Close(channel)
		return nil, nil, withOutput(err, read)
	}
	return pids, descriptors, nil
}

// makeOutputs makes the pipes for what a number of peers and the proxy write. It returns
// the ends to read from, which do not block; the caller closes them.
func (h *groupHost) makeOutputs(peers int) (read []int, err error) {
	for range 1 + peers {
		var pair [2]int
		if err := unix.Pipe2(pair[:], unix.O_CLOEXEC); err != nil {
			return read, fmt.Errorf("make a pipe for the output of a peer: %w", err)
		}
		read = append(read, pair[0])
		h.outputs = append(h.outputs, os.NewFile(uintptr(pair[1]), "output of a peer"))
		if err := unix.SetNonblock(pair[0], true); err != nil {
			return read, err
		}
	}
	return read, nil
}

// withOutput adds to err what the group has written.
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

// fork starts the proxy and returns the checker's end of its channel.
func (h *groupHost) fork() (int, error) {
	n, err := h.daemon.newNext(nil)
	if err != nil {
		return -1, err
	}
	checker, group := n.Checker, n.Group
	if err := h.enter(n); err != nil {
		sys.CloseAll([]int{checker, group})
		return -1, err
	}
	defer unix.Close(group)
	null, err := os.Open(os.DevNull)
	if err != nil {
		unix.Close(checker)
		return -1, err
	}
	defer null.Close()
	config := filepath.Join(h.directory, paths.ProxyDirectory, "config.json")
	attributes := &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1"}, // fewer threads, smaller images
		Files: []uintptr{null.Fd(), h.outputs[0].Fd(), h.outputs[0].Fd(), uintptr(group)},
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		},
	}
	for _, output := range h.outputs[1:] {
		attributes.Files = append(attributes.Files, output.Fd()) // firstOutput and so on
	}
	h.process, err = h.daemon.reaper.Start(h.network, func() (int, error) {
		return syscall.ForkExec(paths.ProxyFile, []string{paths.ProxyFile, proxy.StageMount, config},
			attributes)
	})
	if err != nil {
		unix.Close(checker)
		return -1, fmt.Errorf("start the proxy of a group in namespaces of its own: %w", err)
	}
	return checker, nil
}

// livePeers are the pids of the peers, as the daemon sees them.
func (h *groupHost) livePeers() ([]int, error) {
	if h.peers != nil && len(h.clients) == 0 { // those come and go
		return h.peers, nil
	}
	byInner, copies := map[int]int{}, map[int]bool{}
	for _, pid := range h.daemon.store.Copies(h.id) {
		copies[pid] = true
	}
	children, err := procfs.AllChildren(h.process.PID)
	if err != nil {
		return nil, fmt.Errorf("look for the peers of group %d: %w", h.id, err)
	}
	for _, pid := range children {
		if copies[pid] {
			continue
		}
		if inner, err := procfs.InnerPID(pid); err == nil { // else it has ended since
			byInner[inner] = pid
		}
	}
	var all []int
	for _, inner := range h.innerPeers {
		pid, ok := byInner[inner]
		if h.clients[inner] && (!ok || procfs.HasEnded(pid)) {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("peer process %d of group %d is gone", inner, h.id)
		}
		all = append(all, pid)
	}
	h.peers = all
	return all, nil
}

// clientsOf are the pids of those peers that are clients.
func clientsOf(g peers.Group, pids []int) map[int]bool {
	clients := map[int]bool{}
	for i, p := range g.Peers {
		if p.IsClient() {
			clients[pids[i]] = true
		}
	}
	return clients
}

// cause says why no incarnation runs, nil if one does.
func (h *groupHost) cause() error {
	switch {
	case h.down != nil:
		return h.down
	case h.process == nil:
		return fmt.Errorf("%w: it was not started", wire.ErrGroupDown)
	case !h.process.Ended():
		return nil
	}
	status := h.process.Status
	how := fmt.Sprintf("exited with status %d", status.ExitStatus())
	if status.Signaled() {
		how = fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
	}
	return fmt.Errorf("%w: its proxy (pid 1 of group %d) %s", wire.ErrGroupDown, h.id, how)
}

// awaitEnd waits for the incarnation to end and says why it did; nil if ctx ends before.
func (h *groupHost) awaitEnd(ctx context.Context) error {
	h.mu.Lock()
	process := h.process
	h.mu.Unlock()
	if process != nil {
		select {
		case <-process.Done:
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause()
}

// fail ends an incarnation that CRIU may have left in any state.
func (h *groupHost) fail(err error) {
	h.kill()
	h.down = fmt.Errorf("%w: %w", wire.ErrGroupDown, err)
}

// kill ends the incarnation and every process in its network, half-restored ones too.
func (h *groupHost) kill() {
	if h.process != nil {
		h.process.Signal() // and with it its pid namespace
		if h.parked == nil {
			h.forgetCopies()
		}
		h.process.Kill()
	}
	h.peers = nil
	if h.network == nil {
		return
	}
	if err := h.killNetwork(); err != nil {
		panic(fmt.Sprintf("ckptd: group %d cannot be ended: %v", h.id, err))
	}
}

func (h *groupHost) killNetwork() error {
	number, err := sys.Inode(int(h.network.Fd()))
	if err != nil {
		return err
	}
	return netns.KillAll(number, 0)
}

// forgetCopies lets go of images that end with the incarnation.
func (h *groupHost) forgetCopies() {
	if h.memory == nil || !h.memory.Close() {
		return
	}
	if err := h.daemon.store.RemoveMemory(h.id); err != nil {
		fmt.Fprintln(os.Stderr, "tandem-ckptd: remove images of a group that has ended:", err)
	}
}

// close ends the group for good.
func (h *groupHost) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kill()
	h.unpark()
	h.kill()
	h.down = fmt.Errorf("%w: it was closed", wire.ErrGroupDown)
	if h.channel >= 0 {
		unix.Close(h.channel)
		h.channel = -1
	}
	if h.network != nil {
		h.network.Close()
		h.network = nil
	}
	for _, output := range h.outputs {
		output.Close()
	}
	if h.counters != nil {
		h.counters.Close()
	}
	for _, place := range h.views {
		if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", place, err) // and remove nothing below it
		}
	}
	h.views = nil
	return errors.Join(h.daemon.store.RemoveGroup(h.id), os.RemoveAll(h.directory))
}
