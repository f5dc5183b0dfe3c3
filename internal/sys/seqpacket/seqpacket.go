// Package seqpacket sends and receives messages, with descriptors beside them, over Unix sockets
// that keep the bounds of messages (SOCK_SEQPACKET). It also reads the descriptors out of control
// messages of other Unix sockets.
package seqpacket

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// MaxDescriptors is how many descriptors the kernel sends in one message: SCM_MAX_FD in net/scm.h.
const MaxDescriptors = 253

// MaxSent is how many descriptors a message of Tandem's protocols carries: a round number below
// MaxDescriptors.
const MaxSent = 250

// Errors of Receive. Where there is one, no descriptor is left open.
var (
	ErrTooLong = errors.New("a message is longer than it may be")
	ErrLost    = errors.New("descriptors of a message are lost")
)

// Pair makes two connected sockets, which are closed in programs that are executed.
func Pair() (pair [2]int, err error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
}

// Send sends a message with copies of descriptors, of which there are at most MaxDescriptors. Where
// nobody is at the other end any more the error is unix.EPIPE, and there is no signal.
func Send(socket int, message []byte, descriptors []int) error {
	var rights []byte
	if len(descriptors) > 0 {
		rights = unix.UnixRights(descriptors...)
	}
	_, err := sys.Retry(func() (int, error) {
		return 0, unix.Sendmsg(socket, message, rights, nil, unix.MSG_NOSIGNAL)
	})
	return err
}

// Receive receives a message into a buffer, with at most so many descriptors, which are closed in
// programs that are executed. Flags are those of recvmsg(2). The error is io.EOF at the end of the
// connection, and else ErrTooLong, ErrLost, or that of the system call.
func Receive(socket int, buffer []byte, most, flags int) (size int, descriptors []int, err error) {
	control := make([]byte, unix.CmsgSpace(4*most))
	var controlSize, got int
	size, err = sys.Retry(func() (n int, err error) {
		n, controlSize, got, _, err = unix.Recvmsg(socket, buffer, control, flags|unix.MSG_CMSG_CLOEXEC)
		return n, err
	})
	if err == unix.ECONNRESET {
		err = io.EOF
	}
	if err != nil {
		return 0, nil, err
	}
	// Whatever is wrong with the message, the descriptors are this process's by now, and would stay
	// open for ever.
	descriptors, err = Descriptors(control[:controlSize])
	switch {
	case size == 0:
		err = io.EOF
	case err != nil:
	case got&unix.MSG_CTRUNC != 0 || len(descriptors) > most: // the kernel rounds the room up
		err = ErrLost
	case got&unix.MSG_TRUNC != 0:
		err = ErrTooLong
	}
	if err != nil {
		sys.CloseAll(descriptors)
		return 0, nil, err
	}
	return size, descriptors, nil
}

// NextSize waits for a message and returns how long it is, so that the buffer need not have room
// for the longest that there may be. The error is io.EOF at the end of the connection.
func NextSize(socket int) (int, error) {
	n, err := sys.Retry(func() (int, error) {
		n, _, err := unix.Recvfrom(socket, nil, unix.MSG_PEEK|unix.MSG_TRUNC)
		return n, err
	})
	if err == unix.ECONNRESET {
		err = io.EOF
	}
	return n, err
}

// Descriptors are those in the control messages of a message. It returns also those that come
// before an error.
func Descriptors(control []byte) (all []int, err error) {
	if len(control) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return all, fmt.Errorf("control message: %w", err)
		}
		all = append(all, fds...)
	}
	return all, nil
}
