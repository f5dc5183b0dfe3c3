package watch

import "golang.org/x/sys/unix"

// Ending says that a client has ended.
type Ending struct {
	Peer   int // its index in the group
	Status unix.WaitStatus
}

// Ended lists the clients that have ended, in their order. One that had ended at a checkpoint may
// be missing after a restore.
func (w *Watch) Ended() ([]Ending, error) {
	var all []Ending
	for i, pid := range w.hosts {
		if pid == 0 || !w.peers[i].IsClient() {
			continue
		}
		s, err := w.proc.Stat(pid)
		if err != nil {
			return nil, w.asDeath(err)
		}
		if s.Ended() {
			all = append(all, Ending{i, s.Status})
		}
	}
	return all, nil
}

// Started has the watch look for clients that were started since.
func (w *Watch) Started() error { return w.findPeers() }
