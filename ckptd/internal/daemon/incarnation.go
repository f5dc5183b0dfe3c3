package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
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

// An incarnation is known by its proxy, pid 1 of its namespaces, and by its network. A process is
// in the one for as long as it lives; in the other, also while it is only half restored.

// incarnationHost has the incarnation of a group that runs, at most one at a time, and one that is
// parked. It starts the first one; the next ones come from restores.
//
// All processes of an incarnation are below the proxy, or in its network. So it is ended by its pid
// namespace, and by a search through the network for what CRIU has only half made.
type incarnationHost struct {
	id       uint64 // of the group
	reaper   *reaper.Reaper
	networks networks
	store    *store.Store
	memory   *memory.Group // nil where every group is saved by CRIU

	network  *os.File      // namespace of the incarnation
	process  *reaper.Child // pid 1 of the incarnation, the proxy; nil while none was started
	down     error         // why none runs, where that is known better than from process
	outputs  []*os.File    // write ends of pipes: what the proxy writes, and then each peer
	parked   *parked       // holds the copies once CRIU has brought back another incarnation
	peers    []int         // of those that live, as the daemon sees them; nil: not looked for
	peerPIDs []int         // of all, in the group's pid namespace
	clients  map[int]bool  // which of these may be absent

	channelInode uint64 // of the proxy's end of the command channel
	channel      int    // the checker's end of it, a copy, for visits; -1: there is none
}

// makeOutputs makes the pipes for what a number of peers and the proxy write. It returns the ends
// to read from, which do not block; the caller closes them, also after an error. The daemon keeps
// the other ends open, so that an output does not end with an incarnation.
func (r *incarnationHost) makeOutputs(peers int) (read []int, err error) {
	for range 1 + peers {
		var pair [2]int
		if err := unix.Pipe2(pair[:], unix.O_CLOEXEC); err != nil {
			return read, fmt.Errorf("make a pipe for the output of a peer: %w", err)
		}
		read = append(read, pair[0])
		r.outputs = append(r.outputs, os.NewFile(uintptr(pair[1]), "output of a peer"))
		if err := unix.SetNonblock(pair[0], true); err != nil {
			return read, err
		}
	}
	return read, nil
}

// fork starts the proxy, from the directory of the group, and returns the checker's end of its
// channel. It enters namespaces of its own, and gets the pipes and the channel as its first
// descriptors. In the network it is from the beginning; the other namespaces are made with it.
func (r *incarnationHost) fork(directory string) (int, error) {
	n, err := r.networks.makeNext(nil)
	if err != nil {
		return -1, err
	}
	checker, group := n.Checker, n.Group
	if err := r.enter(n); err != nil {
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
	// The proxy is executed before the group has a root of its own, so its paths are the daemon's.
	config := filepath.Join(directory, paths.ProxyDirectory, "config.json")
	attributes := &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1"}, // fewer threads, smaller images
		Files: []uintptr{null.Fd(), r.outputs[0].Fd(), r.outputs[0].Fd(), uintptr(group)},
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		},
	}
	for _, output := range r.outputs[1:] {
		attributes.Files = append(attributes.Files, output.Fd()) // firstOutput and so on
	}
	r.process, err = r.reaper.Start(r.network, func() (int, error) {
		return syscall.ForkExec(paths.ProxyFile, []string{paths.ProxyFile, proxy.StageMount, config},
			attributes)
	})
	if err != nil {
		unix.Close(checker)
		return -1, fmt.Errorf("start the proxy of a group in namespaces of its own: %w", err)
	}
	return checker, nil
}

// know notes the pids of the peers that were started, and which of them are clients. A client is a
// peer that the program starts, and may have ended.
func (r *incarnationHost) know(g peers.Group, pids []int) {
	r.peerPIDs, r.clients = pids, map[int]bool{}
	for i, p := range g.Peers {
		if p.IsClient() {
			r.clients[pids[i]] = true
		}
	}
}

// livePeers are the pids of the peers, as the daemon sees them. They are among the children of the
// proxy, as are the copies in images. That is a look at all of them; it is done once for each
// incarnation, unless clients come and go.
func (r *incarnationHost) livePeers() ([]int, error) {
	if r.peers != nil && len(r.clients) == 0 { // those come and go
		return r.peers, nil
	}
	byInner, copies := map[int]int{}, map[int]bool{}
	for _, pid := range r.store.Copies(r.id) {
		copies[pid] = true
	}
	children, err := procfs.AllChildren(r.process.PID)
	if err != nil {
		return nil, fmt.Errorf("look for the peers of group %d: %w", r.id, err)
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
	for _, inner := range r.peerPIDs {
		pid, ok := byInner[inner]
		if r.clients[inner] && (!ok || procfs.HasEnded(pid)) {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("peer process %d of group %d is gone", inner, r.id)
		}
		all = append(all, pid)
	}
	r.peers = all
	return all, nil
}

// enter makes the next incarnation the one that runs. Its channel remains the caller's: a copy of
// the checker's end is kept, for visits. The one before it is closed, with what came to it.
func (r *incarnationHost) enter(n *incarnation.Next) (err error) {
	if r.network != nil {
		r.network.Close()
	}
	r.network, r.channelInode = n.Network, n.ChannelInode
	if r.channel >= 0 {
		unix.Close(r.channel)
	}
	r.channel, err = unix.FcntlInt(uintptr(n.Checker), unix.F_DUPFD_CLOEXEC, 0)
	return err
}

// adopt makes what a restore has started the incarnation that runs. CRIU has made a new proxy, as a
// child of the daemon; in memory the old one goes on.
func (r *incarnationHost) adopt(s *incarnation.Started) error {
	if s.PID != 0 {
		r.process = r.reaper.Adopt(s.PID)
	}
	r.peers = s.Peers
	return r.enter(s.Next)
}

// current is the incarnation that runs, or has run last, as backends see it. After its end what is
// left of it is the network and the outputs, which the next one needs.
func (r *incarnationHost) current(mounts []proxy.Mount) *incarnation.Incarnation {
	in := &incarnation.Incarnation{
		Network: r.network, Channel: r.channel, ChannelInode: r.channelInode, Outputs: r.outputs,
		Mounts: mounts,
	}
	if r.process != nil {
		in.PID = r.process.PID
	}
	return in
}

// cause says why no incarnation runs, nil if one does. What is known of a failure goes before what
// the proxy has ended with, which mostly follows from it.
func (r *incarnationHost) cause() error {
	switch {
	case r.down != nil:
		return r.down
	case r.process == nil:
		return fmt.Errorf("%w: it was not started", wire.ErrGroupDown)
	case !r.process.Ended():
		return nil
	}
	status := r.process.Status
	how := fmt.Sprintf("exited with status %d", status.ExitStatus())
	if status.Signaled() {
		how = fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
	}
	return fmt.Errorf("%w: its proxy (pid 1 of group %d) %s", wire.ErrGroupDown, r.id, how)
}

// fail ends an incarnation that may be in any state, for this reason. Whoever uses the group later
// is told the same.
func (r *incarnationHost) fail(err error) {
	r.kill()
	r.down = fmt.Errorf("%w: %w", wire.ErrGroupDown, err)
}

// kill ends the incarnation and every process in its network, half-restored ones too. What cannot
// be ended would go on beside the next incarnation, unseen: then the daemon ends, and all with it.
func (r *incarnationHost) kill() {
	if r.process != nil {
		r.process.Signal() // and with it its pid namespace
		if r.parked == nil {
			r.forgetCopies()
		}
		r.process.Kill()
	}
	r.peers = nil
	if r.network == nil {
		return
	}
	number, err := sys.Inode(int(r.network.Fd()))
	if err == nil {
		err = netns.KillAll(number, 0)
	}
	if err != nil {
		panic(fmt.Sprintf("ckptd: group %d cannot be ended: %v", r.id, err))
	}
}

// forgetCopies lets go of images that end with the incarnation. The tracer has to wait for them:
// the pid namespace does not end before.
func (r *incarnationHost) forgetCopies() {
	if r.memory == nil || !r.memory.Close() {
		return
	}
	if err := r.store.RemoveMemory(r.id); err != nil {
		fmt.Fprintln(os.Stderr, "tandem-ckptd: remove images of a group that has ended:", err)
	}
}

// close ends all that runs, and what is parked, and closes what the host has open. The parked one
// goes on when the running one has ended, and is ended then.
func (r *incarnationHost) close() {
	r.kill()
	r.unpark()
	r.kill()
	r.down = fmt.Errorf("%w: it was closed", wire.ErrGroupDown)
	if r.channel >= 0 {
		unix.Close(r.channel)
		r.channel = -1
	}
	if r.network != nil {
		r.network.Close()
		r.network = nil
	}
	for _, output := range r.outputs {
		output.Close()
	}
}
