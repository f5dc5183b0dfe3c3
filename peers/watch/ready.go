package watch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/tandem-mc/tandem/proxy"
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
		addresses, err := p.Addresses()
		if err != nil {
			return nil, errors.New("peer " + p.Name + ": " + err.Error())
		}
		for _, at := range addresses {
			there := false
			switch {
			case at.Network == proxy.TCP:
				there = listens(all, at.At)
			case at.Network == proxy.UDP:
				there, err = w.hasUDP(at.At)
			default:
				there, err = w.hasUnix(at)
			}
			if err != nil {
				return nil, err
			}
			if !there {
				missing = append(missing, fmt.Sprintf("peer %s is not ready: nobody listens on %v",
					p.Name, at))
			}
		}
	}
	return missing, nil
}

// listens tells whether a connection to the address would find a listener.
func listens(all []socket, at netip.AddrPort) bool {
	for _, s := range all {
		if s.state == tcpListen && s.local.Port() == at.Port() && reaches(s.local.Addr(), at.Addr()) {
			return true
		}
	}
	return false
}

// reaches tells whether who is bound to an address gets what is sent to another one. Whether a
// socket of IPv6 has IPv4 as well does not show; most have.
func reaches(bound, at netip.Addr) bool {
	return bound == at || bound == netip.IPv6Unspecified() || bound.IsUnspecified() && at.Is4()
}
