package sut

import (
	"encoding/binary"
	"net/netip"

	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Message is what a connection that keeps the bounds of messages carries: a datagram with the
// address of its receiver or sender, or an error.
type Message struct {
	Data []byte
	// Address is the zero value where the connection has only one other end. It has one side, At or
	// Path.
	Address proxy.Address
	// Errno is an error of the socket, such as that nobody listens at the port that it is connected
	// to; Failed says that it is that of the message that was sent last, which is lost.
	Errno  int
	Failed bool
}

// Append writes the message as it is in Input.Data and Delivery.Data.
func (m Message) Append(b []byte) []byte {
	header := [abi.MessageHeader]byte{abi.MessagePlain}
	var name []byte
	number := uint32(len(m.Data))
	switch {
	case m.Failed:
		header[0], number = abi.MessageFailed, uint32(m.Errno)
	case m.Errno != 0:
		header[0], number = abi.MessageError, uint32(m.Errno)
	case m.Address.Path != "":
		header[0], name = abi.MessagePath, []byte(m.Address.Path)
	case m.Address.At.IsValid():
		header[0], name = abi.MessageIP, appendIP(nil, m.Address.At)
	}
	header[1] = byte(len(name))
	binary.BigEndian.PutUint32(header[2:], number)
	b = append(b, header[:]...)
	b = append(b, name...)
	return append(b, m.Data...)
}

// appendIP appends an address as a message has it.
func appendIP(b []byte, a netip.AddrPort) []byte {
	ip := a.Addr().As16()
	return binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port())
}

// ReadMessage reads the first message that Append has written to b, and returns what follows it.
// Data shares the memory of b. It returns false where no whole message is.
func ReadMessage(b []byte, network proxy.Network) (m Message, rest []byte, ok bool) {
	if len(b) < abi.MessageHeader {
		return m, b, false
	}
	kind, named, number := b[0], int(b[1]), binary.BigEndian.Uint32(b[2:])
	rest = b[abi.MessageHeader:]
	switch kind {
	case abi.MessageError, abi.MessageFailed:
		m.Errno, m.Failed = int(number), kind == abi.MessageFailed
		return m, rest, named == 0 && number > 0 && number < 1<<12
	case abi.MessagePlain:
		ok = named == 0
	case abi.MessageIP:
		ok = named == abi.MessageIPSize && network == proxy.UDP
	case abi.MessagePath:
		ok = named > 0 && named <= proxy.MaxPath && network == proxy.Unixgram
	}
	if !ok || uint64(len(rest)) < uint64(named)+uint64(number) {
		return Message{}, b, false
	}
	if m.Address.Network = network; kind == abi.MessageIP {
		m.Address.At = netip.AddrPortFrom(netip.AddrFrom16([16]byte(rest)).Unmap(),
			binary.BigEndian.Uint16(rest[16:]))
	} else if kind == abi.MessagePath {
		m.Address.Path = string(rest[:named])
	} else {
		m.Address = proxy.Address{}
	}
	m.Data, rest = rest[named:named+int(number)], rest[named+int(number):]
	return m, rest, true
}
