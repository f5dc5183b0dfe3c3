package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/proxy"
)

// While the old peers die, which takes the kernel longer the more memory they have, the network,
// the sockets and the clock of the new ones are made. While files are put back, the proxy goes over
// to that network.

// Restore is a restore under way. Its parts come in this order: Stop kills the peers and makes what
// the new ones need while they die, and Start makes these and lets them run.
type Restore struct {
	group   *Group
	image   *Image
	visitor *proxy.Visitor    // while the peers are taken back
	next    *incarnation.Next // nil before it is made, and once it is handed over
	peers   process.Revival   // how the peers are made again
	entered func() error      // waits for the proxy to have left the old network
}

// Abort implements incarnation.Restore. It closes what is still the restore's.
func (r *Restore) Abort() {
	if r.visitor != nil {
		r.visitor.Close()
		r.visitor = nil
	}
	if r.entered != nil {
		_ = r.entered() // whose error is known, or does not matter any more
	}
	r.peers.Files.Close()
	if r.next != nil {
		r.next.Close()
	}
	if r.peers.Clock != nil {
		r.peers.Clock.Close()
	}
}

// Stop implements incarnation.Restore: it ends the peers, not the proxy. While they die it makes
// ready what does not depend on their end.
//
// The proxy has to be told of what dies: it reaps its children by itself otherwise, and a process
// ID is free only when its process was reaped.
func (r *Restore) Stop(in *incarnation.Incarnation, ended bool) error {
	v, err := proxy.Visit(in.Channel) // which from now on reaps by command only
	if err != nil {
		return err
	}
	r.visitor = v
	old, err := sys.Inode(int(in.Network.Fd()))
	if err != nil {
		return err
	}
	var below []int
	if !ended {
		below, err = killPeers(in.Peers)
		defer sys.CloseAll(below)
		if err != nil {
			return err
		}
	}
	last := r.image.last
	// The kernel takes its time to free the memory of a large process.
	reaped := inBackground(func() error { return v.Reap(last) })
	err = r.make(in.PID)
	if err := errors.Join(reaped(), err); err != nil {
		return err
	}
	if len(below) > 0 { // they are the proxy's children now, and their IDs will be needed
		for _, pidfd := range below {
			if !sys.AwaitExit(pidfd, wire.Patience) {
				return errors.New("a process that a peer has started survives SIGKILL")
			}
		}
		if err := v.Reap(last); err != nil {
			return err
		}
	}
	if err := killOrphans(v, in.PID, old, last); err != nil {
		return err
	}
	// While files are put back, and peers made again, it goes over to where the group will be.
	r.entered = inBackground(func() error { return r.moveProxy(v) })
	return nil
}

// killPeers kills peers, and all that they have started, of which it returns pidfds. What they have
// started is found before they die, by its parents; then a pidfd stands for it whoever its parent
// is.
func killPeers(pids []int) (below []int, err error) {
	for _, pid := range pids {
		started, e := descendantsOf(pid)
		err = errors.Join(err, e)
		below = append(below, started...)
	}
	for _, pid := range pids { // which the proxy does not reap before it is told to
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
			return below, fmt.Errorf("end peer process %d: %w", pid, err)
		}
	}
	for _, pidfd := range below {
		if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
			return below, fmt.Errorf("end what a peer has started: %w", err)
		}
	}
	return below, err
}

// descendantsOf returns pidfds of what a process has started, parents first. One that ends
// meanwhile is left out. The caller closes them, also after an error.
func descendantsOf(pid int) (all []int, err error) {
	children, err := procfs.AllChildren(pid)
	if errors.Is(err, fs.ErrNotExist) { // it has ended
		return nil, nil
	}
	for _, child := range children {
		pidfd, err := unix.PidfdOpen(child, 0)
		if err == unix.ESRCH {
			continue
		}
		if err != nil {
			return all, fmt.Errorf("look for what peers have started: %w", err)
		}
		all = append(all, pidfd)
		below, err := descendantsOf(child)
		all = append(all, below...)
		if err != nil {
			return all, err
		}
	}
	return all, err
}

// killOrphans kills what the peers, which are dead, have started: those are children of the proxy's
// first thread now. Something may have been started while the others were looked for.
func killOrphans(v *proxy.Visitor, pid int, network uint64, last int) error {
	children, err := procfs.Children(pid, pid)
	if err != nil || len(children) == 0 {
		return err
	}
	if err := netns.KillAll(network, pid); err != nil {
		return err
	}
	// they may be in process groups that are named by a pid of a peer, and have started more
	return v.Reap(last)
}

// make makes the network that the group will be in, with its sockets, and the time. The proxy has
// this pid. All of it depends on the image alone, and on nothing of the incarnation that dies.
func (r *Restore) make(pid int) error {
	var err error
	if r.next, err = r.group.makeNext(r.peers.Files.MakeSockets); err != nil {
		return err
	}
	r.peers.Files.Network = r.next.Network
	return r.group.tracer.Do(func() (err error) {
		if r.group.givenUp { // what comes of it is for CRIU to save
			r.peers.Clock, err = timeOf(pid)
		} else {
			r.peers.Clock, err = turnedBack(r.image.clock)
		}
		return err
	})
}

// Start implements incarnation.Restore. On the way back the checker gets descriptors of the proxy's
// sockets, which the daemon has made and would close.
func (r *Restore) Start() (*incarnation.Started, error) {
	defer r.Abort()
	pids, generations, err := r.makePeers()
	if err = errors.Join(r.entered(), err); err != nil {
		return nil, err
	}
	s := &incarnation.Started{Next: r.next, Peers: pids, Sockets: map[proxy.ID]int{}}
	for id, n := range r.image.owned {
		fd, err := unix.FcntlInt(uintptr(r.peers.Files.Sockets[n]), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			sys.CloseAll(slices.Collect(maps.Values(s.Sockets)))
			return nil, err
		}
		s.Sockets[id] = fd
	}
	// Pids of peers that have ended are of no use any more.
	r.group.generations = generations
	unix.Close(r.next.Group)
	r.next = nil
	return s, nil
}

// moveProxy gives the proxy the new network, the new channel and the new sockets. The old sockets
// are closed by it, after their other ends have ended with the peers.
func (r *Restore) moveProxy(visitor *proxy.Visitor) error {
	owned := map[proxy.ID]int{}
	for id, n := range r.image.owned {
		owned[id] = r.peers.Files.Sockets[n]
	}
	return visitor.Enter(int(r.peers.Files.Network.Fd()), r.next.Group, owned)
}

// makePeers makes the peers and lets them run; it returns their pids and generations. Objects that
// processes share are put back first, while nobody runs. No process is released before all are
// there: one that runs would find the others missing.
func (r *Restore) makePeers() (pids []int, generations map[int]int, err error) {
	generations = map[int]int{}
	err = r.group.tracer.Do(func() (err error) {
		if err := r.image.segments.putBack(); err != nil {
			return err
		}
		if err := r.image.held.putBack(); err != nil {
			return err
		}
		var leave func()
		if r.peers.Here, leave, err = osthread.Stay(); err != nil {
			return err
		}
		defer leave()
		var revived, roots []*process.Restored
		for _, p := range r.image.processes {
			if r.peers.Files.Root, err = rootOf(p.PID); err != nil {
				return err
			}
			q, err := r.peers.MakePeer(p)
			if err == nil {
				roots, revived = append(roots, q), append(revived, q)
				var below []*process.Restored
				below, err = r.peers.MakeChildren(q, p.Children)
				revived = append(revived, below...)
			}
			unix.Close(r.peers.Files.Root)
			if err != nil {
				return fmt.Errorf("make peer process %d again: %w", p.Inner, err)
			}
		}
		// From here on the group runs.
		for _, q := range revived {
			if err := q.Release(); err != nil {
				return fmt.Errorf("let peer process %d go on: %w", q.Inner, err)
			}
		}
		for _, q := range roots {
			pids = append(pids, q.PID)
			generations[q.PID] = q.Generation
		}
		return nil
	})
	return pids, generations, err
}

// rootOf opens the root directory of the group of a process, below which the paths are that /proc
// shows. The process itself may have one of its own, see paths.Roots: the way up from there ends at
// that of the group.
func rootOf(pid int) (int, error) {
	up := strings.Repeat("/..", strings.Count(paths.Roots, "/")+1)
	return unix.Open(filepath.Join("/proc", strconv.Itoa(pid), "root")+up,
		unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}
