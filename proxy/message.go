package proxy

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

// Wire format, one SEQPACKET message per command and per reply, big endian:
//
//	offset 0  2  magic
//	       2  1  version
//	       3  1  operation; the reply carries the same with the top bit set
//	       4  4  sequence number of the command, repeated in its reply
//	       8  4  command: socket id            reply: errno of the socket operation, or 0
//	      12  4  command: accept's new id      reply: refusal, or 0
//	      16     an address (create_socket, connect, bind; accept's reply), if there is one: the network,
//	             flags, 16 bytes of IP address, port (2); then the name of a Unix socket
const (
	magic      = 0x7450
	version    = 2
	headerSize = 16
	maxMessage = headerSize + addressSize + MaxPath
	replyBit   = 0x80
)

type operation uint8

const (
	opCreateSocket operation = iota + 1
	opConnect
	opBind
	opAccept
	opClose
	opStart // a peer, whose index is the id
	opVisit // of the daemon, with a descriptor; has no reply
	opEnd
)

func (op operation) String() string {
	if op == 0 || op >= opEnd {
		return fmt.Sprintf("operation %d", uint8(op))
	}
	return [...]string{"create_socket", "connect", "bind", "accept", "close", "start", "visit"}[op-1]
}

// refusal says why the proxy did not attempt a command.
type refusal uint32

const (
	accepted refusal = iota
	refusedUnknownID
	refusedDuplicateID
	refusedTooMany
	refusedInterrupted
	refusedNotOnDemand
	refusedRuns
	refusedFailed
	refusedOutside
	refusalEnd
)

func (r refusal) String() string {
	if r >= refusalEnd {
		return fmt.Sprintf("refusal %d", uint32(r))
	}
	return [...]string{
		"accepted",
		"no socket has this id: create it first",
		"the new id names a socket already: choose another or close that one",
		fmt.Sprintf("the group has %d sockets open already: close some", MaxSockets),
		"another command arrived while it waited",
		"there is no peer with this number that is started on demand",
		"the peer runs already, or has ended and is still there",
		"the peer could not be started",
		"the Unix socket at this path belongs to a process outside the group",
	}[r]
}

type command struct {
	op        operation
	sequence  uint32
	id, newID ID
	address   Address
}

// String says what the command is about.
func (c command) String() string {
	if c.op == opStart {
		return fmt.Sprintf("%v of peer %d", c.op, c.id)
	}
	return fmt.Sprintf("%v of socket %d", c.op, c.id)
}

type reply struct {
	op       operation
	sequence uint32
	errno    syscall.Errno
	refusal  refusal
	address  Address
}

func encode(op uint8, words [3]uint32, address Address) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, maxMessage), magic)
	b = append(b, version, op)
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	if address == (Address{}) {
		return b
	}
	return address.appendTo(b)
}

func decode(b []byte) (op uint8, words [3]uint32, address Address, err error) {
	if len(b) < headerSize || len(b) > maxMessage {
		return 0, words, address, fmt.Errorf("a message of %d bytes, not %d to %d", len(b), headerSize, maxMessage)
	}
	if m := binary.BigEndian.Uint16(b); m != magic {
		return 0, words, address, fmt.Errorf("not a message of this protocol: it begins with %#04x", m)
	}
	if b[2] != version {
		return 0, words, address, fmt.Errorf("version %d of the protocol, not %d: tandem and tandem-proxy are of different builds", b[2], version)
	}
	for i := range words {
		words[i] = binary.BigEndian.Uint32(b[4+4*i:])
	}
	if len(b) > headerSize {
		address, err = readAddress(b[headerSize:])
	}
	return b[3], words, address, err
}

func (c command) encode() []byte {
	return encode(uint8(c.op), [3]uint32{c.sequence, uint32(c.id), uint32(c.newID)}, c.address)
}

func decodeCommand(b []byte) (command, error) {
	op, w, address, err := decode(b)
	if err != nil {
		return command{}, err
	}
	if op == 0 || op >= uint8(opEnd) {
		return command{}, fmt.Errorf("no command has number %d", op)
	}
	return command{operation(op), w[0], ID(w[1]), ID(w[2]), address}, nil
}

func (r reply) encode() []byte {
	return encode(uint8(r.op)|replyBit, [3]uint32{r.sequence, uint32(r.errno), uint32(r.refusal)}, r.address)
}

func decodeReply(b []byte) (reply, error) {
	op, w, address, err := decode(b)
	if err != nil {
		return reply{}, err
	}
	if op <= replyBit || op >= replyBit|uint8(opEnd) {
		return reply{}, fmt.Errorf("no reply has number %d", op)
	}
	if w[2] >= uint32(refusalEnd) {
		return reply{}, fmt.Errorf("no refusal has number %d", w[2])
	}
	return reply{operation(op &^ replyBit), w[0], syscall.Errno(w[1]), refusal(w[2]), address}, nil
}
