package check

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/iocache"
)

// dealing is an address that the program has connected to, or listened at, in some execution.
type dealing struct {
	kind    iocache.Kind
	address string
}

// maxDealings bounds how many are noted: a program may use another port in each execution.
const maxDealings = 1024

// noteDealing notes the address of an input that has one. The caller holds mu.
func (p *peerSide) noteDealing(in iocache.Input) {
	if d := (dealing{in.Kind, in.Addr}); !p.dealings[d] && len(p.dealings) < maxDealings {
		p.dealings[d] = true
	}
}

// unused says which of the peers had no part in any execution: a verdict says nothing of those, and a wrong port is not
// always a violation. Servers may be there for other peers: they are unused only if none of them was connected to.
func (p *peerSide) unused() (lines []string) {
	if len(p.dealings) == maxDealings {
		return nil
	}
	used := map[iocache.Kind]map[uint16]bool{iocache.Connect: {}, iocache.Listen: {}}
	for d := range p.dealings {
		if at, err := netip.ParseAddrPort(d.address); err == nil {
			used[d.kind][at.Port()] = true
		}
	}
	var servers []string
	reached := false
	for _, peer := range p.spec.Peers {
		if port, waits := peer.WaitsFor(); waits && !used[iocache.Listen][port] {
			lines = append(lines, fmt.Sprintf("%s was never started: it waits until the program listens on port %d; %s", peer.Name, port, p.dealt(iocache.Listen, "it listened at", "it did not listen")))
		}
		if at, err := netip.ParseAddrPort(peer.Listen); err == nil {
			servers = append(servers, fmt.Sprintf("%s at %s", peer.Name, at))
			reached = reached || used[iocache.Connect][at.Port()]
		}
	}
	if len(servers) > 0 && !reached {
		lines = append(lines, fmt.Sprintf("no execution connected to %s; %s", strings.Join(servers, ", "), p.dealt(iocache.Connect, "the program connected to", "the program did not connect to anything")))
	}
	return lines
}

// dealt lists addresses of one kind, after what was done with them; none if there are none.
func (p *peerSide) dealt(kind iocache.Kind, did, none string) string {
	const most = 4
	var list []string
	for _, d := range slices.SortedFunc(maps.Keys(p.dealings), func(a, b dealing) int { return strings.Compare(a.address, b.address) }) {
		if d.kind == kind && len(list) < most {
			list = append(list, d.address)
		}
	}
	if len(list) == 0 {
		return none
	}
	return did + " " + strings.Join(list, ", ")
}
