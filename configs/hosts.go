package configs

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/peers"
)

// hosts joins addresses and names as a hosts file does. The name of a peer is where it listens,
// unless the file says otherwise. So programs find their peers without an address in their
// configuration. Lines are those of hosts(5), those of the file first.
func (d groupKeys) hosts(group []peers.Peer) (lines []string, problems []Problem) {
	var names []string
	for _, h := range d.Hosts {
		address, err := netip.ParseAddr(h.Value)
		what := ""
		switch {
		case !validHost(h.Key):
			what = "this cannot be the name of a host: use letters, digits, - and dots"
		case len(d.Nodes) > 0 && err == nil && address.Zone() == "": // others have any address
		case err != nil || address.Zone() != "" || !address.IsLoopback():
			what = fmt.Sprintf("%.64q is not an address of the program's network, which is loopback: use "+
				"one of 127.0.0.0/8, or ::1", h.Value)
		}
		if what != "" {
			problems = append(problems, Problem{Key: fmt.Sprintf("hosts[%q]", h.Key), What: what})
			continue
		}
		names = append(names, h.Key)
		lines = append(lines, address.String()+" "+h.Key)
	}
	// The name of a peer may be one that no host can have.
	for _, p := range group {
		if !validHost(p.Name) || slices.Contains(names, p.Name) {
			continue
		}
		for _, address := range reachedAt(p) {
			names = append(names, p.Name)
			lines = append(lines, address.String()+" "+p.Name)
		}
	}
	return lines, problems
}

// reachedAt are the IP addresses where a peer listens, each once. One that listens on all addresses
// is reached by that of loopback.
func reachedAt(p peers.Peer) (all []netip.Addr) {
	addresses, _ := p.Addresses() // what is wrong with them is found elsewhere
	for _, a := range addresses {
		ip := a.At.Addr()
		switch ip {
		case netip.Addr{}:
			continue
		case netip.IPv4Unspecified():
			ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		case netip.IPv6Unspecified():
			ip = netip.IPv6Loopback()
		}
		if !slices.Contains(all, ip) {
			all = append(all, ip)
		}
	}
	return all
}

// validHost reports whether a name can stand in a hosts file. An underscore is allowed, since names
// of containers have some.
func validHost(name string) bool {
	const limit = 253 // of the domain name system
	return name != "" && len(name) <= limit && strings.Trim(name, "."+hostLetters) == "" &&
		!strings.HasPrefix(name, ".") && !strings.Contains(name, "..")
}

// hostLetters are allowed in the name of a host, besides dots.
const hostLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
