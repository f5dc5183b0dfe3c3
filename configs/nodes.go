package configs

import (
	"fmt"
	"net/netip"
	"path"
	"strings"
)

// nodeProblems says what is wrong with the programs that are checked together. Each problem is that
// of one key, so that all are found at once.
func nodeProblems(nodes []Node) (wrong list) {
	// A single program is checked with its peers.
	if n := len(nodes); n == 1 || n > MaxNodes {
		wrong.add("nodes", "there are %d nodes: name 2 to %d", n, MaxNodes)
		return wrong
	}
	// addresses has who listens there first.
	names, addresses := map[string]bool{}, map[string]string{}
	// Addresses are compared as they are written: so are they when a program connects.
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
		if n.Listen == "" {
			continue // it only connects to others
		}
		// Names would have to be looked up, and nodes have no name server.
		at, err := netip.ParseAddrPort(n.Listen)
		other, taken := addresses[n.Listen]
		switch {
		case err != nil || !at.Addr().IsLoopback() || at.Port() == 0:
			wrong.add(key+".listen", "%.64q is not where a node can listen: give an address of the loopback "+
				"network with a port, such as 127.0.0.1:7000", n.Listen)
		case taken:
			wrong.add(key+".listen", "node %s listens at %s, too: give each an address of its own", other,
				n.Listen)
		}
		addresses[n.Listen] = n.Name
	}
	return wrong
}

// isNoNameRune reports whether a node cannot have this in its name, which stands in reports and in
// the names of connections.
func isNoNameRune(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// agreeProblems says what is wrong with the names on which nodes are to agree.
func agreeProblems(agree []string, nodes int) (wrong list) {
	switch n := len(agree); {
	case n > 0 && nodes == 0:
		wrong.add("agree", "only nodes agree, and there are none: leave it out")
	case n > maxAgree:
		wrong.add("agree", "there are %d names: use patterns such as log/*, at most %d of them",
			n, maxAgree)
	}
	for i, pattern := range agree {
		_, err := path.Match(pattern, "")
		if err != nil || pattern == "" || strings.ContainsRune(pattern, 0) {
			wrong.add(fmt.Sprintf("agree[%d]", i), "%.64q is no name, and no pattern of names: write what "+
				"tandem.Publish has, or a pattern such as log/*", pattern)
		}
	}
	return wrong
}
