package daemon

import (
	"os"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys/netns"
)

// Each incarnation is in a network namespace of its own: connections of the one before it, and
// packets on their way there, are nothing that the next could see.

// networks makes the network namespaces that incarnations are in. One is made ahead, between
// requests, since it takes about as long as all the rest of a restore in memory. It is used by
// several goroutines.
type networks struct {
	spare chan *os.File // has room for one
}

func newNetworks() networks { return networks{spare: make(chan *os.File, 1)} }

// makeNext makes what the next incarnation of a group needs. Unless it is nil, inside is carried
// out in its network. After an error the network is closed.
func (n networks) makeNext(inside func() error) (*incarnation.Next, error) {
	network, err := n.get()
	if err != nil {
		return nil, err
	}
	return incarnation.MakeNext(network, inside)
}

// get returns a fresh network namespace, the one that was made ahead if there is one.
func (n networks) get() (*os.File, error) {
	select {
	case network := <-n.spare:
		return network, nil
	default:
		return netns.New()
	}
}

// makeSpare makes one ahead if there is none. One that is not used ends with the daemon.
func (n networks) makeSpare() {
	if len(n.spare) > 0 {
		return
	}
	spare, err := netns.New()
	if err != nil {
		return // a request that needs one finds out
	}
	select {
	case n.spare <- spare:
	default: // another request has been faster
		spare.Close()
	}
}
