package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Network is a transport, by the name that package net has for it.
type Network uint8

// The transports over which a group can be reached.
const (
	TCP        Network = iota
	UDP                // datagrams
	Unix               // a stream
	Unixgram           // datagrams
	Unixpacket         // a connection that keeps the bounds of messages
	NetworkCount
)

var networkNames = [NetworkCount]string{"tcp", "udp", "unix", "unixgram", "unixpacket"}

// String is the name; that of an unknown network has its number.
func (n Network) String() string {
	if n >= NetworkCount {
		return fmt.Sprintf("network %d", uint8(n))
	}
	return networkNames[n]
}

// IsUnix reports whether addresses of the network are paths and abstract names.
func (n Network) IsUnix() bool { return n >= Unix }

// IsDatagram reports whether messages are sent with and without a connection.
func (n Network) IsDatagram() bool { return n == UDP || n == Unixgram }

// KeepsBounds reports whether what is written at once is read at once.
func (n Network) KeepsBounds() bool { return n != TCP && n != Unix }

// Address is where a socket of the group is, or what it talks to.
type Address struct {
	Network Network
	// At is the address and port of TCP and UDP. The zero value of a datagram socket is everybody.
	At netip.AddrPort
	// Path is the name of a Unix socket; it begins with a zero byte if it is abstract.
	Path string
	// From is the own address of a datagram socket, if it has one: port 0 is any port.
	From     netip.AddrPort
	FromPath string
	// OnlySix keeps a socket at [::] from IPv4, as the networks tcp6 and udp6 of package net do.
	OnlySix bool
}

// MaxPath is the greatest length of the name of a Unix socket, in bytes.
const MaxPath = 107

// String is the shortest text that ParseAddress takes: 127.0.0.1:80, [::1]:80, udp 127.0.0.1:53,
// udp from 127.0.0.1:5000, unix /run/x.sock, unix @abstract.
func (a Address) String() string {
	var parts []string
	if a.OnlySix {
		parts = append(parts, a.Network.String()+"6")
	} else if a.Network != TCP {
		parts = append(parts, a.Network.String())
	}
	switch {
	case a.Path != "":
		parts = append(parts, pathText(a.Path))
	case a.At.IsValid():
		parts = append(parts, a.At.String())
	}
	switch {
	case a.FromPath != "":
		parts = append(parts, "from", pathText(a.FromPath))
	case a.From.IsValid():
		parts = append(parts, "from", a.From.String())
	}
	return strings.Join(parts, " ")
}

// Text is the address without its network, for messages that tell what a socket is anyway.
func (a Address) Text() string {
	if a.Network.IsUnix() && a.Path != "" {
		return pathText(a.Path)
	}
	return a.At.String()
}

// pathText shows the name of a Unix socket without blanks; @ stands for the zero byte of abstract
// names.
func pathText(path string) string {
	text, abstract := strings.CutPrefix(path, "\x00")
	if abstract {
		text = "@" + text
	}
	if !abstract && strings.HasPrefix(text, "@") || text == "" || !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool {
			return r == ' ' || r == '"' || r == '\\' || !strconv.IsPrint(r)
		}) {
		return strings.ReplaceAll(strconv.QuoteToASCII(path), " ", `\x20`)
	}
	return text
}

// parsePath reads what pathText writes.
func parsePath(text string) (string, error) {
	path := text
	if strings.HasPrefix(text, `"`) {
		var err error
		if path, err = strconv.Unquote(text); err != nil {
			return "", fmt.Errorf("%.64q is no quoted path: write it as in Go", text)
		}
	} else if name, abstract := strings.CutPrefix(text, "@"); abstract {
		path = "\x00" + name
	}
	switch {
	case path == "" || path == "\x00":
		return "", errors.New("the name of a Unix socket is empty: give one")
	case len(path) > MaxPath:
		return "", fmt.Errorf("the name of a Unix socket has %d bytes, of at most %d: shorten "+
			"it", len(path), MaxPath)
	case path[0] != 0 && (path[0] != '/' || strings.ContainsRune(path, 0)):
		return "", fmt.Errorf("%.120q is neither an absolute path nor, after an @, an abstract name: "+
			"write one", text)
	}
	return path, nil
}

// ParseAddress reads what String writes. A colon may take the place of the blank after the network.
func ParseAddress(text string) (Address, error) {
	var a Address
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return a, errors.New("the address is empty: give one")
	}
	if name, rest, ok := strings.Cut(fields[0], ":"); ok && rest != "" && isNetwork(name) {
		fields = append([]string{name, rest}, fields[1:]...)
	}
	if isNetwork(fields[0]) {
		a.Network, a.OnlySix = networkOf(fields[0])
		fields = fields[1:]
	}
	if len(fields) > 0 && fields[0] != "from" {
		if err := a.parse(fields[0], &a.At, &a.Path); err != nil {
			return Address{}, err
		}
		fields = fields[1:]
	}
	if len(fields) == 2 && fields[0] == "from" {
		if err := a.parse(fields[1], &a.From, &a.FromPath); err != nil {
			return Address{}, err
		}
		fields = nil
	}
	if len(fields) > 0 {
		return Address{}, fmt.Errorf("%.64q is more than an address: leave the rest out", text)
	}
	return a, a.Check()
}

// parse reads one side of an address.
func (a *Address) parse(text string, at *netip.AddrPort, path *string) (err error) {
	if a.Network.IsUnix() {
		*path, err = parsePath(text)
		return err
	}
	if *at, err = netip.ParseAddrPort(text); err != nil {
		return fmt.Errorf("%.64q is not an IP address and port: write one such as 127.0.0.1:80 or "+
			"[::1]:80", text)
	}
	*at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	return nil
}

// Check says what is wrong with an address. It is nil if nothing is.
func (a Address) Check() error {
	own, other := a.From.IsValid() || a.FromPath != "", a.At.IsValid() || a.Path != ""
	switch {
	case a.Network >= NetworkCount:
		return fmt.Errorf("%v is unknown: use another network", a.Network)
	case !own && !other:
		return fmt.Errorf("%v: there is no address; give one", a.Network)
	case own && !a.Network.IsDatagram():
		return fmt.Errorf("%v: only datagram sockets have a from; leave it out", a.Network)
	case a.At.Addr().Zone() != "" || a.From.Addr().Zone() != "":
		return errors.New("an address with a zone: leave that out, since a group has loopback only")
	case a.OnlySix && (a.Network.IsUnix() || a.At.Addr().Is4() || a.From.Addr().Is4()):
		return fmt.Errorf("%v6 with an address that is not one of IPv6: leave the 6 out", a.Network)
	case own && other && a.At.Addr().Is4() != a.From.Addr().Is4():
		return errors.New("the two addresses are not of one family: use IPv4 or IPv6 for both")
	}
	return nil
}

// isNetwork reports whether a word names a network.
func isNetwork(name string) bool {
	n, _ := networkOf(name)
	return n < NetworkCount
}

// networkOf finds a network by its name, and tells whether that ends with a 6. It is NetworkCount
// where there is none of this name.
func networkOf(name string) (n Network, six bool) {
	name, six = strings.CutSuffix(name, "6")
	for n = range NetworkCount {
		if networkNames[n] == name && !(six && n.IsUnix()) {
			return n, six
		}
	}
	return NetworkCount, false
}

// Other is what a socket talks to, by itself: the side that is for connect.
func (a Address) Other() Address {
	a.From, a.FromPath = netip.AddrPort{}, ""
	a.At = unmapped(a.At)
	return a
}

// Own is where a socket is to be: where a datagram socket comes from, or where others listen.
// For one that can be anywhere it is the unspecified address of its family.
func (a Address) Own() Address {
	at := unmapped(a.At)
	switch {
	case a.From.IsValid() || a.FromPath != "":
		a.At, a.Path = unmapped(a.From), a.FromPath
	case a.Network == UDP && at.Addr().Is4():
		a.At = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	case a.Network == UDP:
		a.At = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	default:
		a.At = at
	}
	a.From, a.FromPath = netip.AddrPort{}, ""
	return a
}

// unmapped is an address with IPv4 as such, and not mapped into IPv6.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// addressSize is how many bytes an address takes in a message, beside its path: network, flags,
// IP address and port.
const addressSize = 1 + 1 + 16 + 2

// Flags of an address in a message.
const (
	flagIPv4    = 1 << iota // IPv4, mapped into IPv6
	flagOnlySix             // see Address.OnlySix
	addressFlags
)

// appendTo writes an address with one side, At or Path. At is zeros where
// there is a Path.
func (a Address) appendTo(b []byte) []byte {
	flags := byte(0)
	var ip [16]byte
	if a.At.IsValid() {
		if ip = a.At.Addr().As16(); a.At.Addr().Is4() {
			flags |= flagIPv4
		}
	}
	if a.OnlySix {
		flags |= flagOnlySix
	}
	b = append(b, byte(a.Network), flags)
	b = append(b, ip[:]...)
	b = binary.BigEndian.AppendUint16(b, a.At.Port())
	return append(b, a.Path...)
}

// readAddress reads what appendTo has written. It takes an address in one form only, so that what
// is read and written again is the same.
func readAddress(b []byte) (Address, error) {
	if len(b) < addressSize || len(b) > addressSize+MaxPath {
		return Address{}, fmt.Errorf("an address of %d bytes", len(b))
	}
	a := Address{Network: Network(b[0]), OnlySix: b[1]&flagOnlySix != 0, Path: string(b[addressSize:])}
	ip, port := netip.AddrFrom16([16]byte(b[2:18])), binary.BigEndian.Uint16(b[18:])
	switch {
	case a.Network >= NetworkCount || b[1] >= addressFlags:
		return Address{}, fmt.Errorf("an address of %v with flags %#x", a.Network, b[1])
	case a.Network.IsUnix() != (a.Path != "") && a.Path != "":
		return Address{}, fmt.Errorf("a path on %v", a.Network)
	case a.Network.IsUnix():
		if b[1] != 0 || port != 0 || ip != netip.IPv6Unspecified() {
			return Address{}, fmt.Errorf("an IP address on %v", a.Network)
		}
		return a, nil
	case ip.Is4In6() != (b[1]&flagIPv4 != 0) || ip.Is4In6() && a.OnlySix:
		return Address{}, fmt.Errorf("the address %v with flags %#x", ip, b[1])
	}
	a.At = netip.AddrPortFrom(ip.Unmap(), port)
	return a, nil
}

// Domain is the first argument of socket(2).
func (a Address) Domain() int {
	switch {
	case a.Network.IsUnix():
		return unix.AF_UNIX
	case a.At.Addr().Is4():
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// Kind is the second argument of socket(2).
func (a Address) Kind() int {
	switch a.Network {
	case TCP, Unix:
		return unix.SOCK_STREAM
	case Unixpacket:
		return unix.SOCK_SEQPACKET
	}
	return unix.SOCK_DGRAM
}

// Sockaddr is the address for system calls; it must have a port or a path.
func (a Address) Sockaddr() unix.Sockaddr {
	port := int(a.At.Port())
	switch {
	case a.Network.IsUnix() && strings.HasPrefix(a.Path, "\x00"):
		return &unix.SockaddrUnix{Name: "@" + a.Path[1:]} // as that package has it
	case a.Network.IsUnix():
		return &unix.SockaddrUnix{Name: a.Path}
	case a.At.Addr().Is4():
		return &unix.SockaddrInet4{Addr: a.At.Addr().As4(), Port: port}
	}
	return &unix.SockaddrInet6{Addr: a.At.Addr().As16(), Port: port}
}

// AddressOf is where a socket is, as a system call tells it: At or Path. A Unix socket that is not
// bound has neither.
func AddressOf(n Network, from unix.Sockaddr) Address {
	a := Address{Network: n}
	switch from := from.(type) {
	case *unix.SockaddrInet4:
		a.At = netip.AddrPortFrom(netip.AddrFrom4(from.Addr), uint16(from.Port))
	case *unix.SockaddrInet6:
		a.At = netip.AddrPortFrom(netip.AddrFrom16(from.Addr).Unmap(), uint16(from.Port))
	case *unix.SockaddrUnix:
		if a.Path = from.Name; strings.HasPrefix(a.Path, "@") {
			a.Path = "\x00" + a.Path[1:]
		}
		if a.Path == "\x00" { // it has none
			a.Path = ""
		}
	}
	return a
}

// Serves reports whether who listens at an address is meant by one that is dialled. The loopback
// addresses of IPv4 and IPv6 stand for each other: localhost leads to both.
func (a Address) Serves(dialled Address) bool {
	if a.Network != dialled.Network {
		return false
	}
	if a.Network.IsUnix() {
		return a.Path == dialled.Path
	}
	at, to := a.At.Addr(), dialled.At.Addr()
	return a.At.Port() == dialled.At.Port() && to.IsLoopback() &&
		(at == to || at.IsUnspecified() || at.Is6() != to.Is6())
}
