package ckptd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// What a machine has to have for checkpoints can be asked for piece by piece. Package doctor does
// so, and says what to do about what is missing.

// What to do about a CRIU that is missing, and about one that TANDEM_CRIU names.
const (
	InstallCRIU = criu.InstallHint
	NamedCRIU   = criu.NamedHint
)

// FindCRIU returns the file of a CRIU that is new enough, and its version: of this file, or where
// that is empty of $TANDEM_CRIU, /usr/local/sbin/criu, or the first one in PATH. The error wraps
// ErrNoCRIU.
func FindCRIU(file string) (path, version string, err error) {
	if file == "" {
		return criu.Find()
	}
	version, err = criu.Version(file)
	return file, version, err
}

// FindPrograms returns the file of the daemon that Options mean. It is an error if that or the
// proxy is missing.
func FindPrograms(o Options) (daemon string, err error) {
	if daemon, err = programFile(o.Daemon, Program); err == nil {
		_, err = programFile(o.Proxy, proxy.Program)
	}
	return daemon, err
}

// FindShim returns the file of the library that is preloaded into peers. It builds it if need be,
// which takes a C compiler.
func FindShim(ctx context.Context) (library string, err error) {
	s, err := findShim(ctx)
	return s.Library, err
}

// TryPacketFilter holds packets back in a network that nobody uses, as restores by CRIU do.
func TryPacketFilter() error {
	network, err := netns.New()
	if err != nil {
		return err
	}
	defer network.Close()
	return netns.InFile(network, func() error {
		return errors.Join(criu.HoldPackets(), criu.ReleasePackets())
	})
}

// SelfTest starts a daemon, checkpoints a connection that a proxy has with itself, and goes back to
// that. It takes about a second, and leaves nothing behind. "criu check" does not
// do: it approves of versions that cannot dump any TCP socket.
func SelfTest(ctx context.Context, o Options) (err error) {
	c, err := Spawn(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	g, err := c.launch(ctx, peers.Group{Peers: []peers.Peer{{Name: "sleep",
		Command: []string{"sleep", "infinity"}}}})
	if err != nil {
		return err
	}
	const listener, client, server = 1, 2, 3
	if err := connectToItself(ctx, g.Proxy(), listener, client, server); err != nil {
		return err
	}
	image, err := g.Checkpoint(ctx)
	if err != nil {
		return err
	}
	if err := g.Restore(ctx, image.ID); err != nil {
		return err
	}
	return exchangeByte(ctx, g.Proxy(), client, server)
}

// connectToItself makes a connection between the sockets client and server of a proxy. The address
// is of the network of the group, which nobody else is in.
func connectToItself(ctx context.Context, p *proxy.Client, listener, client, server proxy.ID) error {
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1024)
	for _, id := range []proxy.ID{listener, client} {
		fd, err := p.CreateSocket(ctx, id)
		if err != nil {
			return err
		}
		unix.Close(fd)
	}
	if err := p.Bind(ctx, listener, address); err != nil {
		return err
	}
	if err := p.Connect(ctx, client, address); err != nil {
		return err
	}
	fd, _, err := p.Accept(ctx, listener, server)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// exchangeByte sends a byte from one socket of a proxy to another. Both ends were there before the
// restore; the proxy gives descriptors of those that it has now.
func exchangeByte(ctx context.Context, p *proxy.Client, from, to proxy.ID) error {
	sender, err := p.CreateSocket(ctx, from)
	if err != nil {
		return err
	}
	defer unix.Close(sender)
	receiver, err := p.CreateSocket(ctx, to)
	if err != nil {
		return err
	}
	defer unix.Close(receiver)
	if _, err := unix.Write(sender, []byte{'x'}); err != nil {
		return fmt.Errorf("send over the restored connection: %w", err)
	}
	const patience = 5000 // ms; it takes microseconds
	if n, err := sys.Poll([]unix.PollFd{{Fd: int32(receiver), Events: unix.POLLIN}}, patience); n != 1 {
		return fmt.Errorf("nothing arrives over the restored connection: %w",
			errors.Join(err, context.DeadlineExceeded))
	}
	b := make([]byte, 2)
	if n, err := unix.Read(receiver, b); err != nil || n != 1 || b[0] != 'x' {
		return fmt.Errorf("%q arrived over the restored connection, not \"x\": %w", b[:max(n, 0)], err)
	}
	return nil
}
