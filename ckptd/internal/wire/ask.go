package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// Requests and replies over a socket that keeps the bounds of messages. Descriptors go beside a
// message, and there is a most of both: large things travel in files without a name.

// Ask sends a request and receives its reply. It is for a connection that has no reader of its own:
// one request at a time. Descriptors that come with an error are closed.
func Ask(connection int, sequence uint32, r Request, descriptors []int) (a Answer, err error) {
	message, err := Encode(RequestKind, sequence, r)
	if err != nil {
		return a, err
	}
	if err := seqpacket.Send(connection, message, descriptors); err != nil {
		return a, err
	}
	for {
		message, a.Descriptors, err = Receive(connection)
		if err == unix.EAGAIN {
			err = errors.New("it does not answer")
		}
		if err == io.EOF {
			err = fmt.Errorf("it has closed the connection: %w", err)
		}
		if err != nil {
			return a, err
		}
		a.Response = Response{}
		got, err := Decode(message, ReplyKind, &a.Response)
		if err == nil && got != sequence { // late, to one that was given up
			sys.CloseAll(a.Descriptors)
			continue
		}
		if err == nil {
			err = a.AsError()
		}
		if err != nil {
			sys.CloseAll(a.Descriptors)
			a.Descriptors = nil
		}
		return a, err
	}
}

// Answer is a reply with the descriptors that came with it, and before it.
type Answer struct {
	Response
	Descriptors []int
	SocketFDs   []int // of Response.Sockets, in their order
}

// Close closes all descriptors.
func (a *Answer) Close() {
	sys.CloseAll(a.Descriptors)
	sys.CloseAll(a.SocketFDs)
}

// Patience is how long a client, or the daemon of one, may take to say something.
const Patience = 5 * time.Second

// ConnectToSocket connects to a socket. The error of the system call stays what it is, so that a
// caller can tell why.
func ConnectToSocket(path string) (int, error) {
	connection, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(connection, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(connection)
		return -1, fmt.Errorf("connect to %s: %w", path, err)
	}
	return connection, nil
}

// SameUser returns who is at the other end, if that is this user or root. The kernel tells, so
// nobody can pretend.
func SameUser(connection int) (*unix.Ucred, error) {
	who, err := unix.GetsockoptUcred(connection, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return nil, fmt.Errorf("ask who is at the other end: %w", err)
	}
	if int(who.Uid) != os.Geteuid() && who.Uid != 0 {
		return nil, fmt.Errorf("user %d has no business with user %d's checkpoint daemon", who.Uid,
			os.Geteuid())
	}
	return who, nil
}

// SetPatience bounds how long a receive may take; 0 is for ever.
func SetPatience(connection int, d time.Duration) error {
	t := unix.NsecToTimeval(d.Nanoseconds())
	return unix.SetsockoptTimeval(connection, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &t)
}

// Reply answers; when that fails the checker is gone, and the reader of requests sees it. If it is
// the reply or its descriptors that cannot be sent, that is the answer, and Reply returns false.
func Reply(channel int, sequence uint32, r Response, descriptors []int) bool {
	message, err := Encode(ReplyKind, sequence, r)
	if err != nil {
		// which is short enough
		Reply(channel, sequence, ErrorResponse(fmt.Errorf("encode the reply: %w", err)), nil)
		return false
	}
	switch err := seqpacket.Send(channel, message, descriptors); {
	case err == nil || err == unix.EPIPE:
	case len(descriptors) > 0:
		Reply(channel, sequence, ErrorResponse(fmt.Errorf("send %d descriptors: %w", len(descriptors), err)),
			nil)
		return false
	default:
		fmt.Fprintln(os.Stderr, "tandem-ckptd: answer the checker:", err)
	}
	return true
}

// ReplyWithSockets is Reply for an answer whose last descriptors are those of sockets, in the order
// of Response.Sockets. They are sent ahead, in as few messages as hold them, and closed by then:
// whoever has the reply can count on having the only copy, so that a connection ends when he closes
// it.
func ReplyWithSockets(channel int, sequence uint32, r Response, descriptors []int) bool {
	sockets := descriptors[len(descriptors)-len(r.Sockets):]
	for len(sockets) > 0 {
		part := sockets[:min(len(sockets), MaxDescriptors)]
		message, err := Encode(SocketsKind, sequence, struct{}{})
		if err == nil {
			err = seqpacket.Send(channel, message, part)
		}
		if err != nil && err != unix.EPIPE {
			Reply(channel, sequence, ErrorResponse(fmt.Errorf("send %d sockets: %w", len(part), err)), nil)
			return false
		}
		sys.CloseAll(part)
		for n := range part {
			part[n] = -1 // is closed no more
		}
		sockets = sockets[len(part):]
	}
	return Reply(channel, sequence, r, descriptors[:len(descriptors)-len(r.Sockets)])
}
