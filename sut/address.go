package sut

import (
	"encoding/binary"
	"net/netip"

	"github.com/tandem-mc/tandem/proxy"
)

// The networks of a worker are those of package proxy.
var _ = [1]struct{}{}[int(proxy.TCP)-networkTCP|int(proxy.UDP)-networkUDP|int(proxy.Unix)-networkUnix|
	int(proxy.Unixgram)-networkUnixgram|int(proxy.Unixpacket)-networkUnixpacket]

// readAddress reads the address of a request; data has the names of Unix sockets.
func readAddress(h exchangeAddress, data []byte) (a proxy.Address, err error) {
	if h.network >= networkCount || h.flags >= addressFlags || h.flags&(addressAt|addressFrom) == 0 {
		return a, damage("a request is for network %d, with flags %#x", h.network, h.flags)
	}
	a.Network, a.OnlySix = proxy.Network(h.network), h.flags&addressOnlySix != 0
	if a.Network.IsUnix() {
		n, m := uint64(h.port), uint64(h.fromPort)
		if n > proxy.MaxPath || m > proxy.MaxPath || n+m != uint64(len(data)) {
			return a, damage("a request has names of %d and %d bytes in %d", n, m, len(data))
		}
		a.Path, a.FromPath = string(data[:n]), string(data[n:])
	} else {
		if h.port > 1<<16-1 || h.fromPort > 1<<16-1 {
			return a, damage("a request is for ports %d and %d", h.port, h.fromPort)
		}
		if h.flags&addressAt != 0 {
			a.At = netip.AddrPortFrom(netip.AddrFrom16(h.ip).Unmap(), uint16(h.port))
		}
		if h.flags&addressFrom != 0 {
			a.From = netip.AddrPortFrom(netip.AddrFrom16(h.from).Unmap(), uint16(h.fromPort))
		}
	}
	if text := a.String(); text != "" {
		if _, err := proxy.ParseAddress(text); err != nil {
			return a, damage("a request is for %s: %v", text, err)
		}
	}
	return a, nil
}

// Message is what a connection that keeps the bounds of messages carries: a datagram with the address of its
// receiver or sender, or an error.
type Message struct {
	Data []byte
	// Address is the zero value where the connection has only one other end. It has one side, At or Path.
	Address proxy.Address
	// Errno is an error of the socket, such as that nobody listens at the port that it is connected to;
	// Failed says that it is that of the message that was sent last, which is lost.
	Errno  int
	Failed bool
}

// Append writes the message as it is in Input.Data and Delivery.Data.
func (m Message) Append(b []byte) []byte {
	header := [messageHeader]byte{messagePlain}
	var name []byte
	number := uint32(len(m.Data))
	switch {
	case m.Failed:
		header[0], number = messageFailed, uint32(m.Errno)
	case m.Errno != 0:
		header[0], number = messageError, uint32(m.Errno)
	case m.Address.Path != "":
		header[0], name = messagePath, []byte(m.Address.Path)
	case m.Address.At.IsValid():
		ip := m.Address.At.Addr().As16()
		header[0], name = messageIP, binary.BigEndian.AppendUint16(ip[:], m.Address.At.Port())
	}
	header[1] = byte(len(name))
	binary.BigEndian.PutUint32(header[2:], number)
	b = append(b, header[:]...)
	b = append(b, name...)
	return append(b, m.Data...)
}

// ReadMessage reads the first message that Append has written to b, and returns what follows it. Data shares
// the memory of b. It returns false where no whole message is.
func ReadMessage(b []byte, network proxy.Network) (m Message, rest []byte, ok bool) {
	if len(b) < messageHeader {
		return m, b, false
	}
	kind, named, number := b[0], int(b[1]), binary.BigEndian.Uint32(b[2:])
	rest = b[messageHeader:]
	switch kind {
	case messageError, messageFailed:
		m.Errno, m.Failed = int(number), kind == messageFailed
		return m, rest, named == 0 && number > 0 && number < 1<<12
	case messagePlain:
		ok = named == 0
	case messageIP:
		ok = named == messageIPSize && network == proxy.UDP
	case messagePath:
		ok = named > 0 && named <= proxy.MaxPath && network == proxy.Unixgram
	}
	if !ok || uint64(len(rest)) < uint64(named)+uint64(number) {
		return Message{}, b, false
	}
	if m.Address.Network = network; kind == messageIP {
		m.Address.At = netip.AddrPortFrom(netip.AddrFrom16([16]byte(rest)).Unmap(), binary.BigEndian.Uint16(rest[16:]))
	} else if kind == messagePath {
		m.Address.Path = string(rest[:named])
	} else {
		m.Address = proxy.Address{}
	}
	m.Data, rest = rest[named:named+int(number)], rest[named+int(number):]
	return m, rest, true
}
