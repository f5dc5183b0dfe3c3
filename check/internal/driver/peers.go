package driver

import (
	"context"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// Starter starts a group.
type Starter func(context.Context, peers.Group) (Group, error)

// Group is what the driver needs of a group of peers. Tests implement it without processes or root.
// Only one goroutine at a time may call its methods.
type Group interface {
	Sockets() Sockets
	StartClient(ctx context.Context, peer int) error
	// Quiesce waits until the peers have reacted. What has arrived meanwhile, drain reads.
	Quiesce(ctx context.Context, drain func() (progress bool, err error)) error
	// Pass lets time pass for the peers.
	Pass(context.Context, ckptd.Wait) (ckptd.Passed, error)
	Late() bool          // a timer of the peers may have ended where the group stands
	TakeDisturbed() bool // a timer has ended too early, since this was last asked
	ResetEffort() watch.Effort
	Reads() (ckptd.Reads, error)
	Written() []string // by each peer, to its standard output and error, since this was last asked
	Ended() ([]watch.Ending, error)
	Check() error // whether a process has died
	Checkpoint(context.Context) (ckptd.Image, error)
	Restore(ctx context.Context, image string) error
	Close() error
}

// Sockets makes and hands out the group's end of connections: the commands of package proxy. An id
// names a socket from its creation until it is closed. A call that the kernel refuses returns a
// *proxy.SocketError.
type Sockets interface {
	CreateSocket(ctx context.Context, id proxy.ID) (fd int, err error)
	CreateSocketFor(ctx context.Context, id proxy.ID, of proxy.Address) (fd int, err error)
	BindTo(ctx context.Context, id proxy.ID, at proxy.Address) error
	ConnectTo(ctx context.Context, id proxy.ID, to proxy.Address) error
	Accept(ctx context.Context, id, newID proxy.ID) (fd int, err error)
	Close(ctx context.Context, id proxy.ID) error
}

// From is the starter that starts groups with a checkpoint daemon; nil without one.
func From(c *ckptd.Client) Starter {
	if c == nil {
		return nil
	}
	return func(ctx context.Context, spec peers.Group) (Group, error) {
		g, err := c.Start(ctx, spec)
		if err != nil {
			return nil, err
		}
		return daemonGroup{g}, nil
	}
}

// daemonGroup is a group that a checkpoint daemon runs. It has Sockets where *ckptd.Group has
// Proxy.
type daemonGroup struct{ *ckptd.Group }

// Sockets implements Group.
func (g daemonGroup) Sockets() Sockets { return proxySockets{g.Proxy()} }

// proxySockets are the sockets that a proxy has made.
type proxySockets struct{ *proxy.Client }

// Accept implements Sockets. The address of the client is dropped: it is not the same in each run.
func (s proxySockets) Accept(ctx context.Context, id, newID proxy.ID) (int, error) {
	fd, _, err := s.Client.Accept(ctx, id, newID)
	return fd, err
}
