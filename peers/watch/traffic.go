package watch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// A connection that no peer accepts, or data that no peer reads, may be there for good. A server
// that works off one client before the next leaves the second one in the backlog. A passive FTP
// server accepts a data connection only once it is asked for a file. The group is quiescent all
// the same, for this reason:
//
// The kernel first puts what arrives on a queue, and then wakes those that wait for it. A peer
// that has gone to sleep since without taking it does not want it now. Only another event will
// make it look again, and there is none: each thread sleeps, and none is about to be woken. What
// is left is the moment in which something is on its queue, and the wake-up has not begun.
//
//   - A thread that sends to another one through a Unix socket or a pipe does both within its
//     system call, and does not sleep before that is done.
//   - Loopback TCP and UDP go through a queue for each processor. A softirq takes packets from it
//     one after the other. It finishes with one, wake-ups included, before it takes the next.
//     Suppose that a packet is sent now, on each processor. When these have arrived, what was on
//     its way before has woken everyone it had to wake. flushLoopback does that. A cut before it
//     and a cut after it find the same: all asleep, and nobody woken in between. So everyone that
//     was to be woken by what waits had been woken before the first cut.
//
// For data, TCP itself would tell. The receiver's acknowledgement is behind the data in the same
// queue, and without it bytes are under way at the sender. For connections in a backlog it does
// not tell.
//
// TCP_DEFER_ACCEPT leaves a connection half made at the listener until data arrive on it. For the
// client it is made, and what the client has sent to say so is ignored. (After some
// retransmissions, by default more than half a minute, the listener takes the connection without
// data. That timer counts as one that never fires.)

// network is that of a group.
type network struct {
	group    *members
	sockDiag *sockDiag
}

// listeners lists the sockets that others can connect or send to.
func (n *network) listeners() (listeners, error) {
	all, err := n.sockDiag.sockets()
	return listeners{proxy: n.group.proxy, tcp: all}, err
}

// traffic describes what there is between the sockets of the group. The order matters: TCP is
// looked at first, and who has a socket only where that makes a difference.
func (n *network) traffic() (traffic, error) {
	all, err := n.sockDiag.sockets()
	if err != nil {
		return traffic{}, err
	}
	by := &ownersIn{group: n.group}
	t := trafficOf(all, by)
	if by.err != nil || t.underWay != "" {
		return t, by.err
	}
	// This is asked last: it is of interest only where TCP is quiet.
	datagrams, err := n.sockDiag.loopback.underWay()
	if datagrams {
		t.addUnderWay("datagrams are under way")
	}
	return t, err
}

// InFlight says what is under way between the TCP sockets of a network namespace, or waits there
// for a process to take it. It is empty for nothing. The namespace is a descriptor.
func InFlight(namespace int) (string, error) {
	d, err := sockDiagIn(namespace)
	if err != nil {
		return "", err
	}
	defer d.close()
	all, err := d.sockets()
	if err != nil {
		return "", err
	}
	t := trafficOf(all, unknownOwners{})
	return cmp.Or(t.underWay, t.waiting), nil
}

// traffic describes what there is between the sockets of a group. A text is empty if there is
// nothing; otherwise it names the first thing that there is.
type traffic struct {
	// underWay is something that the kernel is still about to deliver. It will change what a
	// process sees.
	underWay string
	// waiting is something that has been delivered, and that no process has taken.
	waiting string
}

// addUnderWay notes something that is under way, if it is the first.
func (t *traffic) addUnderWay(format string, a ...any) {
	if t.underWay == "" {
		t.underWay = fmt.Sprintf(format, a...)
	}
}

// addWaiting notes something that waits, if it is the first.
func (t *traffic) addWaiting(format string, a ...any) {
	if t.waiting == "" {
		t.waiting = fmt.Sprintf(format, a...)
	}
}

// trafficOf looks for traffic. Loopback delivers through a softirq, and not within the system
// call that sends. So data, connections and resets may be on no queue of a receiver yet.
//
// What waits for the checker counts as under way, too: the checker takes whatever comes.
func trafficOf(all []socket, by owners) (t traffic) {
	for _, s := range all {
		switch {
		case s.unread > 0 && s.inode != 0 && by.isChecker(s.inode):
			t.addUnderWay("%d bytes from %v to %v are not read", s.unread, s.remote, s.local)
		case s.state == tcpListen && s.unread > 0:
			t.addWaiting("%d connections to %v wait to be accepted", s.unread, s.local)
		case s.state == tcpListen || s.state == tcpClose:
		case s.state == tcpSynRecv && isDeferred(all, s, by):
			t.addWaiting("the connection from %v to %v waits for data, "+
				"since its listener has TCP_DEFER_ACCEPT",
				s.remote, s.local)
		case s.state == tcpSynSent || s.state == tcpSynRecv || s.state == tcpNewSynRecv:
			t.addUnderWay("a connection from %v to %v is being made%s", s.local, s.remote, backlogOf(all, s))
		case s.unsent > 0:
			t.addUnderWay("%d bytes from %v to %v are under way", s.unsent, s.local, s.remote)
		case s.unread > 0 && s.inode != 0:
			t.addWaiting("%d bytes from %v to %v are not read", s.unread, s.remote, s.local)
		case s.state == tcpEstablished && !hasOtherEnd(all, s):
			t.addUnderWay("the end of the connection from %v to %v is under way", s.remote, s.local)
		}
	}
	return t
}

// hasOtherEnd tells whether the socket at the other end exists. Both are in one namespace. An end
// without the other one has just been closed, and is about to be told so.
func hasOtherEnd(all []socket, s socket) bool {
	for _, t := range all {
		if t.state != tcpListen && t.local == s.remote && t.remote == s.local {
			return true
		}
	}
	return false
}

// owners tells who has a socket.
type owners interface {
	// isChecker tells whether the checker has the socket with an inode, too.
	isChecker(inode uint32) bool
	// defers tells whether the listener with an inode leaves connections half made until there
	// are data.
	defers(listener uint32) bool
}

// unknownOwners knows nothing: everything that waits counts as waiting for peers.
type unknownOwners struct{}

func (unknownOwners) isChecker(uint32) bool { return false }
func (unknownOwners) defers(uint32) bool    { return false }

// ownersIn looks in /proc for those who have sockets, when it is asked for the first time.
type ownersIn struct {
	group *members
	own   []uint32 // inodes of sockets of the proxy, which the checker has, too
	known bool
	err   error
}

// isChecker looks through the descriptors of the proxy. The checker has all sockets of the proxy,
// and no other one in the group.
func (o *ownersIn) isChecker(inode uint32) bool {
	if !o.known {
		o.known = true
		o.err = forSockets(o.group.proxy, func(_ int, inode uint32) { o.own = append(o.own, inode) })
	}
	return slices.Contains(o.own, inode)
}

// defers looks for a process that has the listener, and asks the kernel about its socket. A
// listener that several processes have is the same for all of them.
func (o *ownersIn) defers(listener uint32) (yes bool) {
	walked := map[int]bool{}
	err := o.group.walk(func(t thread) error {
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
	fd, err := sys.DuplicateOf(pid, descriptor)
	if errors.Is(err, unix.EBADF) || errors.Is(err, unix.ESRCH) { // it was closed meanwhile
		return false, procfs.ErrGone
	}
	if err != nil {
		return false, fmt.Errorf("look at a listener: %w", err)
	}
	defer unix.Close(fd)
	seconds, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT)
	return err == nil && seconds > 0, nil // else it is another socket by now
}

// forSockets calls f with the number and inode of each socket that is a descriptor of a process.
// ErrGone says that the process has ended.
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

// listenerOf is the listener at which a connection is being made; nil if there is none. Where
// several fit, such as one at an address and one at all, it is any of them.
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
	// Of a listener, unread is how many wait, and unsent how many may.
	if l := listenerOf(all, at); l != nil && l.unread > l.unsent {
		return fmt.Sprintf(", and the backlog of the listener is full (%d)", l.unread)
	}
	return ""
}
