package ckptd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// DefaultSocket is where a shared daemon listens if it is not told otherwise.
const DefaultSocket = "/run/tandem-ckptd.socket"

// Dial attaches to the shared daemon that listens at a socket. Options are as for Spawn; the
// daemon's limits may leave less of the budget. What can be done with the client, and what
// its end means, is the same.
func Dial(ctx context.Context, socket string, o Options) (*Client, error) {
	return o.with(ctx, func() (*Client, error) { return attach(socket, o) })
}

func attach(socket string, o Options) (*Client, error) {
	directory, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	connection, err := connectToDaemon(socket)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		unix.Close(connection)
		return nil, err
	}
	a, err := askOnce(connection, 0, request{Operation: operationAttach, Dir: directory}, []int{int(write.Fd())})
	write.Close()
	c := newClient(connection, o)
	if err == nil {
		err = c.follow(a.descriptors)
	}
	if err == nil {
		err = setPatience(connection, 0)
	}
	if err != nil {
		read.Close()
		unix.Close(connection)
		return nil, fmt.Errorf("attach to the checkpoint daemon at %s: %w", socket, err)
	}
	go func() {
		defer read.Close()
		c.stderr.readFrom(read)
	}()
	go c.readReplies()
	return c, nil
}

// follow has the client know of the end of its daemon, from a pidfd.
func (c *Client) follow(descriptors []int) error {
	if len(descriptors) != 1 {
		sys.CloseAll(descriptors)
		return fmt.Errorf("it gave %d descriptors, not 1", len(descriptors))
	}
	var err error
	if c.pid, err = pidOf(descriptors[0]); err != nil {
		sys.CloseAll(descriptors)
		return err
	}
	c.pidfd = descriptors[0]
	go func() {
		sys.AwaitExit(c.pidfd, -1)
		close(c.exited)
	}()
	return nil
}

// connectToDaemon connects to the socket of a shared daemon of this user or root.
func connectToDaemon(socket string) (int, error) {
	connection, err := connectToSocket(socket)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ECONNREFUSED):
		return -1, fmt.Errorf("%w: no checkpoint daemon listens there: start one with `tandem ckptd start`", err)
	case errors.Is(err, unix.EACCES):
		return -1, fmt.Errorf("%w: the daemon is another user's", err)
	case err != nil:
		return -1, err
	}
	if _, err = sameUser(connection); err == nil {
		err = setPatience(connection, 2*patience) // it waits for others itself
	}
	if err != nil {
		unix.Close(connection)
		return -1, err
	}
	return connection, nil
}

// askOnce sends a request and receives its reply.
func askOnce(connection int, sequence uint32, r request, descriptors []int) (a answer, err error) {
	message, err := encodeMessage(requestKind, sequence, r)
	if err != nil {
		return a, err
	}
	if err := seqpacket.Send(connection, message, descriptors); err != nil {
		return a, err
	}
	for {
		message, a.descriptors, err = receiveMessage(connection)
		if err == unix.EAGAIN {
			err = errors.New("it does not answer")
		}
		if err == io.EOF {
			err = fmt.Errorf("it has closed the connection: %w", err)
		}
		if err != nil {
			return a, err
		}
		a.reply = reply{}
		got, err := decodeMessage(message, replyKind, &a.reply)
		if err == nil && got != sequence { // late, to one that was given up
			sys.CloseAll(a.descriptors)
			continue
		}
		if err == nil {
			err = a.asError()
		}
		if err != nil {
			sys.CloseAll(a.descriptors)
			a.descriptors = nil
		}
		return a, err
	}
}

// AskShared asks the shared daemon that listens at a socket for its status.
func AskShared(socket string) (s SharedStatus, err error) {
	connection, err := connectToDaemon(socket)
	if err != nil {
		return s, err
	}
	defer unix.Close(connection)
	a, err := askOnce(connection, 1, request{Operation: operationStatus}, nil)
	if err == nil {
		err = readStatus(a.descriptors, &s)
	}
	if err != nil {
		return s, fmt.Errorf("the status of the checkpoint daemon at %s: %w", socket, err)
	}
	return s, nil
}

// StopShared stops the shared daemon that listens at a socket, and returns when it has
// ended. With force it ends its clients' daemons, without it must have no clients.
func StopShared(socket string, force bool) error {
	connection, err := connectToDaemon(socket)
	if err != nil {
		return err
	}
	defer unix.Close(connection)
	status, err := AskShared(socket)
	if err != nil {
		return err
	}
	pidfd, err := unix.PidfdOpen(status.PID, 0)
	if err != nil {
		return fmt.Errorf("find process %d of the checkpoint daemon: %w", status.PID, err)
	}
	defer unix.Close(pidfd)
	if _, err := askOnce(connection, 1, request{Operation: operationStop, Force: force}, nil); err != nil {
		return fmt.Errorf("stop the checkpoint daemon at %s: %w", socket, err)
	}
	if !sys.AwaitExit(pidfd, 2*patience) {
		return fmt.Errorf("process %d of the checkpoint daemon was told to stop, and has not ended", status.PID)
	}
	return nil
}
