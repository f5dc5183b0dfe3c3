package ckptd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Where a group finds its own things. The same for every group: each has its own /run.
const (
	runDirectory     = "/run"
	scratchDirectory = peers.ScratchDirectory
	proxyDirectory   = ".proxy" // in /run, no part of a checkpoint
	hostname         = "tandem"
)

// hosted is a group as the daemon has it: at most one incarnation of it runs at a time.
type hosted struct {
	daemon    *daemon
	id        uint64
	directory string // becomes /run of the group
	mounts    []proxy.Mount
	views     []string  // read-only mounts of the daemon for this group
	base      *fileNode // files of the image that was taken or restored last; nil: none
	from      *image    // that image, which may be gone; nil: there was none
	names     []string  // of the peers
	done      counters

	mu      sync.Mutex
	network *os.File   // namespace of the incarnation
	process *child     // pid 1 of the incarnation, the proxy; nil while none was started
	down    error      // why none runs, where that is known better than from process
	outputs []*os.File // write ends of pipes: what the proxy writes, and then each peer
	page    *os.File   // in which the peers' shim counts what they read

	channelInode uint64 // of the proxy's end of the command channel
	channel      int    // the checker's end of it, a copy, for visits; -1: there is none

	criu      *criuGroup
	memory    *memoryGroup // nil where every group is saved by CRIU
	refusal   error        // why the memory backend does not hold the group
	restoring restore      // while one is under way
	parked    *parked      // holds the copies once CRIU has brought back another incarnation

	innerPeers []int        // pids of the peers in the group's pid namespace
	clients    map[int]bool // which of them may be absent
	peers      []int        // of those that live, and as the daemon sees them; nil: not looked for
	stamps     stamps       // of its files; nil: none
}

// start starts the first incarnation. The descriptors are to be closed once handed over.
func (h *hosted) start(ctx context.Context, g peers.Group) (pids []int, descriptors []int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g = g.In(scratchDirectory)
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
		err = fmt.Errorf("%w: %w", ErrGroupDown, err)
	}
	if err == nil && len(pids) != len(g.Peers) {
		err = fmt.Errorf("the proxy has started %d peers, not %d", len(pids), len(g.Peers))
	}
	if err == nil {
		h.innerPeers, h.clients = pids, clientsOf(g, pids)
		descriptors, err = h.handOver(channel, append([]int{int(h.page.Fd())}, read...)...)
	}
	if err != nil {
		unix.Close(channel)
		return nil, nil, withOutput(err, read)
	}
	return pids, descriptors, nil
}

// makeOutputs makes the pipes for what a number of peers and the proxy write. It returns
// the ends to read from, which do not block; the caller closes them.
func (h *hosted) makeOutputs(peers int) (read []int, err error) {
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
func (h *hosted) fork() (int, error) {
	n, err := h.daemon.newNext(nil)
	if err != nil {
		return -1, err
	}
	checker, group := n.checker, n.group
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
	config := filepath.Join(h.directory, proxyDirectory, "config.json")
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
	h.process, err = h.daemon.reaper.start(h.network, func() (int, error) {
		return syscall.ForkExec(proxyFile, []string{proxyFile, proxy.StageMount, config}, attributes)
	})
	if err != nil {
		unix.Close(checker)
		return -1, fmt.Errorf("start the proxy of a group in namespaces of its own: %w", err)
	}
	return checker, nil
}

// handOver returns the descriptors that the checker gets: a pidfd of the incarnation, its
// channel, which is taken over, and copies of others.
func (h *hosted) handOver(channel int, others ...int) ([]int, error) {
	pidfd, err := unix.PidfdOpen(h.process.pid, 0)
	if err != nil {
		return nil, fmt.Errorf("the group did not live to be handed over: %w", err)
	}
	descriptors := []int{pidfd, channel}
	for _, fd := range others {
		duplicate, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			descriptors[1] = pidfd // the caller closes the channel
			sys.CloseAll(descriptors[1:])
			return nil, err
		}
		descriptors = append(descriptors, duplicate)
	}
	return descriptors, nil
}

// withSockets adds descriptors of sockets, which are taken over, to those for the checker, in the
// order of the ids that it returns. Those for which one message has no room the checker asks for.
func (h *hosted) withSockets(descriptors []int, sockets map[proxy.ID]int) (all []int, ids []proxy.ID) {
	all = descriptors
	most := maxDescriptors - len(h.innerPeers)
	for _, id := range slices.Sorted(maps.Keys(sockets)) {
		if len(all) >= most {
			unix.Close(sockets[id])
			continue
		}
		all, ids = append(all, sockets[id]), append(ids, id)
	}
	return all, ids
}

// withPeers adds pidfds of the peers, where they are known, to descriptors for the checker.
func (h *hosted) withPeers(descriptors []int) []int {
	all := descriptors
	if len(h.peers) != len(h.innerPeers) {
		return all
	}
	for _, pid := range h.peers {
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil { // then the checker looks for them, and finds out more
			sys.CloseAll(all[len(descriptors):])
			return descriptors
		}
		all = append(all, pidfd)
	}
	return all
}

// restored is what the checker gets of a group that was brought back.
type restored struct {
	descriptors []int      // a pidfd, the channel, sockets, and pidfds of the peers where they are known
	sockets     []proxy.ID // whose descriptors are among them, in this order
}

// restore ends the running incarnation, if any, and starts one from the image.
func (h *hosted) restore(ctx context.Context, id string) (r restored, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := h.daemon.store.use(h.id, id)
	if err != nil {
		return r, err
	}
	defer h.daemon.store.release(i)
	if home := h.home(); i.saved.inMemory() && (home == nil || home.ended() || !i.saved.alive()) {
		return r, fmt.Errorf("%w: group %d, image %s ended with the processes that held it", ErrImageGone, h.id, i.id)
	}
	s, err := h.bringBack(ctx, i)
	if damage := (damaged{}); errors.As(err, &damage) { // and nothing has changed
		err = fmt.Errorf("%w: group %d, image %s is damaged: %w", ErrImageGone, h.id, i.id, textOf(damage))
		return r, errors.Join(err, h.daemon.store.remove(i))
	}
	if err == nil {
		err = h.takeOver(s)
	}
	if err == nil {
		if r.descriptors, err = h.handOver(s.next.checker); err != nil {
			unix.Close(s.next.checker)
		}
	}
	if err != nil {
		if s != nil {
			sys.CloseAll(slices.Collect(maps.Values(s.sockets)))
		}
		h.fail(fmt.Errorf("restore of image %s: %w", id, err))
		return r, h.orGone(i, h.down)
	}
	r.descriptors, r.sockets = h.withSockets(r.descriptors, s.sockets)
	if h.daemon.verify {
		if err := h.verify(ctx, i); err != nil {
			sys.CloseAll(r.descriptors)
			h.fail(err)
			return restored{}, h.down
		}
	}
	h.down, h.from = nil, i
	h.daemon.store.restored(i)
	r.descriptors = h.withPeers(r.descriptors)
	return r, nil
}

// damaged says what of an image is not as it was written.
type damaged struct{ error }

// bringBack ends what runs, puts back the files, and starts the image. Where that is damaged, nothing
// has changed. While files are looked at and put back CRIU reads its part of the image.
func (h *hosted) bringBack(ctx context.Context, i *image) (*started, error) {
	by := backend(h.criu)
	if i.saved.inMemory() {
		by = h.memory
	}
	r, err := by.prepare(ctx, h.incarnation(), i.saved, i.pages())
	if err != nil {
		return nil, errors.Join(err, h.damage(i))
	}
	h.restoring = r
	defer func() { h.restoring = nil }()
	if err := h.damage(i); err != nil {
		r.abort()
		return nil, err
	}
	if err := h.stop(i, r); err != nil {
		h.abort()
		return nil, fmt.Errorf("end the peers: %w", err)
	}
	h.down = fmt.Errorf("%w: a restore of %s was not completed", ErrGroupDown, i.id)
	if err := h.putBackFiles(i); err != nil {
		h.abort()
		return nil, fmt.Errorf("put back the files: %w", err)
	}
	h.base = i.tree
	return r.start()
}

// stop ends the incarnation that runs. When CRIU brings back another one, that with the copies is
// parked; when they are wanted, it goes on.
func (h *hosted) stop(i *image, r restore) error {
	if !i.saved.inMemory() {
		if err := h.park(); err != nil { // then nothing of it is kept
			h.kill()
		}
		return r.stop(nil, true)
	}
	ended := h.parked != nil
	h.unpark()
	in := h.incarnation()
	if !ended {
		var err error
		if in.peers, err = h.livePeers(); err != nil {
			return err
		}
	}
	h.peers = nil
	return r.stop(in, ended)
}

// abort gives up a restore that is under way. Whoever waits for the proxy does not once that is killed.
func (h *hosted) abort() {
	if h.restoring == nil {
		return
	}
	if h.process != nil {
		h.process.signal()
	}
	h.restoring.abort()
	h.restoring = nil
}

// takeOver makes what was started the incarnation that runs.
func (h *hosted) takeOver(s *started) error {
	if s.pid != 0 {
		h.process = h.daemon.reaper.adopt(s.pid)
	}
	h.peers = s.peers
	return h.enter(s.next)
}

// livePeers are the pids of the peers, as the daemon sees them.
func (h *hosted) livePeers() ([]int, error) {
	if h.peers != nil && len(h.clients) == 0 { // those come and go
		return h.peers, nil
	}
	byInner, copies := map[int]int{}, map[int]bool{}
	for _, pid := range h.daemon.store.copies(h.id) {
		copies[pid] = true
	}
	children, err := procfs.AllChildren(h.process.pid)
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
func (h *hosted) cause() error {
	switch {
	case h.down != nil:
		return h.down
	case h.process == nil:
		return fmt.Errorf("%w: it was not started", ErrGroupDown)
	case !h.process.ended():
		return nil
	}
	status := h.process.status
	how := fmt.Sprintf("exited with status %d", status.ExitStatus())
	if status.Signaled() {
		how = fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
	}
	return fmt.Errorf("%w: its proxy (pid 1 of group %d) %s", ErrGroupDown, h.id, how)
}

// awaitEnd waits for the incarnation to end and says why it did; nil if ctx ends before.
func (h *hosted) awaitEnd(ctx context.Context) error {
	h.mu.Lock()
	process := h.process
	h.mu.Unlock()
	if process != nil {
		select {
		case <-process.done:
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause()
}

// fail ends an incarnation that CRIU may have left in any state.
func (h *hosted) fail(err error) {
	h.kill()
	h.down = fmt.Errorf("%w: %w", ErrGroupDown, err)
}

// kill ends the incarnation and every process in its network, half-restored ones too.
func (h *hosted) kill() {
	if h.process != nil {
		h.process.signal() // and with it its pid namespace
		if h.parked == nil {
			h.forgetCopies()
		}
		h.process.kill()
	}
	h.peers = nil
	if h.network == nil {
		return
	}
	if err := h.killNetwork(); err != nil {
		panic(fmt.Sprintf("ckptd: group %d cannot be ended: %v", h.id, err))
	}
}

func (h *hosted) killNetwork() error {
	number, err := sys.Inode(int(h.network.Fd()))
	if err != nil {
		return err
	}
	return netns.KillAll(number, 0)
}

// forgetCopies lets go of images that end with the incarnation.
func (h *hosted) forgetCopies() {
	if h.memory == nil || !h.memory.close() {
		return
	}
	if err := h.daemon.store.removeMemory(h.id); err != nil {
		fmt.Fprintln(os.Stderr, "tandem-ckptd: remove images of a group that has ended:", err)
	}
}

// close ends the group for good.
func (h *hosted) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kill()
	h.unpark()
	h.kill()
	h.down = fmt.Errorf("%w: it was closed", ErrGroupDown)
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
	if h.page != nil {
		h.page.Close()
	}
	for _, place := range h.views {
		if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", place, err) // and remove nothing below it
		}
	}
	h.views = nil
	return errors.Join(h.daemon.store.removeGroup(h.id), os.RemoveAll(h.directory))
}
