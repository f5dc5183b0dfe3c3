package sut

import (
	"net/netip"

	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// The networks of a worker are those of package proxy.
var _ = [1]struct{}{}[int(proxy.TCP)-abi.NetworkTCP|
	int(proxy.UDP)-abi.NetworkUDP|
	int(proxy.Unix)-abi.NetworkUnix|
	int(proxy.Unixgram)-abi.NetworkUnixgram|
	int(proxy.Unixpacket)-abi.NetworkUnixpacket]

// readAddress reads the address of a request; data has the names of Unix sockets.
func readAddress(h abi.ExchangeAddress, data []byte) (a proxy.Address, err error) {
	if h.Network >= abi.NetworkCount || h.Flags >= abi.AddressFlags ||
		h.Flags&(abi.AddressAt|abi.AddressFrom) == 0 {
		return a, damage("a request is for network %d, with flags %#x", h.Network, h.Flags)
	}
	a.Network, a.OnlySix = proxy.Network(h.Network), h.Flags&abi.AddressOnlySix != 0
	if a.Network.IsUnix() {
		n, m := uint64(h.Port), uint64(h.FromPort)
		if n > proxy.MaxPath || m > proxy.MaxPath || n+m != uint64(len(data)) {
			return a, damage("a request has names of %d and %d bytes in %d", n, m, len(data))
		}
		a.Path, a.FromPath = string(data[:n]), string(data[n:])
	} else {
		if h.Port > 1<<16-1 || h.FromPort > 1<<16-1 {
			return a, damage("a request is for ports %d and %d", h.Port, h.FromPort)
		}
		if h.Flags&abi.AddressAt != 0 {
			a.At = netip.AddrPortFrom(netip.AddrFrom16(h.IP).Unmap(), uint16(h.Port))
		}
		if h.Flags&abi.AddressFrom != 0 {
			a.From = netip.AddrPortFrom(netip.AddrFrom16(h.From).Unmap(), uint16(h.FromPort))
		}
	}
	if text := a.String(); text != "" {
		if _, err := proxy.ParseAddress(text); err != nil {
			return a, damage("a request is for %s: %v", text, err)
		}
	}
	return a, nil
}
