// Package protocol is what goes over the channels of a proxy: its configuration, its first message,
// commands and replies, and the messages of a visit.
package protocol

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
//	      16     an address, if there is one: of create_socket, connect and bind, and of
//	             accept's reply. It is the network, flags, 16 bytes of IP address, the port
//	             (2), and then the name of a Unix socket.
const (
	magic      = 0x7450
	version    = 2
	headerSize = 16
	MaxMessage = headerSize + addressSize + MaxPath
	replyBit   = 0x80
)

// Operation is what the proxy is to do.
type Operation uint8

// The operations. Those on sockets are like the system calls of like names, but bind also has
// the socket listen, and accept waits.
const (
	OpCreateSocket Operation = iota + 1
	OpConnect
	OpBind
	OpAccept
	OpClose
	OpStart // a peer, whose index is the id
	OpVisit // of the daemon, with a descriptor; has no reply
	OpEnd
)

// String is the name of the operation in messages for people.
func (op Operation) String() string {
	if op == 0 || op >= OpEnd {
		return fmt.Sprintf("operation %d", uint8(op))
	}
	return [...]string{"create_socket", "connect", "bind", "accept", "close", "start", "visit"}[op-1]
}

// Refusal says why the proxy did not attempt a command.
type Refusal uint32

const (
	Accepted Refusal = iota
	RefusedUnknownID
	RefusedDuplicateID
	RefusedTooMany
	RefusedInterrupted
	RefusedNotOnDemand
	RefusedRuns
	RefusedFailed
	RefusedOutside
	RefusalEnd
)

// String says why, and what to do about it where that can be said.
func (r Refusal) String() string {
	if r >= RefusalEnd {
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

// Request is a command, decoded.
type Request struct {
	Op        Operation
	Sequence  uint32 // it tells a late reply from that which is waited for
	ID, NewID ID     // NewID is for accept
	Address   Address
}

// String says what the command is about.
func (c Request) String() string {
	if c.Op == OpStart {
		return fmt.Sprintf("%v of peer %d", c.Op, c.ID)
	}
	return fmt.Sprintf("%v of socket %d", c.Op, c.ID)
}

// Reply is the answer to a command, decoded.
type Reply struct {
	Op       Operation
	Sequence uint32        // of the command
	Errno    syscall.Errno // of the system call; 0: it has succeeded, or was not made
	Refusal  Refusal
	Address  Address // of accept: where the connection comes from
}

// encode writes a message: its header, and an address if there is one. A zero address is none.
func encode(op uint8, words [3]uint32, address Address) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, MaxMessage), magic)
	b = append(b, version, op)
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	if address == (Address{}) {
		return b
	}
	return address.appendTo(b)
}

// decode reads what encode has written. It checks what all messages have in common; the error says
// what is wrong with it.
func decode(b []byte) (op uint8, words [3]uint32, address Address, err error) {
	if len(b) < headerSize || len(b) > MaxMessage {
		return 0, words, address, fmt.Errorf("a message of %d bytes, not %d to %d", len(b), headerSize,
			MaxMessage)
	}
	if m := binary.BigEndian.Uint16(b); m != magic {
		return 0, words, address, fmt.Errorf("not a message of this protocol: it begins with %#04x", m)
	}
	if b[2] != version {
		return 0, words, address, fmt.Errorf("version %d of the protocol, not %d: tandem and "+
			"tandem-proxy are of different builds", b[2], version)
	}
	for i := range words {
		words[i] = binary.BigEndian.Uint32(b[4+4*i:])
	}
	if len(b) > headerSize {
		address, err = readAddress(b[headerSize:])
	}
	return b[3], words, address, err
}

// Encode writes the message of a command.
func (c Request) Encode() []byte {
	return encode(uint8(c.Op), [3]uint32{c.Sequence, uint32(c.ID), uint32(c.NewID)}, c.Address)
}

// DecodeRequest reads the message of a command. It takes what Encode writes, and nothing else.
func DecodeRequest(b []byte) (Request, error) {
	op, w, address, err := decode(b)
	if err != nil {
		return Request{}, err
	}
	if op == 0 || op >= uint8(OpEnd) {
		return Request{}, fmt.Errorf("no command has number %d", op)
	}
	return Request{Operation(op), w[0], ID(w[1]), ID(w[2]), address}, nil
}

// Encode writes the message of a reply.
func (r Reply) Encode() []byte {
	return encode(uint8(r.Op)|replyBit, [3]uint32{r.Sequence, uint32(r.Errno), uint32(r.Refusal)}, r.Address)
}

// DecodeReply reads the message of a reply. It takes what Encode writes, and nothing else.
func DecodeReply(b []byte) (Reply, error) {
	op, w, address, err := decode(b)
	if err != nil {
		return Reply{}, err
	}
	if op <= replyBit || op >= replyBit|uint8(OpEnd) {
		return Reply{}, fmt.Errorf("no reply has number %d", op)
	}
	if w[2] >= uint32(RefusalEnd) {
		return Reply{}, fmt.Errorf("no refusal has number %d", w[2])
	}
	return Reply{Operation(op &^ replyBit), w[0], syscall.Errno(w[1]), Refusal(w[2]), address}, nil
}
