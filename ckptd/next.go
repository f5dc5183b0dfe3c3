package ckptd

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy"
)

// next is what an incarnation needs that is to follow another one: a network namespace and
// a command channel in it.
type next struct {
	network        *os.File
	inode          uint64 // of the network
	checker, group int
	channelInode   uint64 // of the group's end
}

func (n *next) close() {
	n.network.Close()
	sys.CloseAll([]int{n.checker, n.group})
}

// newNext makes what the next incarnation needs. Unless it is nil, inside is carried out in its network.
func (d *daemon) newNext(inside func() error) (*next, error) {
	network, err := d.takeNetwork()
	if err != nil {
		return nil, err
	}
	var pair [2]int
	err = netns.InFile(network, func() (err error) {
		pair, err = seqpacket.Pair()
		if err != nil || inside == nil {
			return err
		}
		if err = inside(); err != nil {
			sys.CloseAll(pair[:])
		}
		return err
	})
	if err != nil {
		network.Close()
		return nil, fmt.Errorf("make a command channel: %w", err)
	}
	n := &next{network: network, checker: pair[0], group: pair[1]}
	if n.inode, err = sys.Inode(int(network.Fd())); err == nil {
		n.channelInode, err = sys.Inode(n.group)
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// incarnation is what runs of a group, as backends see it.
type incarnation struct {
	pid          int      // of pid 1 of the group, the proxy; 0: there is none
	network      *os.File // namespace
	channel      int      // the checker's end of the command channel, for visits
	channelInode uint64   // of the proxy's end
	outputs      []*os.File
	mounts       []proxy.Mount
	peers        []int // pids of those that live; nil: not looked for
}

// incarnation is the one that runs, or has run last.
func (h *hosted) incarnation() *incarnation {
	in := &incarnation{
		network: h.network, channel: h.channel, channelInode: h.channelInode, outputs: h.outputs, mounts: h.mounts,
	}
	if h.process != nil {
		in.pid = h.process.pid
	}
	return in
}

// enter makes the next incarnation the group's. Its channel remains the caller's.
func (h *hosted) enter(n *next) error {
	if h.network != nil {
		h.network.Close()
	}
	h.network, h.channelInode = n.network, n.channelInode
	return h.keepChannel(n.checker)
}

// keepChannel keeps a copy of the checker's end of the channel, for visits.
func (h *hosted) keepChannel(checker int) (err error) {
	if h.channel >= 0 {
		unix.Close(h.channel)
	}
	h.channel, err = unix.FcntlInt(uintptr(checker), unix.F_DUPFD_CLOEXEC, 0)
	return err
}
