package daemon

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/sockdiag"
	"github.com/tandem-mc/tandem/proxy"
)

// What the checker gets of an incarnation are descriptors: they stand for a process, a socket or a
// file whatever becomes of its number, and go through the channel with the reply.

// maxAhead is how many sockets are sent with the reply to a restore. The checker asks the proxy for
// others when it needs them, so that neither of the two runs out of descriptors for what nobody
// uses.
const maxAhead = 1000

// handOver returns the descriptors that the checker gets: a pidfd of the incarnation, its channel,
// which is taken over, a sock_diag socket in its network, and copies of others. After an error the
// channel is still the caller's. A checker without privilege cannot enter the network itself.
func (r *incarnationHost) handOver(channel int, others ...int) ([]int, error) {
	pidfd, err := unix.PidfdOpen(r.process.PID, 0)
	if err != nil {
		return nil, fmt.Errorf("the group did not live to be handed over: %w", err)
	}
	diag, err := sockdiag.Open(r.network)
	if err != nil {
		unix.Close(pidfd)
		return nil, fmt.Errorf("look at the sockets of the group: %w", err)
	}
	descriptors := []int{pidfd, channel, diag}
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

// withPeers adds pidfds of the peers, where they are known, to descriptors for the checker. With
// them the checker need not go through the children of the proxy, which takes longer than all else
// that it does after a restore.
func (r *incarnationHost) withPeers(descriptors []int) []int {
	all := descriptors
	// A client may be absent: pidfds without places would say nothing.
	if len(r.peers) != len(r.peerPIDs) {
		return all
	}
	for _, pid := range r.peers {
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil { // then the checker looks for them, and finds out more
			sys.CloseAll(all[len(descriptors):])
			return descriptors
		}
		all = append(all, pidfd)
	}
	return all
}

// restored is what the checker gets of a group that was brought back. Descriptors that are handed
// over are the receiver's, and closed here once they were sent.
type restored struct {
	// a pidfd, the channel, sock_diag, pidfds of the peers where they are known, and sockets
	descriptors []int
	sockets     []proxy.ID // whose descriptors the last ones are, in this order
}

// addSockets adds the first ones of the proxy's sockets, and closes the others. In their order, so
// that the checker knows which is which.
func (r *restored) addSockets(all map[proxy.ID]int) {
	for n, id := range slices.Sorted(maps.Keys(all)) {
		if n >= maxAhead {
			unix.Close(all[id])
			continue
		}
		r.descriptors, r.sockets = append(r.descriptors, all[id]), append(r.sockets, id)
	}
}

// closeSockets closes the sockets of an incarnation that nobody gets. Their other ends are the
// peers', which are about to end.
func closeSockets(s *incarnation.Started) { sys.CloseAll(slices.Collect(maps.Values(s.Sockets))) }
