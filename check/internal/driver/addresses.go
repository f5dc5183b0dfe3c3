package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// addressUse has the addresses that the program has connected to, or listened at, in any execution.
// The key is the text of the address, so that noting is cheap. Texts are parsed when a report asks
// for them.
type addressUse map[Use]bool

// Use is an address with the kind of input that used it: Connect or Listen.
type Use struct {
	Kind    model.Kind
	Address string
}

// maxAddresses bounds how many are noted: a program may use another port in each execution.
const maxAddresses = 1024

// note notes the address of an input that has one. Beyond maxAddresses nothing is noted, and unused
// then stays silent.
func (u addressUse) note(in model.Input) {
	if used := (Use{in.Kind, in.Addr}); !u[used] && len(u) < maxAddresses {
		u[used] = true
	}
}

// unused says which of the peers had no part in any execution. A verdict says nothing of those, and
// a wrong port is not always a violation. Servers may be there for other peers: they are unused
// only if none of them was connected to. Each line is a sentence for the report. A full set gives
// no lines, since what is missing from it is unknown.
func (u addressUse) unused(group []peers.Peer) (lines []string) {
	if len(u) == maxAddresses {
		return nil
	}
	listened, connected := []proxy.Address{}, map[where]bool{}
	// A datagram socket without a destination may have sent to every peer of its network.
	everybody := map[proxy.Network]bool{} // whether a datagram socket could send to any
	for used := range u {
		if at, listens := listensAt(model.Input{Kind: used.Kind, Addr: used.Address}); listens {
			listened = append(listened, at)
		}
		if used.Kind == model.Connect {
			a := mustParse(used.Address)
			connected[whereOf(a)] = true
			everybody[a.Network] = everybody[a.Network] || !a.At.IsValid() && a.Path == ""
		}
	}
	var servers []string
	reached := false
	for _, peer := range group {
		if peer.IsClient() && !slices.ContainsFunc(listened, peer.Waits) {
			lines = append(lines, fmt.Sprintf(
				"%s was never started: it waits until the program listens %s; %s",
				peer.Name, peer.Awaited(), u.list(model.Listen, "it listened at", "it did not listen")))
		}
		addresses, _ := peer.Addresses() // they were validated
		for _, at := range addresses {
			servers = append(servers, fmt.Sprintf("%s at %s", peer.Name, at))
			reached = reached || connected[whereOf(at)] || everybody[at.Network]
		}
	}
	if len(servers) > 0 && !reached {
		lines = append(lines, fmt.Sprintf("no execution connected to %s; %s", strings.Join(servers, ", "),
			u.list(model.Connect, "the program connected to", "the program did not connect to anything")))
	}
	return lines
}

// where is what of an address says who is there: a socket at all addresses has each of them. The
// host is left out: peers listen on loopback, whichever of its addresses is dialled.
type where struct {
	network proxy.Network
	port    uint16
	path    string
}

// whereOf drops the host of an address.
func whereOf(a proxy.Address) where { return where{a.Network, a.At.Port(), a.Path} }

// list lists addresses of one kind, after what was done with them; none if there are none. At most
// four addresses are listed, in the order of their texts.
func (u addressUse) list(kind model.Kind, did, none string) string {
	const most = 4
	var list []string
	byAddress := func(a, b Use) int { return strings.Compare(a.Address, b.Address) }
	for _, used := range slices.SortedFunc(maps.Keys(u), byAddress) {
		if used.Kind == kind && len(list) < most {
			list = append(list, used.Address)
		}
	}
	if len(list) == 0 {
		return none
	}
	return did + " " + strings.Join(list, ", ")
}
