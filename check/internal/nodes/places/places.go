// Package places knows where nodes are: which addresses each of them has, by which name others know
// it, and who is at an address.
//
// Loopback addresses are shared: they belong to whoever is said to listen there. All other
// addresses are those of one node, at which it listens wherever it likes.
package places

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Given is what is said of a node.
type Given struct {
	Name string
	// Listen are the addresses at which others reach it, with blanks in between. An IP address
	// without a port is one of the node, and no more.
	Listen string
	// Own are its IP addresses beside loopback, where they are known; nil: those of Listen, or some
	// that nobody else has.
	Own []string
}

// Places is where nodes are. They are known by their places in what was given.
type Places struct {
	given  []Given
	own    [][]netip.Addr         // of each
	said   map[netip.AddrPort]int // where they are said to listen
	owners map[netip.Addr]int
	ports  []map[uint16]bool // of the addresses where each is said to listen
}

// Found says who is at an address.
type Found uint8

// What is found at an address.
const (
	Nobody Found = iota
	Said         // a node is said to listen there: who connects waits until it does
	Own          // a node may listen there: who connects is refused as long as it does not
)

// New is where nodes are, if each of them can have its addresses.
func New(given []Given) (*Places, error) {
	p := &Places{given: slices.Clone(given), said: map[netip.AddrPort]int{}, owners: map[netip.Addr]int{}}
	for i := range p.given {
		g := &p.given[i]
		p.ports, p.own = append(p.ports, map[uint16]bool{}), append(p.own, nil)
		for _, text := range g.Own {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("node %s: %w", g.Name, err)
			}
			p.own[i] = append(p.own[i], a)
		}
		for _, text := range strings.Fields(g.Listen) {
			at, err := Parse(text)
			if err != nil {
				return nil, fmt.Errorf("node %s: %w", g.Name, err)
			}
			if !at.Addr().IsLoopback() && !slices.Contains(p.own[i], at.Addr()) {
				p.own[i] = append(p.own[i], at.Addr())
			}
			if at.Port() == 0 {
				continue
			}
			if other, taken := p.said[at]; taken {
				return nil, fmt.Errorf("nodes %s and %s both listen at %s: give each an address of its own",
					p.given[other].Name, g.Name, at)
			}
			p.said[at], p.ports[i][at.Port()] = i, true
		}
		for _, a := range p.own[i] {
			if other, taken := p.owners[a]; taken && other != i {
				return nil, fmt.Errorf("nodes %s and %s both have the address %s: give each one of its own, "+
					"or loopback addresses, which they share", p.given[other].Name, g.Name, a)
			}
			p.owners[a] = i
		}
	}
	p.giveOthers()
	return p, nil
}

// Parse reads an address of a node; its port is 0 if it has none.
func Parse(text string) (at netip.AddrPort, err error) {
	if at, err = netip.ParseAddrPort(text); err != nil {
		ip, wrong := netip.ParseAddr(text)
		if wrong != nil {
			return at, fmt.Errorf("%.64q is no IP address and no port of one: write 10.0.0.1:7000", text)
		}
		return netip.AddrPortFrom(ip.Unmap(), 0), nil
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), nil
}

// giveOthers gives nodes an address that have none beside loopback, of each family that others
// have: one of the same network that nobody has.
func (p *Places) giveOthers() {
	var first [2]netip.Addr // of IPv4, and of IPv6
	for _, own := range p.own {
		for _, a := range own {
			if family := familyOf(a); !first[family].IsValid() {
				first[family] = a
			}
		}
	}
	for i := range p.given {
		if len(p.own[i]) == 0 {
			for _, like := range first {
				if like.IsValid() {
					a := p.free(like, byte(101+i))
					p.own[i], p.owners[a] = append(p.own[i], a), i
				}
			}
		}
	}
}

// familyOf is 0 for IPv4, and 1 for IPv6.
func familyOf(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

// free is an address that nobody has, which is like another one but for its last byte, if that can
// be.
func (p *Places) free(like netip.Addr, last byte) netip.Addr {
	bytes := like.AsSlice()
	bytes[len(bytes)-1] = last
	a, _ := netip.AddrFromSlice(bytes)
	for taken := true; taken; {
		if _, taken = p.owners[a]; taken {
			a = a.Next()
		}
	}
	return a
}

// Own are the IP addresses of a node beside loopback; nil: it has none.
func (p *Places) Own(node int) []netip.Addr { return p.own[node] }

// Has says which node has an IP address, which is not of loopback.
func (p *Places) Has(a netip.Addr) (node int, has bool) {
	node, has = p.owners[a]
	return node, has
}

// Source is the address from which a node sends something to another address.
func (p *Places) Source(node int, to netip.Addr) netip.Addr {
	own := p.own[node]
	if i := slices.IndexFunc(own, func(a netip.Addr) bool { return a.Is4() == to.Is4() }); i >= 0 &&
		!to.IsLoopback() {
		return own[i]
	}
	if to.Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}

// Hosts are lines of a hosts file with the names of the nodes, but for those that have a line
// already: each stands for where others are said to reach it, or for its addresses.
func (p *Places) Hosts(already []string) (lines []string) {
	known := func(name string) bool {
		return slices.ContainsFunc(already, func(line string) bool {
			return slices.Contains(strings.Fields(line)[1:], name)
		})
	}
	for i, g := range p.given {
		var list []netip.Addr
		for _, text := range strings.Fields(g.Listen) {
			at, _ := Parse(text)
			list = append(list, at.Addr())
		}
		if len(list) == 0 {
			list = p.own[i]
		}
		for k, a := range list {
			if !slices.Contains(list[:k], a) && !known(g.Name) {
				lines = append(lines, a.String()+" "+g.Name)
			}
		}
	}
	return lines
}

// At is who is at an address with a port.
func (p *Places) At(address string) (node int, found Found) {
	at, err := netip.ParseAddrPort(address)
	if p == nil || err != nil {
		return 0, Nobody
	}
	if node, said := p.said[at]; said {
		return node, Said
	}
	// A node that is said to listen at a port is there at the addresses that are said.
	node, owned := p.owners[at.Addr()]
	if !owned || p.ports[node][at.Port()] {
		return 0, Nobody
	}
	return node, Own
}

// IsOwn says whether others reach a listener of a node, at an address, where nobody said that it
// listens.
func (p *Places) IsOwn(node int, listener string) bool {
	if p == nil || len(p.own[node]) == 0 {
		return false
	}
	at, err := netip.ParseAddrPort(strings.TrimPrefix(listener, "tcp6 "))
	return err == nil && !at.Addr().IsLoopback() && !p.ports[node][at.Port()]
}

// Ports are the ports that sockets of a node get which ask for none: so many from the first one on.
// Nodes share loopback, so each has others, as if they were programs of one machine.
func (p *Places) Ports(node int) (first uint16, n int) {
	const linux, count = 32768, 28232
	n = count / len(p.given)
	return uint16(linux + node*n), n
}

// Ends are where both ends of a connection are that a node has made to an address, by the name of
// the connection: a name, #, and how many connections it was of the node. The node may have said
// where its end is to be. If not, its port is one that no socket has which asks for any port.
func (p *Places) Ends(node int, conn, address, said string) model.Ends {
	there, err := netip.ParseAddrPort(address)
	if said != "" || err != nil {
		return model.Ends{Local: said, Remote: address}
	}
	const first, count = 61000, 4536
	each := count / len(p.given)
	k, _ := strconv.Atoi(conn[strings.LastIndexByte(conn, '#')+1:])
	port := first + node*each + max(k-1, 0)%each
	here := netip.AddrPortFrom(p.Source(node, there.Addr()), uint16(port))
	return model.Ends{Local: here.String(), Remote: address}
}

// Describe says what a node sees of that: its addresses, its name, and those of all.
func (p *Places) Describe(e *sut.Environment, node int) {
	if e.Hostname == "" || e.Hostname == sut.DefaultHostname {
		e.Hostname = p.given[node].Name
	}
	e.Hosts = append(slices.Clip(e.Hosts), p.Hosts(e.Hosts)...)
	for _, a := range p.Own(node) {
		e.Addresses = append(e.Addresses, a.String())
	}
	e.FirstPort, e.Ports = p.Ports(node)
}
