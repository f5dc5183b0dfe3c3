package ckptd

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
)

// A shared daemon starts a private one for each client, which has the client's connection as its
// channel. So from the first request on both ways to come by a daemon are the same.

// Dial attaches to the shared daemon that listens at a socket. Options are as for Spawn; the
// daemon's limits may leave less of the budget. What can be done with the client, and what
// its end means, is the same.
func Dial(ctx context.Context, socket string, o Options) (*Client, error) {
	return o.with(ctx, func() (*Client, error) { return attach(socket, o) })
}

// attach connects to a shared daemon and has it start one for this client, which writes its
// messages into a pipe of the client's.
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
	a, err := wire.Ask(connection, 0, wire.Request{Operation: wire.OpAttach, Dir: directory},
		[]int{int(write.Fd())})
	write.Close()
	c := newClient(connection, o)
	if err == nil {
		err = c.follow(a.Descriptors)
	}
	if err == nil {
		err = wire.SetPatience(connection, 0)
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

// follow has the client know of the end of its daemon, from a pidfd. The daemon is no child of this
// process, and its pid could be another's some day.
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
