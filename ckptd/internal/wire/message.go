// Package wire is what checker and daemon say to each other: messages, the description of a group,
// the status of a daemon, and the errors that keep their identity across it.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/proxy"
)

// Wire format between checker and daemon, one SEQPACKET message per request and reply:
// magic (4 bytes), version (1), kind (1), two zero bytes, sequence number (4, big
// endian), then a JSON body. Descriptors travel beside it (SCM_RIGHTS).
const (
	protocolMagic   = "TCKD"
	protocolVersion = 2
	headerSize      = 12
	MaxMessage      = 64 << 10
	MaxDescriptors  = seqpacket.MaxSent
)

// The reply to OpStart has a descriptor for each peer, and four more.
const _ = uint(MaxDescriptors - (4 + proxy.MaxPeers))

// messageKind tells what the body of a message is.
type messageKind uint8

// Kinds of messages.
const (
	RequestKind messageKind = 1
	ReplyKind   messageKind = 2
	// descriptors of the reply with the same sequence number, which follows
	SocketsKind messageKind = 3
)

// KindOf is what a message says it is; 0 where it is too short for one. The reader of replies has
// to know before it decodes.
func KindOf(b []byte) messageKind {
	if len(b) < headerSize {
		return 0
	}
	return messageKind(b[5])
}

// Request is what the checker asks for. Which fields count depends on Operation.
type Request struct {
	Operation     string
	TimeoutMillis int64    `json:",omitempty"`
	Group         uint64   `json:",omitempty"`
	Image         string   `json:",omitempty"`
	Setup         *Setup   `json:",omitempty"`
	Dir           string   `json:",omitempty"` // of the client: what relative paths are relative to
	Force         bool     `json:",omitempty"`
	Steps         int      `json:",omitempty"` // of a checkpoint, as Unrepeatable: see store.History
	Unrepeatable  bool     `json:",omitempty"`
	_             struct{} // keyed literals only
}

// Operations. The descriptors of a request are in parentheses, those of its reply after
// the arrow.
const (
	OpSetup = "setup" // first of all
	// (memfd with a JSON peers.Group) -> pidfd, channel, sock_diag socket, counters, outputs of the
	// proxy and of each peer
	OpStart      = "start"
	OpCheckpoint = "checkpoint" //
	// -> pidfd, channel, sock_diag socket, pidfds of the peers where the daemon knows them; sockets
	OpRestore = "restore"
	OpDrop    = "drop"   //
	OpClose   = "close"  //
	OpCause   = "cause"  // why a group is down: the reply is an error
	OpStatus  = "status" // -> memfd with a JSON Status; of a shared daemon, SharedStatus
	OpAttach  = "attach" // of a shared daemon: (standard error)
	OpStop    = "stop"   // of a shared daemon
)

// Setup is the daemon's configuration.
type Setup struct {
	Proxy, CRIU string
	NoCRIU      string `json:",omitempty"` // why CRIU is empty, and what to do about it
	// Alone: CRIU is out of reach of this user. What memory cannot hold goes on without images.
	Alone     bool           `json:",omitempty"`
	Shim      shim.Libraries // empty: peers run without
	MaxBytes  int64
	MaxImages int
	Backend   string
	Verify    bool `json:",omitempty"`
}

// Response is what the daemon answers. Which fields count depends on the operation.
type Response struct {
	Error string `json:",omitempty"`
	Code  string `json:",omitempty"` // of a sentinel error, see codes
	Group uint64 `json:",omitempty"`
	Peers []int  `json:",omitempty"`
	// of the proxy, whose descriptors have come before the reply
	Sockets []proxy.ID `json:",omitempty"`
	Image   string     `json:",omitempty"`
	Bytes   int64      `json:",omitempty"`
	Micros  int64      `json:",omitempty"`
	Dropped []string   `json:",omitempty"`
	Backend string     `json:",omitempty"`
	Refusal string     `json:",omitempty"`
}

// codes keep the identity of errors across the wire; of an error that is several, the first.
var codes = []struct {
	code     string
	sentinel error
}{
	{"image gone", ErrImageGone},
	{"no room", ErrNoRoom},
	{"not stored", ErrNotStored},
	{"differs", ErrDiffers},
	{"group down", ErrGroupDown},
	{"invalid", ErrInvalid},
	{"busy", ErrNotQuiescent},
	{"unsavable", ErrUnsavable},
}

// What a reply may hold of what can be of any length, in bytes of the message.
const (
	MaxErrorText = 16 << 10
	MaxDropped   = 32 << 10
)

// ErrorResponse encodes err. The text is cut where it would not fit into a message, whatever it
// holds.
func ErrorResponse(err error) Response {
	r := Response{Error: Cut(err.Error(), MaxErrorText)}
	for _, c := range codes {
		if errors.Is(err, c.sentinel) {
			r.Code = c.code
			break
		}
	}
	return r
}

// Cut returns so much of a text, from its beginning, as takes at most these bytes in JSON: a
// control character has six there.
func Cut(text string, most int) string {
	text = text[:min(len(text), most)]
	valid := func(n int) string { return strings.ToValidUTF8(text[:n], "?") }
	const quotes = 2
	// JSON is the longer the more of the text there is, so the most that fits is found by halving.
	over := sort.Search(len(text)+1, func(n int) bool {
		encoded, _ := json.Marshal(valid(n)) // any text can be
		return len(encoded)-quotes > most
	})
	return valid(over - 1)
}

// CutList is Cut for a list, which loses its end. What is left out has to be found out in another
// way.
func CutList(list []string, most int) []string {
	size := 0
	for n, text := range list {
		if size += len(text) + len(`"",`); size > most {
			return list[:n]
		}
	}
	return list
}

// AsError decodes what ErrorResponse encoded; nil where the reply is no error. A code that this
// build does not know is an error all the same.
func (r Response) AsError() error {
	if r.Error == "" {
		return nil
	}
	for _, c := range codes {
		if c.code == r.Code {
			return &remoteError{text: r.Error, sentinel: c.sentinel}
		}
	}
	return errors.New(r.Error)
}

// remoteError is an error of the daemon that is also one of the sentinel errors. Programs ask what
// it is, and people read the text.
type remoteError struct {
	text     string
	sentinel error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.sentinel }

// Encode makes a message with this body, in JSON. A body that is too large is an error, and not
// cut: who makes it knows what can be left out.
func Encode(kind messageKind, sequence uint32, body any) ([]byte, error) {
	b := append(make([]byte, 0, 512), protocolMagic...)
	b = append(b, protocolVersion, byte(kind), 0, 0)
	b = binary.BigEndian.AppendUint32(b, sequence)
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if b = append(b, text...); len(b) > MaxMessage {
		return nil, fmt.Errorf("a message of %d bytes is over the limit of %d", len(b), MaxMessage)
	}
	return b, nil
}

// Decode reads a message of this kind into body, and returns its sequence number. Both ends are of
// the same build, mostly: so anything unexpected is refused, and versions are told apart first.
func Decode(b []byte, kind messageKind, body any) (sequence uint32, err error) {
	switch {
	case len(b) < headerSize || len(b) > MaxMessage:
		return 0, fmt.Errorf("a message of %d bytes", len(b))
	case string(b[:4]) != protocolMagic:
		return 0, fmt.Errorf("not a message of this protocol: it begins with %q", b[:4])
	case b[4] != protocolVersion:
		return 0, fmt.Errorf(
			"version %d of the protocol, not %d: tandem and tandem-ckptd are of different builds", b[4],
			protocolVersion)
	case messageKind(b[5]) != kind || b[6] != 0 || b[7] != 0:
		return 0, fmt.Errorf("a message of kind %d, not %d", b[5], kind)
	}
	if err := json.Unmarshal(b[headerSize:], body); err != nil {
		return 0, fmt.Errorf("body of a message: %w", err)
	}
	return binary.BigEndian.Uint32(b[8:]), nil
}

// Receive receives a message of this protocol, or of CRIU's, from a socket that blocks; io.EOF is
// the end. The size is asked for first, so that a short message takes little room.
func Receive(socket int) (message []byte, descriptors []int, err error) {
	size, err := seqpacket.NextSize(socket)
	if err != nil {
		return nil, nil, err
	}
	message = make([]byte, min(max(size, 1), MaxMessage+1))
	size, descriptors, err = seqpacket.Receive(socket, message, MaxDescriptors, 0)
	if err == nil && size > MaxMessage {
		sys.CloseAll(descriptors)
		err = seqpacket.ErrTooLong
	}
	if errors.Is(err, seqpacket.ErrTooLong) || errors.Is(err, seqpacket.ErrLost) {
		err = fmt.Errorf("a message with more than %d bytes or %d descriptors", MaxMessage, MaxDescriptors)
	}
	if err != nil {
		return nil, nil, err
	}
	return message[:size], descriptors, nil
}
