package ckptd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/proxy"
)

// revival is a restore under way.
type revival struct {
	group   *memoryGroup
	image   *memoryImage
	visitor *proxy.Visitor // while the peers are taken back
	next    *next          // nil before it is made, and once it is handed over
	network *os.File
	clock   *os.File // time namespace to be in
	sockets []int
	pipes   map[string][2]int
	made    map[int]int // descriptions of open files, by their index
	root    int         // root directory of the group
	opened  []int
	entered func() error // waits for the proxy to have left the old network
	here    *unix.CPUSet // where the peers run until they are released
}

func (r *revival) keep(fds ...int) { r.opened = append(r.opened, fds...) }

// prepare implements backend. All that takes time is done while the peers die.
func (g *memoryGroup) prepare(_ context.Context, _ *incarnation, s saved, _ string) (restore, error) {
	return &revival{group: g, image: s.(*memoryImage), pipes: map[string][2]int{}, made: map[int]int{}}, nil
}

// abort implements restore. It closes what is still the revival's.
func (r *revival) abort() {
	if r.visitor != nil {
		r.visitor.Close()
		r.visitor = nil
	}
	if r.entered != nil {
		_ = r.entered() // whose error is known, or does not matter any more
	}
	sys.CloseAll(r.opened)
	if r.next != nil {
		r.next.close()
	}
	if r.clock != nil {
		r.clock.Close()
	}
}

// stop implements restore: it ends the peers, not the proxy. While they die it makes ready
// what does not depend on their end.
func (r *revival) stop(in *incarnation, ended bool) error {
	v, err := proxy.Visit(in.channel) // which from now on reaps by command only
	if err != nil {
		return err
	}
	r.visitor = v
	old, err := sys.Inode(int(in.network.Fd()))
	if err != nil {
		return err
	}
	var below []int
	if !ended {
		below, err = killPeers(in.peers)
		defer sys.CloseAll(below)
		if err != nil {
			return err
		}
	}
	last := r.image.last
	reaped := begin(func() error { return v.Reap(last) })
	err = r.make(in.pid)
	if err := errors.Join(reaped(), err); err != nil {
		return err
	}
	if len(below) > 0 { // they are the proxy's children now, and their IDs will be needed
		for _, pidfd := range below {
			if !sys.AwaitExit(pidfd, patience) {
				return errors.New("a process that a peer has started survives SIGKILL")
			}
		}
		if err := v.Reap(last); err != nil {
			return err
		}
	}
	if err := killOrphans(v, in.pid, old, last); err != nil {
		return err
	}
	// While files are put back, and peers made again, it goes over to where the group will be.
	r.entered = begin(func() error { return r.renewProxy(v) })
	return nil
}

// killPeers kills peers, and all that they have started, of which it returns pidfds.
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

// descendantsOf returns pidfds of what a process has started, parents first.
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

// killOrphans kills what the peers, which are dead, have started: those are children of the
// proxy's first thread now.
func killOrphans(v *proxy.Visitor, pid int, network uint64, last int) error {
	children, err := procfs.Children(pid, pid)
	if err != nil || len(children) == 0 {
		return err
	}
	if err := netns.KillAll(network, pid); err != nil {
		return err
	}
	return v.Reap(last) // they may be in process groups that are named by a pid of a peer, and have started more
}

// make makes the network that the group will be in, with its sockets, and the time. The proxy has this pid.
func (r *revival) make(pid int) error {
	var err error
	r.next, err = r.group.makeNext(func() (err error) {
		r.sockets, err = makeSockets(r.image.sockets)
		return err
	})
	if err != nil {
		return err
	}
	r.keep(r.sockets...)
	r.network = r.next.network
	return r.group.tracer.do(func() (err error) {
		if r.group.givenUp { // what comes of it is for CRIU to save
			r.clock, err = timeOf(pid)
		} else {
			r.clock, err = turnedBack(r.image.clock)
		}
		return err
	})
}

// start implements restore.
func (r *revival) start() (*started, error) {
	defer r.abort()
	pids, generations, err := r.reviveAll()
	if err = errors.Join(r.entered(), err); err != nil {
		return nil, err
	}
	s := &started{next: r.next, peers: pids, sockets: map[proxy.ID]int{}}
	for id, n := range r.image.owned {
		fd, err := unix.FcntlInt(uintptr(r.sockets[n]), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			sys.CloseAll(slices.Collect(maps.Values(s.sockets)))
			return nil, err
		}
		s.sockets[id] = fd
	}
	r.group.generations = generations
	unix.Close(r.next.group)
	r.next = nil
	return s, nil
}

// renewProxy gives the proxy the new network, the new channel and the new sockets.
func (r *revival) renewProxy(visitor *proxy.Visitor) error {
	owned := map[proxy.ID]int{}
	for id, n := range r.image.owned {
		owned[id] = r.sockets[n]
	}
	return visitor.Enter(int(r.network.Fd()), r.next.group, owned)
}

// reviveAll makes the peers and lets them run; it returns their pids and generations.
func (r *revival) reviveAll() (pids []int, generations map[int]int, err error) {
	generations = map[int]int{}
	err = r.group.tracer.do(func() (err error) {
		if err := r.image.putBackSegments(); err != nil {
			return err
		}
		if err := r.image.putBackObjects(); err != nil {
			return err
		}
		var leave func()
		if r.here, leave, err = osthread.Stay(); err != nil {
			return err
		}
		defer leave()
		var revived, roots []*process
		for _, p := range r.image.processes {
			if r.root, err = rootOf(p.pid); err != nil {
				return err
			}
			q, err := r.revive(p)
			if err == nil {
				roots, revived = append(roots, q), append(revived, q)
				var below []*process
				below, err = r.reviveChildren(q, p.children)
				revived = append(revived, below...)
			}
			unix.Close(r.root)
			if err != nil {
				return fmt.Errorf("make peer process %d again: %w", p.inner, err)
			}
		}
		for _, q := range revived {
			if err := q.release(); err != nil {
				return fmt.Errorf("let peer process %d go on: %w", q.inner, err)
			}
		}
		for _, q := range roots {
			pids = append(pids, q.pid)
			generations[q.pid] = q.generation
		}
		return nil
	})
	return pids, generations, err
}

// rootOf opens the root directory of a process.
func rootOf(pid int) (int, error) {
	return unix.Open(filepath.Join("/proc", strconv.Itoa(pid), "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}
