package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/proxy"
)

// dealing is an address that the program has connected to, or listened at, in some execution.
type dealing struct {
	kind    model.Kind
	address string
}

// maxDealings bounds how many are noted: a program may use another port in each execution.
const maxDealings = 1024

// noteDealing notes the address of an input that has one. The caller holds mu.
func (p *peerSide) noteDealing(in model.Input) {
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
	listened, connected := []proxy.Address{}, map[where]bool{}
	everybody := map[proxy.Network]bool{} // whether a datagram socket could send to any
	for d := range p.dealings {
		if at, listens := listensAt(model.Input{Kind: d.kind, Addr: d.address}); listens {
			listened = append(listened, at)
		}
		if d.kind == model.Connect {
			a := mustParse(d.address)
			connected[whereOf(a)] = true
			everybody[a.Network] = everybody[a.Network] || !a.At.IsValid() && a.Path == ""
		}
	}
	var servers []string
	reached := false
	for _, peer := range p.spec.Peers {
		if peer.IsClient() && !slices.ContainsFunc(listened, peer.Waits) {
			lines = append(lines, fmt.Sprintf("%s was never started: it waits until the program listens %s; %s", peer.Name, peer.Awaited(), p.dealt(model.Listen, "it listened at", "it did not listen")))
		}
		addresses, _ := peer.Addresses() // they were validated
		for _, at := range addresses {
			servers = append(servers, fmt.Sprintf("%s at %s", peer.Name, at))
			reached = reached || connected[whereOf(at)] || everybody[at.Network]
		}
	}
	if len(servers) > 0 && !reached {
		lines = append(lines, fmt.Sprintf("no execution connected to %s; %s", strings.Join(servers, ", "), p.dealt(model.Connect, "the program connected to", "the program did not connect to anything")))
	}
	return lines
}

// where is what of an address says who is there: a socket at all addresses has each of them.
type where struct {
	network proxy.Network
	port    uint16
	path    string
}

func whereOf(a proxy.Address) where { return where{a.Network, a.At.Port(), a.Path} }

// dealt lists addresses of one kind, after what was done with them; none if there are none.
func (p *peerSide) dealt(kind model.Kind, did, none string) string {
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
