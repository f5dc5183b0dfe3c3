package dials

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// maxEntries bounds how many peers are suggested. A long list would be edited by nobody. One entry
// shows the form.
const maxEntries = 3

// profiles are those of servers that are known by their port. The port is the default one of each
// server.
var profiles = map[uint16]string{
	1883: "mosquitto", 2379: "etcd", 3306: "mariadb", 4222: "nats", 5432: "postgres", 5672: "rabbitmq",
	6379: "redis", 11211: "memcached",
}

// anyCommand is for the user to fill in. The words in capitals stand for the user's own.
const anyCommand = "    command: [PROGRAM, ARGUMENTS]"

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
		entry(at.server()...)
	}
	for _, a := range waited {
		entry(client(a)...)
	}
	if entries == 0 {
		return nil
	}
	if entries > maxEntries {
		lines = append(lines, "  # and so on")
	}
	return append([]string{"peers:"}, lines...)
}

// server is an entry of a peer that is at a target. A name that was looked up stays as it is: only
// the user knows which server is meant.
func (t target) server() []string {
	if t.name != "" {
		return []string{"  - name: " + t.name, anyCommand, "    listen: 127.0.0.1:PORT"}
	}
	listen, comment := t.Address, ""
	// Peers have a network namespace of their own.
	if !t.Network.IsUnix() && !t.At.Addr().IsLoopback() {
		listen.At = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), t.At.Port())
		comment = "  # peers are on loopback: have the program dial that"
	}
	if name, ok := profiles[listen.At.Port()]; ok && listen.Network == proxy.TCP {
		return []string{"  - {profile: " + name + "}" + comment}
	}
	return []string{
		"  - name: " + nameOf("peer", listen), anyCommand, "    listen: " + written(listen) + comment,
	}
}

// client is an entry of a peer that connects to an address of the program. Only TCP gets a runnable
// command: curl says enough to most servers. For other networks the user names the program.
func client(a proxy.Address) []string {
	name := "  - name: " + nameOf("client", a)
	if a.Network == proxy.TCP {
		return []string{name,
			fmt.Sprintf("    command: [curl, \"http://{sut}:%d/\"]  # or another client", a.At.Port()),
			fmt.Sprintf("    after: listen %d", a.At.Port()),
		}
	}
	where := written(a)
	// UDP clients need no address of their own to be waited for, so the port is enough.
	if a.Network == proxy.UDP {
		where = fmt.Sprintf("udp:%d", a.At.Port())
	}
	return []string{name, anyCommand, "    after: listen " + strings.Trim(where, `"`)}
}

// nameOf is the name of a peer by its address, so that entries for several tests do not clash: its
// port, its network if that is not TCP, and its IP address if that is not the usual one.
func nameOf(role string, a proxy.Address) string {
	text := role
	if a.Network != proxy.TCP {
		text += "-" + a.Network.String()
	}
	if a.Network.IsUnix() {
		return text + "-" + plain(a.Path)
	}
	if ip := a.At.Addr(); ip.IsValid() && !ip.IsUnspecified() && ip.String() != "127.0.0.1" {
		text += "-" + plain(ip.String())
	}
	return fmt.Sprintf("%s-%d", text, a.At.Port())
}

// plain has the letters and digits of a text, and a hyphen for what is between them.
func plain(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	return strings.Join(words, "-")
}

// written is an address as the configuration has it. Paths in the scratch directory of a group
// differ in each run, so the placeholder takes their place. YAML would read brackets as a list, so
// such an address is quoted.
func written(a proxy.Address) string {
	text := a.At.String()
	if a.Network.IsUnix() {
		text = strings.TrimPrefix(a.String(), a.Network.String()+" ")
		if rest, ok := strings.CutPrefix(text, peers.ScratchDirectory); ok {
			text = peers.Scratch + rest
		}
	}
	if a.Network != proxy.TCP {
		text = a.Network.String() + ":" + text
	}
	if strings.ContainsAny(text, "[]{}") {
		return `"` + text + `"`
	}
	return text
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
