package watch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/proxy"
)

// listeners are the sockets of a group's network that others can connect or send to.
type listeners struct {
	proxy int // whose network it is
	tcp   []socket
}

// has tells whether somebody listens at an address. Of UDP it tells whether there is a socket.
func (l listeners) has(at proxy.Address) (bool, error) {
	switch {
	case at.Network == proxy.TCP:
		return listens(l.tcp, at.At), nil
	case at.Network == proxy.UDP:
		for _, name := range []string{"udp", "udp6"} {
			lines, err := l.lines(name)
			if err != nil || hasUDP(lines, at.At) {
				return err == nil, err
			}
		}
		return false, nil
	}
	lines, err := l.lines("unix")
	return hasUnix(lines, at), err
}

// lines reads a list of sockets of the network namespace, without the line of its titles.
func (l listeners) lines(name string) ([][]byte, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(l.proxy) + "/net/" + name)
	if errors.Is(err, os.ErrNotExist) { // the kernel is without IPv6
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sockets of the group: %w", err)
	}
	lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	return lines[1:], nil
}

// listens tells whether a connection to the address would find a listener.
func listens(all []socket, at netip.AddrPort) bool {
	for _, s := range all {
		if s.state == tcpListen && s.local.Port() == at.Port() && reaches(s.local.Addr(), at.Addr()) {
			return true
		}
	}
	return false
}

// reaches tells whether a socket that is bound to one address gets what is sent to another one.
// Whether a socket of IPv6 also gets what is sent over IPv4 does not show; most do. It is used to
// find out whether a peer is ready, and errs on the side of yes.
func reaches(bound, at netip.Addr) bool {
	return bound == at || bound == netip.IPv6Unspecified() || bound.IsUnspecified() && at.Is4()
}

// hasUDP looks for a UDP socket at an address, in lines of /proc/net/udp.
func hasUDP(lines [][]byte, at netip.AddrPort) bool {
	for _, line := range lines {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		bound, err := parseProcAddress(string(fields[1]))
		if err == nil && bound.Port() == at.Port() && reaches(bound.Addr(), at.Addr()) {
			return true
		}
	}
	return false
}

// hasUnix looks for a Unix socket at an address, in lines of /proc/net/unix. One for connections
// must listen.
func hasUnix(lines [][]byte, at proxy.Address) bool {
	want := strings.ReplaceAll(at.Path, "\x00", "@") // as it is shown there
	kinds := map[proxy.Network]string{proxy.Unix: "0001", proxy.Unixgram: "0002", proxy.Unixpacket: "0005"}
	const accepts = 1 << 16
	for _, line := range lines {
		// Number, count, protocol, flags, type, state, and then inode and path.
		fields := strings.SplitN(string(line), " ", 7)
		if len(fields) < 7 || fields[4] != kinds[at.Network] {
			continue
		}
		_, path, _ := strings.Cut(strings.TrimLeft(fields[6], " "), " ")
		if path == "" {
			continue // it is bound to no address
		}
		if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "@") {
			// It is relative to a directory that only its process knows: the end has to be right.
			path = want[:max(len(want)-len(path), 0)] + path
		}
		flags, err := strconv.ParseUint(fields[3], 16, 32)
		if err == nil && path == want && (at.Network == proxy.Unixgram || flags&accepts != 0) {
			return true
		}
	}
	return false
}

// parseProcAddress reads an address as /proc/net has it: hexadecimal words in the byte order of the
// machine, and the port. IPv4 that is mapped into IPv6 is returned as IPv4.
func parseProcAddress(text string) (a netip.AddrPort, err error) {
	ip, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(ip)
	if err != nil || len(b) != 4 && len(b) != 16 {
		return a, fmt.Errorf("%.64q is no address", text)
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return a, err
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	address, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(address.Unmap(), uint16(n)), nil
}
