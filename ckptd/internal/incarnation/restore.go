package incarnation

import "github.com/tandem-mc/tandem/proxy"

// Restore is an incarnation that is about to be brought back. Either Start or Abort ends it.
type Restore interface {
	// Stop ends what runs of the group, as far as it is not needed any more. Peers that have ended
	// are nobody's.
	Stop(in *Incarnation, ended bool) error
	// Start starts the incarnation as it was when it was saved. The files are in place by then.
	Start() (*Started, error)
	// Abort gives it up, and ends what has been made of it.
	Abort()
}

// Started is what has come of a restore.
type Started struct {
	Next    *Next
	PID     int              // of the new proxy; 0: the old one goes on
	Peers   []int            // pids of the peers; nil: they are not known
	Sockets map[proxy.ID]int // descriptors of the sockets of the proxy, for the checker
}
