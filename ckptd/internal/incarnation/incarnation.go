// Package incarnation has the parts of a group that change with every restore, and the types that
// the daemon and its backends exchange.
package incarnation

import (
	"fmt"
	"os"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy"
)

// Next is what an incarnation needs that is to follow another one: a network namespace and
// a command channel in it.
type Next struct {
	Network        *os.File
	Inode          uint64 // of the network
	Checker, Group int
	ChannelInode   uint64 // of the group's end
}

// Close closes all of it.
func (n *Next) Close() {
	n.Network.Close()
	sys.CloseAll([]int{n.Checker, n.Group})
}

// MakeNext makes what the next incarnation needs in a network, which it takes over. Unless it is
// nil, inside is carried out there. After an error the network is closed, and nothing is left.
func MakeNext(network *os.File, inside func() error) (*Next, error) {
	var pair [2]int
	err := netns.InFile(network, func() (err error) {
		if pair, err = seqpacket.Pair(); err != nil || inside == nil {
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
	n := &Next{Network: network, Checker: pair[0], Group: pair[1]}
	if n.Inode, err = sys.Inode(int(network.Fd())); err == nil {
		n.ChannelInode, err = sys.Inode(n.Group)
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// Incarnation is what runs of a group, as backends see it.
type Incarnation struct {
	PID          int      // of pid 1 of the group, the proxy; 0: there is none
	Network      *os.File // namespace
	Channel      int      // the checker's end of the command channel, for visits
	ChannelInode uint64   // of the proxy's end
	Outputs      []*os.File
	Mounts       []proxy.Mount
	Peers        []int // pids of those that live; nil: not looked for
}
