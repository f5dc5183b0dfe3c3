package configs

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Absent is an address at which nobody listens on purpose, or a name that nobody has: one of the
// two. What the program gets there is part of the check, and no sign that a peer was forgotten.
type Absent struct {
	Address proxy.Address `json:",omitzero"`
	Name    string        `json:",omitempty"`
}

// maxAbsent bounds how many there are.
const maxAbsent = 100

// String is the entry as it is written.
func (a Absent) String() string {
	if a.Name != "" {
		return a.Name
	}
	return strings.Replace(a.Address.String(), " ", ":", 1)
}

// Covers reports whether a dial is meant: the same address, or the same name in any case.
func (a Absent) Covers(at proxy.Address, name string) bool {
	if a.Name != "" || name != "" {
		return strings.EqualFold(a.Name, name)
	}
	return a.Address == at
}

// parseAbsent reads entries. What is wrong with one is reported under its key.
func parseAbsent(entries []string) (all []Absent, wrong list) {
	if len(entries) > maxAbsent {
		wrong.add("absent", "there are %d entries, and %d is the limit: leave some "+
			"out", len(entries), maxAbsent)
		return nil, wrong
	}
	for i, text := range entries {
		a, err := absent(text)
		if err == nil && slices.Contains(all, a) {
			err = fmt.Errorf("%.64q is there twice: leave it out", text)
		}
		if err != nil {
			wrong.add(fmt.Sprintf("absent[%d]", i), "%v", err)
			a = Absent{} // a place holder, so that the others keep their numbers
		}
		all = append(all, a)
	}
	return all, wrong
}

// absent reads one entry: an address as that of a peer, but anywhere, or a name without a port. A
// name is looked up before there is a port, so one with a port would promise too much.
func absent(text string) (Absent, error) {
	// What is neither is told of all forms at once.
	form := fmt.Errorf("%.64q is neither an address nor a name: write 127.0.0.1:6379, [::1]:80, "+
		"udp:127.0.0.1:53, unix:{scratch}/socket, or a name such as db.example.com", text)
	a, err := proxy.ParseAddress(strings.ReplaceAll(text, peers.Scratch, peers.ScratchDirectory))
	if err == nil {
		return Absent{Address: a}, canBeAbsent(a)
	}
	// Common slips are told of by themselves.
	host, _, hasPort := strings.Cut(text, ":")
	name := strings.TrimSuffix(text, ".")
	_, notIP := netip.ParseAddr(name)
	switch {
	case strings.EqualFold(host, "localhost"):
		return Absent{}, errors.New("localhost is a name that always exists: give the address, such as " +
			"127.0.0.1:6379")
	case notIP == nil:
		return Absent{}, fmt.Errorf("%s is without a port: give one, such as %s", text,
			netip.AddrPortFrom(netip.MustParseAddr(name), 6379))
	case hasPort && validHost(host):
		return Absent{}, fmt.Errorf("%.64q is a name with a port: leave the port out, since a name "+
			"that nobody has is looked up without one", text)
	case !validHost(name):
		return Absent{}, form
	}
	return Absent{Name: name}, nil
}

// canBeAbsent says why no dial goes to an address.
func canBeAbsent(a proxy.Address) error {
	// The first two are forms that other keys and messages have, and nobody dials.
	switch {
	case a.From.IsValid() || a.FromPath != "":
		return errors.New("leave `from` out, since it does not matter where the program sends from")
	case a.OnlySix:
		return errors.New("leave the 6 out, since the address is one of IPv6")
	case a.Network.IsUnix():
		return nil
	case a.At.Port() == 0:
		return errors.New("there is no port: give one, such as 127.0.0.1:6379")
	case a.At.Addr().IsUnspecified():
		return fmt.Errorf("%v is all addresses: name the one that is dialled, such as 127.0.0.1:%d",
			a.At.Addr(), a.At.Port())
	}
	return nil
}
