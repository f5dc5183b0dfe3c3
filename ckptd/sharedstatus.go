package ckptd

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/shared"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
)

// How to run a shared daemon, and what it has.
type (
	SharedOptions = shared.Options
	SharedStatus  = shared.Status
)

// defaultSocket is where a shared daemon listens if it is not told otherwise.
const defaultSocket = "/run/tandem-ckptd.socket"

// connectToDaemon connects to the socket of a shared daemon of this user or root. A daemon of
// somebody else could be given anything, and say anything.
func connectToDaemon(socket string) (int, error) {
	connection, err := wire.ConnectToSocket(socket)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ECONNREFUSED):
		return -1, fmt.Errorf("%w: no checkpoint daemon listens there: start one with `tandem ckptd start`",
			err)
	case errors.Is(err, unix.EACCES):
		return -1, fmt.Errorf("%w: the daemon is another user's", err)
	case err != nil:
		return -1, err
	}
	if _, err = wire.SameUser(connection); err == nil {
		err = wire.SetPatience(connection, 2*wire.Patience) // it waits for others itself
	}
	if err != nil {
		unix.Close(connection)
		return -1, err
	}
	return connection, nil
}

// Status asks the daemon for its clients and what it has for each. It is one request over a
// connection of its own.
func (d SharedDaemon) Status() (s SharedStatus, err error) {
	connection, err := connectToDaemon(d.Socket)
	if err != nil {
		return s, err
	}
	defer unix.Close(connection)
	a, err := wire.Ask(connection, 1, wire.Request{Operation: wire.OpStatus}, nil)
	if err == nil {
		err = wire.ReadStatus(a.Descriptors, &s)
	}
	if err != nil {
		return s, fmt.Errorf("the status of the checkpoint daemon at %s: %w", d.Socket, err)
	}
	return s, nil
}

// Stop stops the daemon, and returns when it has ended. With force it does so even if it has
// clients, whose peers end then. The end is awaited by a pidfd, since the process is not a child.
func (d SharedDaemon) Stop(force bool) error {
	connection, err := connectToDaemon(d.Socket)
	if err != nil {
		return err
	}
	defer unix.Close(connection)
	status, err := d.Status()
	if err != nil {
		return err
	}
	pidfd, err := unix.PidfdOpen(status.PID, 0)
	if err != nil {
		return fmt.Errorf("find process %d of the checkpoint daemon: %w", status.PID, err)
	}
	defer unix.Close(pidfd)
	if _, err := wire.Ask(connection, 1, wire.Request{Operation: wire.OpStop, Force: force},
		nil); err != nil {
		return fmt.Errorf("stop the checkpoint daemon at %s: %w", d.Socket, err)
	}
	if !sys.AwaitExit(pidfd, 2*wire.Patience) {
		return fmt.Errorf("process %d of the checkpoint daemon was told to stop, and has not ended",
			status.PID)
	}
	return nil
}
