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

// hasUDP tells whether somebody in the group has a UDP socket at an address.
func (w *Watch) hasUDP(at netip.AddrPort) (bool, error) {
	for _, name := range []string{"udp", "udp6"} {
		lines, err := w.netLines(name)
		if err != nil {
			return false, err
		}
		for _, line := range lines {
			fields := bytes.Fields(line)
			if len(fields) < 2 {
				continue
			}
			bound, err := parseProcAddress(string(fields[1]))
			if err == nil && bound.Port() == at.Port() && reaches(bound.Addr(), at.Addr()) {
				return true, nil
			}
		}
	}
	return false, nil
}

// hasUnix tells whether somebody in the group has a Unix socket at an address, and listens there
// if it is one for connections.
func (w *Watch) hasUnix(at proxy.Address) (bool, error) {
	lines, err := w.netLines("unix")
	if err != nil {
		return false, err
	}
	want := strings.ReplaceAll(at.Path, "\x00", "@") // as it is shown there
	kinds := map[proxy.Network]string{proxy.Unix: "0001", proxy.Unixgram: "0002", proxy.Unixpacket: "0005"}
	const accepts = 1 << 16
	for _, line := range lines {
		fields := strings.SplitN(string(line), " ", 7) // number, count, protocol, flags, type, state, inode and path
		if len(fields) < 7 || fields[4] != kinds[at.Network] {
			continue
		}
		_, path, _ := strings.Cut(strings.TrimLeft(fields[6], " "), " ")
		if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "@") { // where that is, only its process knows
			path = want[:max(len(want)-len(path), 0)] + path
		}
		flags, err := strconv.ParseUint(fields[3], 16, 32)
		if err == nil && path == want && (at.Network == proxy.Unixgram || flags&accepts != 0) {
			return true, nil
		}
	}
	return false, nil
}

// netLines reads a list of sockets of the network namespace, without the line of its titles.
func (w *Watch) netLines(name string) ([][]byte, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(w.proxy) + "/net/" + name)
	if errors.Is(err, os.ErrNotExist) { // the kernel is without IPv6
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sockets of the group: %w", err)
	}
	lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	return lines[1:], nil
}

// parseProcAddress reads an address as /proc/net has it: words in the order of the machine, in
// hexadecimal, and the port.
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
