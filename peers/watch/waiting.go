package watch

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// A connection that no peer accepts, or data that no peer reads, may be there for good: a server
// that works off one client before the next leaves the second one in the backlog, and a passive
// FTP server accepts a data connection only once it is asked for a file. Why the group is
// quiescent all the same:
//
// The kernel first puts what arrives on a queue, and then wakes those who wait for it. A peer
// that has gone to sleep since without taking it does not want it now. Nothing but another event
// will make it look again, and there is none: each thread sleeps, and none is about to be woken.
// What is left is the moment in which something is on its queue, and the wake-up has not begun.
//
//   - A thread that sends to another one through a Unix socket or a pipe does both within its
//     system call, and does not sleep before that is done.
//   - Loopback TCP and UDP go through a queue for each processor. A softirq takes packets from
//     it, one after the other, and has done with one, wake-ups included, before it takes the
//     next. So when a packet that is sent now, on each processor, has arrived, what was on its
//     way before has woken whom it had to wake. flushLoopback does that. A cut before it and a
//     cut after it find the same things: all asleep, and nobody woken in between. So whoever was
//     to be woken by what waits had been woken before the first cut.
//
// For data, TCP itself would tell: the receiver's acknowledgement is behind the data in the same
// queue, and without it bytes are under way at the sender. For connections in a backlog it does
// not.
//
// TCP_DEFER_ACCEPT leaves a connection half made at the listener until data arrive on it. The
// client has it made, and what it has sent to say so is ignored. (After some retransmissions, by
// default more than half a minute, the listener takes the connection without data. That timer
// counts as never firing.)

// owners tells whose sockets are.
type owners interface {
	// isChecker tells whether the checker has the socket with an inode, too.
	isChecker(inode uint32) bool
	// defers tells whether the listener with an inode leaves connections half made until there
	// are data.
	defers(listener uint32) bool
}

// unknownOwners knows nothing, so that everything that waits counts as waiting for peers.
type unknownOwners struct{}

func (unknownOwners) isChecker(uint32) bool { return false }
func (unknownOwners) defers(uint32) bool    { return false }

// traffic describes what there is between the sockets of the group.
func (w *Watch) traffic() (traffic, error) {
	all, err := w.diagnosis.sockets()
	if err != nil {
		return traffic{}, err
	}
	by := &ownersIn{watch: w}
	t := trafficOf(all, by)
	if by.err != nil || t.underWay != "" {
		return t, by.err
	}
	datagrams, err := w.diagnosis.loopback.underWay()
	if datagrams {
		t.moves("datagrams are under way")
	}
	return t, err
}

// ownersIn looks in /proc for those who have sockets, when it is asked for the first time.
type ownersIn struct {
	watch *Watch
	own   []uint32 // inodes of sockets of the proxy, which the checker has, too
	known bool
	err   error
}

func (o *ownersIn) isChecker(inode uint32) bool {
	if !o.known {
		o.known = true
		o.err = forSockets(o.watch.proxy, func(_ int, inode uint32) { o.own = append(o.own, inode) })
	}
	return slices.Contains(o.own, inode)
}

func (o *ownersIn) defers(listener uint32) (yes bool) {
	walked := map[int]bool{}
	err := o.watch.walk(func(t task) error {
		if yes || walked[t.pid] {
			return nil
		}
		walked[t.pid] = true
		descriptor := -1
		err := forSockets(t.pid, func(fd int, inode uint32) {
			if inode == listener {
				descriptor = fd
			}
		})
		if err == nil && descriptor >= 0 {
			yes, err = defersAccept(t.pid, descriptor)
		}
		if errors.Is(err, procfs.ErrGone) {
			err = nil
		}
		return err
	})
	o.err = errors.Join(o.err, err)
	return yes
}

// defersAccept tells whether a listener, which is a descriptor of a process, has TCP_DEFER_ACCEPT.
func defersAccept(pid, descriptor int) (bool, error) {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, procfs.ReadError("pidfd", err)
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, descriptor, 0)
	if err == unix.EBADF || err == unix.ESRCH { // it was closed meanwhile
		return false, procfs.ErrGone
	}
	if err != nil {
		return false, fmt.Errorf("look at a listener of process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	seconds, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT)
	return err == nil && seconds > 0, nil // else it is another socket by now
}

// forSockets calls f with the number and inode of each socket that is a descriptor of a process.
func forSockets(pid int, f func(fd int, inode uint32)) error {
	directory := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(directory)
	if err != nil {
		return orGone(err)
	}
	for _, e := range entries {
		target, err := os.Readlink(directory + "/" + e.Name())
		if err != nil {
			continue // closed meanwhile
		}
		number, isSocket := strings.CutPrefix(target, "socket:[")
		inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 32)
		fd, err2 := strconv.Atoi(e.Name())
		if isSocket && err == nil && err2 == nil {
			f(fd, uint32(inode))
		}
	}
	return nil
}

// orGone is ErrGone for what the end of a process does to its directory in /proc.
func orGone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return procfs.ErrGone
	}
	return err
}

// isDeferred tells whether the half-made connection s waits at its listener for data, and has
// been made for its client.
func isDeferred(all []socket, s socket, by owners) bool {
	made := slices.ContainsFunc(all, func(t socket) bool {
		return t.state == tcpEstablished && t.local == s.remote && t.remote == s.local
	})
	if !made {
		return false
	}
	l := listenerOf(all, s)
	return l != nil && by.defers(l.inode)
}

// listenerOf is the listener at which a connection is being made; nil if there is none.
func listenerOf(all []socket, s socket) *socket {
	i := slices.IndexFunc(all, func(l socket) bool { return listens([]socket{l}, s.local) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// backlogOf says that the backlog is full in which a connection is to be.
func backlogOf(all []socket, s socket) string {
	at := s
	if s.state == tcpSynSent {
		at.local = s.remote
	}
	if l := listenerOf(all, at); l != nil && l.unread > l.unsent { // of a listener: how many wait, and how many may
		return fmt.Sprintf(", and the backlog of the listener is full (%d)", l.unread)
	}
	return ""
}

// rest is how a cut has found a group that was asleep.
type rest struct {
	waiting     bool // something waited for a peer to take it
	waited      bool // so it did at the cut before that was like this one
	undisturbed bool // nobody has run since that one
	count       uint64
	tasks       []task
}

// note notes a cut by the number of wake-ups so far, or by what the threads have run.
func (r *rest) note(waiting string, count uint64, tasks []task) {
	r.waited, r.waiting = r.waiting, waiting != ""
	r.undisturbed = r.count == count && slices.Equal(r.tasks, tasks)
	r.count, r.tasks = count, append(r.tasks[:0], tasks...)
}

// flushLoopback returns when all packets that were on their way over a loopback interface, in any
// namespace, have been delivered, and those woken who waited for them. It takes some 10 us for
// each processor. (That a network sends packets on to other processors, by RPS, would have to be
// set for loopback.)
func flushLoopback() error {
	f, err := theFlusher()
	if err != nil {
		return err
	}
	done := make(chan error)
	f <- done
	return <-done
}

// theFlusher is a thread that flushes loopback when it gets a channel for the result.
var theFlusher = sync.OnceValues(func() (chan<- chan<- error, error) {
	requests, started := make(chan chan<- error), make(chan error)
	go func() {
		_ = osthread.Run(func() error { // for good: it has a network and a processor of its own
			socket, processors, err := openFlusher()
			if started <- err; err != nil {
				return err
			}
			for done := range requests {
				done <- flush(socket, processors)
			}
			return nil
		})
	}()
	return requests, <-started
})

// openFlusher makes a socket that is connected to itself, in a network of the thread's own, and
// lists the processors.
func openFlusher() (socket int, processors []int, err error) {
	fail := func(err error) (int, []int, error) {
		return -1, nil, fmt.Errorf("prepare to flush loopback: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fail(err)
	}
	if socket, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return fail(err)
	}
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return fail(err)
	}
	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		var at unix.Sockaddr
		if at, err = unix.Getsockname(socket); err == nil {
			err = unix.Connect(socket, at)
		}
	}
	if err == nil { // a lost packet would be a bug, and is not to hang the checker
		err = unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	}
	if err != nil {
		return fail(err)
	}
	// It is to have a busy processor at once. Where that is not allowed, it takes some
	// milliseconds.
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	all := &unix.CPUSet{}
	for i := range all {
		all[i] = ^all[i]
	}
	if err := errors.Join(unix.SchedSetaffinity(0, all), unix.SchedGetaffinity(0, all)); err != nil { // those that it may have
		return fail(err)
	}
	for i := range len(all) * 64 {
		if all.IsSet(i) {
			processors = append(processors, i)
		}
	}
	return socket, processors, nil
}

// flush sends itself a packet on each processor.
func flush(socket int, processors []int) error {
	for _, p := range processors {
		set := &unix.CPUSet{}
		set.Set(p)
		if err := unix.SchedSetaffinity(0, set); err == unix.EINVAL {
			continue // it is not there any more
		} else if err != nil {
			return fmt.Errorf("flush loopback on processor %d: %w", p, err)
		}
		b := []byte{0}
		if _, err := unix.Write(socket, b); err != nil {
			return fmt.Errorf("flush loopback on processor %d: send: %w", p, err)
		}
		for {
			_, err := unix.Read(socket, b)
			if err == nil {
				break
			}
			if err != unix.EINTR {
				return fmt.Errorf("flush loopback on processor %d: receive: %w", p, err)
			}
		}
	}
	return nil
}
