package sut

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Dial is an address that the program has dialled, with what result, or one at which others can
// reach it.
type Dial struct {
	Address proxy.Address // zero if it is a name
	Name    string        // that was looked up, without success
	Result  syscall.Errno // 0: it was reached
	// Own: the program serves the address, or has done so before. With Serves: it has chosen the
	// address, so that others can know it.
	Own bool
	// Serves: the address is not dialled, but others can reach the program there.
	Serves bool
	Object uint64 // Serves: what a Pending operation that accepts, or reads, waits for
}

// DialAt reads the address that begins at an event of a log; false if none does.
func DialAt(events []Event, i int) (d Dial, ok bool) {
	e := &events[i]
	if e.Kind != Dialled || e.Ready&abi.DialMore != 0 {
		return d, false
	}
	network, low := e.Ready&abi.DialNetwork, e.Number&0xffff
	d = Dial{Result: syscall.Errno(e.Number >> 16), Own: e.Ready&abi.DialOwn != 0,
		Serves: e.Ready&abi.DialServes != 0, Object: e.Open}
	if network > abi.DialName {
		return d, false
	}
	if network == abi.DialName {
		d.Name = nameAt(events, i, int(low))
		return d, true
	}
	if d.Address.Network = proxy.Network(network); d.Address.Network.IsUnix() {
		d.Address.Path = nameAt(events, i, int(low))
		return d, true
	}
	ip := netip.AddrFrom16([16]byte(eights(e))).Unmap()
	d.Address.At = netip.AddrPortFrom(ip, uint16(low))
	return d, true
}

// nameAt reads the name that begins at an event.
func nameAt(events []Event, i, length int) string {
	name := eights(&events[i])
	for i++; i < len(events) && len(name) < length; i++ {
		if e := &events[i]; e.Kind != Dialled || e.Ready&abi.DialMore == 0 {
			break
		}
		name = append(name, eights(&events[i])...)
	}
	return string(name[:min(length, len(name))])
}

// eights are the sixteen bytes of an address or a name that an event has.
func eights(e *Event) []byte {
	b := binary.BigEndian.AppendUint64(nil, e.Subject)
	return binary.BigEndian.AppendUint64(b, e.Object)
}
