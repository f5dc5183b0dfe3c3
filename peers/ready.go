package peers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Ready waits until every peer listens where it says, and the group is quiescent.
// When ctx ends before, the error names the peers that do not listen.
func (w *Watch) Ready(ctx context.Context) error {
	pause := minPause
	for {
		if err := w.Check(); err != nil {
			return fmt.Errorf("before it was ready: %w", err)
		}
		missing, err := w.notListening()
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return w.Quiesce(ctx, nil)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(missing, "; "), err)
		}
		nap(pause)
		pause = min(pause+pause/2, maxPause)
	}
}

// notListening says of each peer that should listen and does not that it is so.
func (w *Watch) notListening() ([]string, error) {
	all, err := w.diagnosis.sockets()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, p := range w.peers {
		if p.Listen == "" {
			continue
		}
		want, err := netip.ParseAddrPort(p.Listen)
		if err != nil {
			return nil, errors.New("peer " + p.Name + ": " + err.Error())
		}
		if !listens(all, want) {
			missing = append(missing, fmt.Sprintf("peer %s is not ready: nobody listens on %v", p.Name, want))
		}
	}
	return missing, nil
}

// listens tells whether a connection to the address would find a listener.
func listens(all []socket, at netip.AddrPort) bool {
	for _, s := range all {
		if s.state == tcpListen && s.local.Port() == at.Port() &&
			(s.local.Addr() == at.Addr() || s.local.Addr().IsUnspecified()) {
			return true
		}
	}
	return false
}
