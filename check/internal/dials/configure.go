package dials

import (
	"net/netip"
	"strings"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/proxy"
)

// maxEntries bounds how many peers are suggested. A long list would be edited by nobody. One entry
// shows the form.
const maxEntries = 3

// configuration is what makes peers of what is missing, as lines of the configuration; empty if
// nothing is. The lines are YAML with the key peers. Servers come first, since clients may depend
// on them.
func configuration(missing []target, waited []proxy.Address) (lines []string) {
	entries := 0
	entry := func(text ...string) {
		if entries++; entries <= maxEntries {
			lines = append(lines, text...)
		}
	}
	for _, at := range missing {
		entry(configs.Wanted{Address: at.Address, Name: at.name}.Entry()...)
	}
	for _, a := range waited {
		entry(configs.ClientEntry(a)...)
	}
	if entries == 0 {
		return nil
	}
	if entries > maxEntries {
		lines = append(lines, "  # and so on")
	}
	return append([]string{"peers:"}, lines...)
}

// text is the target as people write it. The network is joined by a colon, as in the configuration.
func (t target) text() string {
	if t.name != "" {
		return t.name
	}
	return strings.Replace(t.String(), " ", ":", 1)
}

// loopback is the target, or the first loopback address with its port, if it is another one. Only
// IPv6 loopback is changed. All other targets are returned as they are.
func (t target) loopback() target {
	if t.At.Addr().IsLoopback() && t.At.Addr().Is6() {
		t.At = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), t.At.Port())
	}
	return t
}

// reachable are addresses at which clients find the program: of all addresses, the port. An
// unspecified address is shortened to its port, as Go programs write it.
func reachable(list []proxy.Address) (texts []string) {
	for _, a := range list {
		text := target{Address: a}.text()
		if a.At.IsValid() && a.At.Addr().IsUnspecified() {
			text = strings.Replace(text, a.At.Addr().String(), "", 1)
			// The brackets are those of an IPv6 address.
			text = strings.Replace(text, "[]", "", 1)
		}
		texts = append(texts, text)
	}
	return texts
}
