package online

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// A datagram is the key of the run, the epoch of its sender, the sender, the number of the message
// among those from this sender to this receiver, and the image of the message. The key keeps out
// datagrams of another run that had the same port.
type datagram struct {
	key    uint64
	epoch  uint64
	from   int
	number uint64
	image  []byte
}

// errDatagram is of bytes that are no datagram of this run. Whoever gets them ignores them.
var errDatagram = errors.New("this is no datagram of this run")

// append appends the bytes of a datagram.
func (d datagram) append(data []byte) []byte {
	data = binary.LittleEndian.AppendUint64(data, d.key)
	data = binary.AppendUvarint(data, d.epoch)
	data = binary.AppendUvarint(data, uint64(d.from))
	data = binary.AppendUvarint(data, d.number)
	return append(data, d.image...)
}

// decodeDatagram reads one of a run with some nodes. The image shares the memory.
func decodeDatagram(data []byte, key uint64, nodes int) (d datagram, err error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) != key {
		return d, errDatagram
	}
	data = data[8:]
	var numbers [3]uint64
	for i := range numbers {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			return d, errDatagram
		}
		numbers[i], data = n, data[size:]
	}
	if numbers[1] >= uint64(nodes) {
		return d, errDatagram
	}
	return datagram{key, numbers[0], int(numbers[1]), numbers[2], data}, nil
}

// outgoing are the last messages from one node to another.
type outgoing struct {
	count uint64 // how many were sent
	last  []protocol.Packet
}

// add remembers a message, as one of some last ones, and returns its number.
func (o *outgoing) add(p protocol.Packet, late int) uint64 {
	o.last = append(o.last, p)
	if len(o.last) > late {
		o.last = slices.Delete(o.last, 0, 1)
	}
	o.count++
	return o.count - 1
}

// incoming says which of the last messages from one node have arrived.
type incoming struct {
	next    uint64          // above all numbers that have arrived
	arrived map[uint64]bool // of the last ones
}

// add notes that a message has arrived. It returns false of one that has arrived before, or that is
// too old for it to be known.
func (in *incoming) add(number uint64) (isNew bool) {
	if in.arrived[number] || number+MaxLate < in.next {
		return false
	}
	if in.arrived == nil {
		in.arrived = map[uint64]bool{}
	}
	in.arrived[number] = true
	in.next = max(in.next, number+1)
	for n := range in.arrived {
		if n+MaxLate < in.next {
			delete(in.arrived, n)
		}
	}
	return true
}

// clone is a copy.
func (in *incoming) clone() incoming { return incoming{in.next, maps.Clone(in.arrived)} }

// underWay are the last messages that were sent and have not arrived, as both ends saw it in one
// consistent cut. There the receiver has none that the sender has not sent, so it has not forgotten
// any of the last ones.
func underWay(out *outgoing, in *incoming) (late []protocol.Packet) {
	first := out.count - uint64(len(out.last))
	for i, p := range out.last {
		if !in.arrived[first+uint64(i)] {
			late = append(late, p)
		}
	}
	return late
}
