package configs

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// nodeProblems says what is wrong with the programs that are checked together. Each problem is that
// of one key, so that all are found at once.
func nodeProblems(nodes []Node) (wrong list) {
	// A single program is checked with its peers.
	if n := len(nodes); n == 1 || n > MaxNodes {
		wrong.add("nodes", "there are %d nodes: name 2 to %d", n, MaxNodes)
		return wrong
	}
	names, taken := map[string]bool{}, addresses{}
	for i, n := range nodes {
		key := fmt.Sprintf("nodes[%d]", i)
		switch {
		case n.Name == "" || strings.ContainsFunc(n.Name, isNoNameRune):
			wrong.add(key+".name", "%.64q cannot be the name of a node: give one of letters and digits",
				n.Name)
		case names[n.Name]:
			wrong.add(key+".name", "there are two nodes %s: give each a name of its own", n.Name)
		}
		// One that is wrong is told of once.
		names[n.Name] = true
		if n.Package == "" {
			wrong.add(key+".package", "it is missing: name a package, such as ./cmd/node")
		}
		if what := taken.add(n); what != "" {
			wrong.add(key+".listen", "%s", what)
		}
		if what := groupProblem(nodes, n); what != "" {
			wrong.add(key+".group", "%s", what)
		}
	}
	return wrong
}

// groupProblem is what is wrong with the group of a node; empty: nothing. Without others in it, or
// outside of it, it would change nothing.
//
// The name of a group stands in reports, beside those of nodes.
func groupProblem(nodes []Node, n Node) string {
	size := 0
	for _, other := range nodes {
		if other.Group == n.Group {
			size++
		}
	}
	switch {
	case n.Group == "":
	case strings.ContainsFunc(n.Group, isNoNameRune):
		return fmt.Sprintf("%.64q cannot be the name of a group: give one of letters and digits", n.Group)
	case size == 1:
		return fmt.Sprintf("no other node is in group %s: give another one the same group, or leave it out",
			n.Group)
	case size == len(nodes):
		return fmt.Sprintf("all nodes are in group %s, so nobody sees it from outside: make several groups, "+
			"or leave it out", n.Group)
	}
	return ""
}

// maxListen bounds how many addresses a node can have.
const maxListen = 16

// addresses has who has them first. IP addresses are without a port: one belongs to one node, which
// may listen at all of its ports. Those of loopback are shared, so of these none is here but with a
// port. IPv4 addresses are not mapped into IPv6, however they are written, so that each is here in
// one form only.
type addresses map[netip.AddrPort]string

// add adds the addresses of a node, and says what is wrong with the first that it cannot have.
// Names would have to be looked up, and those of nodes stand for these addresses.
func (a addresses) add(n Node) (wrong string) {
	// A list in the file is a text with blanks in between.
	list := strings.Fields(n.Listen)
	if len(list) > maxListen {
		return fmt.Sprintf("there are %d addresses: give a node at most %d", len(list), maxListen)
	}
	for _, text := range list {
		at, err := netip.ParseAddrPort(text)
		ip := at.Addr()
		// Without a port it is an address of the node, and it is not said where that listens.
		if err != nil {
			ip, err = netip.ParseAddr(text)
		} else if at.Port() == 0 {
			err = strconv.ErrRange
		}
		ip = ip.Unmap()
		if err != nil || ip.IsUnspecified() || ip.IsMulticast() || ip.Zone() != "" ||
			ip.IsLoopback() && at.Port() == 0 {
			return fmt.Sprintf("%.64q is not where a node can listen: give an IP address with a port, "+
				"such as 10.0.0.1:7000 or 127.0.0.1:7000", text)
		}
		other, taken := a[netip.AddrPortFrom(ip, 0)]
		if taken && other != n.Name {
			return fmt.Sprintf("node %s has the address %s, too: give each node one of its own, or one of "+
				"loopback, which nodes share", other, ip)
		}
		if !ip.IsLoopback() {
			a[netip.AddrPortFrom(ip, 0)] = n.Name
		}
		if at = netip.AddrPortFrom(ip, at.Port()); at.Port() == 0 {
			continue
		}
		if other, taken := a[at]; taken {
			return fmt.Sprintf("node %s listens at %s, too: give each an address of its own", other, at)
		}
		a[at] = n.Name
	}
	return ""
}

// isNoNameRune reports whether a node cannot have this in its name, which stands in reports and in
// the names of connections.
func isNoNameRune(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// publishedProblems says what is wrong with the names of a key that is about what nodes publish.
func publishedProblems(key string, names []string, nodes int) (wrong list) {
	switch n := len(names); {
	case n > 0 && nodes == 0:
		wrong.add(key, "only several nodes have what it is about, and there are none: leave it out")
	case n > maxPublished:
		wrong.add(key, "there are %d names: use patterns such as log/*, at most %d of them", n, maxPublished)
	}
	for i, pattern := range names {
		_, err := path.Match(pattern, "")
		if err != nil || pattern == "" || strings.ContainsRune(pattern, 0) {
			wrong.add(fmt.Sprintf("%s[%d]", key, i), "%.64q is no name, and no pattern of names: write what "+
				"tandem.Publish has, or a pattern such as log/*", pattern)
		}
	}
	return wrong
}

// besideRefused is the error of peers that cannot be beside nodes yet. Clients would have to be
// started when a node listens, and there is no name for their connections. Of datagrams it is not
// known whose they are.
func besideRefused(group *peers.Group) error {
	if group == nil {
		return nil
	}
	for _, p := range group.Peers {
		if p.IsClient() {
			return fmt.Errorf("peer %s is a client, and beside nodes only servers can be peers: leave it "+
				"out, or make a node of it", p.Name)
		}
		addresses, _ := p.Addresses() // they were validated
		for _, at := range addresses {
			if at.Network.KeepsBounds() {
				return fmt.Errorf("peer %s listens at %s, and beside nodes only streams are possible, of "+
					"TCP or Unix sockets: leave it out", p.Name, at)
			}
		}
	}
	return nil
}

// besideProblems says what is wrong with nodes that have peers beside them: whom a name means, and
// who is at an address.
func besideProblems(nodes []Node, group *peers.Group) (wrong list) {
	if group == nil {
		return nil
	}
	for i, n := range nodes {
		for _, p := range group.Peers {
			// Steps and lanes of a report have one name, of a node or of a peer.
			if p.Name == n.Name {
				wrong.add(fmt.Sprintf("nodes[%d].name", i), "peer %s has the same name: give the node "+
					"another one", p.Name)
			}
			addresses, _ := p.Addresses() // what is wrong with them is told of the peer
			for _, at := range addresses {
				if slices.ContainsFunc(strings.Fields(n.Listen), func(node string) bool {
					return overlap(node, at)
				}) {
					wrong.add(fmt.Sprintf("nodes[%d].listen", i), "peer %s listens at %s, too: give each an "+
						"address of its own", p.Name, at)
				}
			}
		}
		if n.Name == "peers" && len(group.Peers) > 1 {
			wrong.add(fmt.Sprintf("nodes[%d].name", i), "all peers together have this name: give the node "+
				"another one")
		}
	}
	return wrong
}

// overlap says whether a connect may be one to either of two addresses, of a node and of a peer.
// Those of loopback are shared. Peers have no other ones.
func overlap(node string, peer proxy.Address) bool {
	at, err := netip.ParseAddrPort(node)
	if err != nil || peer.Network != proxy.TCP || !at.Addr().IsLoopback() {
		return false
	}
	// A peer at all addresses is at each of them.
	return at.Port() == peer.At.Port() && (at.Addr() == peer.At.Addr() || peer.At.Addr().IsUnspecified())
}
