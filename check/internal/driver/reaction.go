package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/proxy"
)

// quiescenceLimit bounds the wait for the peers' reaction to one input.
const quiescenceLimit = 30 * time.Second

// maxReaction bounds what the peers may send after one input, in bytes: it is all in memory, and a
// record of the cache.
const maxReaction = 256 << 20

// reaction collects what the peers do after one input. It lives from the giving of the input until
// result.
type reaction struct {
	ctx     context.Context // of the session
	d       *Driver
	g       *groupState
	next    int  // number of the next connection or listener, in group scope
	listens bool // the input is that the program begins to listen
	refused int
	opened  []int
	list    []model.Delivery
	size    int // bytes in it
	ended   []model.Ending
	time    model.Time
}

// newReaction begins a reaction. Connections that the peers open get the numbers that come next in
// the history of the group, which are the same each time it gets there.
func newReaction(s *Session, g *groupState) *reaction {
	return &reaction{ctx: s.ctx, d: s.d, g: g, next: g.history.next}
}

// give gives the group an input. Connections are those of the group's sockets. A connection that
// the peers refuse is no error but a part of the reaction.
func (r *reaction) give(in model.Input) error {
	switch in.Kind {
	case model.Connect:
		return r.connect(in)
	case model.Listen:
		return r.listen(in)
	case model.Pass:
		return r.pass(in.Most)
	}
	s := r.g.sockets[in.Conn]
	if s == nil {
		return fmt.Errorf("connection %d is not open in the peer group, though the program uses it", in.Conn)
	}
	switch in.Kind {
	case model.Send:
		if s.kind.Network.KeepsBounds() {
			return r.sendMessage(s, in)
		}
		return r.send(s, in)
	case model.Shutdown:
		// A peer that has reset the connection makes shutdown fail. The reset itself is read later.
		if err := unix.Shutdown(s.fd, unix.SHUT_WR); err != nil && !errors.Is(err, unix.ENOTCONN) {
			return fmt.Errorf("shutting down connection %d: %w", in.Conn, err)
		}
		s.shut = true
	case model.Close:
		// The proxy has a descriptor of the same socket, and closes it as well.
		unix.Close(s.fd)
		delete(r.g.sockets, in.Conn)
		return r.g.group.Sockets().Close(r.ctx, proxy.ID(in.Conn))
	}
	return nil
}

// connect has the proxy connect for the program, so that the socket is in the namespace of the
// peers and part of a checkpoint. A datagram socket may have an address of its own, and no other.
func (r *reaction) connect(in model.Input) error {
	address, err := proxy.ParseAddress(in.Addr)
	if err != nil {
		return err
	}
	commands := r.g.group.Sockets()
	return r.open(in, address, func(ctx context.Context, id proxy.ID) error {
		if address.From.IsValid() || address.FromPath != "" {
			if err := commands.BindTo(ctx, id, address); err != nil {
				return err
			}
		}
		// A datagram socket without a destination is only made.
		if !address.At.IsValid() && address.Path == "" {
			return nil
		}
		return commands.ConnectTo(ctx, id, address)
	})
}

// open makes a socket and then a connection or listener of it. how binds, listens, or connects it.
// A call that the kernel refuses closes the socket again, and its number stays in use.
func (r *reaction) open(in model.Input, kind proxy.Address, how func(context.Context, proxy.ID) error) error {
	id := proxy.ID(in.Conn)
	fd, err := r.g.group.Sockets().CreateSocketFor(r.ctx, id, kind)
	if err != nil {
		return err
	}
	err = how(r.ctx, id)
	r.next++ // one that is refused has a number, too
	var refused *proxy.SocketError
	if errors.As(err, &refused) {
		unix.Close(fd)
		r.refused = int(refused.Errno)
		return r.g.group.Sockets().Close(r.ctx, id)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	r.g.sockets[in.Conn] = &socket{fd: fd, kind: kind, listens: in.Kind == model.Listen}
	return nil
}

// send writes all of the data. A connection that the peer has broken shows that as a reset, as it
// would to the program. It drains what arrives while the socket is full, since a peer may not read
// before it has written.
func (r *reaction) send(s *socket, in model.Input) error {
	data := in.Data
	stuck := time.Time{}
	for len(data) > 0 {
		n, err := unix.Write(s.fd, data)
		switch {
		case err == nil:
			data, stuck = data[n:], time.Time{}
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if stuck.IsZero() {
				stuck = time.Now()
			}
			if err := r.awaitRoom(s, in, len(data), stuck); err != nil {
				return err
			}
		// If the peer's stream has ended, nobody will read the reset from it, so it is noted here.
		case errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET):
			if s.shut, s.broken = true, !s.ended; s.ended {
				r.add(in.Conn, nil, model.Reset)
			}
			return nil
		default:
			return fmt.Errorf("sending on connection %d: %w", in.Conn, err)
		}
	}
	return nil
}

// awaitRoom waits a little until more can be sent. Since when that was not possible is given. left
// is how many bytes could not be sent yet. An error is returned after quiescenceLimit.
func (r *reaction) awaitRoom(s *socket, in model.Input, left int, stuck time.Time) error {
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if time.Since(stuck) > quiescenceLimit {
		return fmt.Errorf("the peer of connection %d does not read: %d of %d bytes could not be sent",
			in.Conn, left, len(in.Data))
	}
	// Peers that wait until their own data is read would never read otherwise.
	if _, err := r.drain(); err != nil {
		return err
	}
	poll := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
	if _, err := unix.Poll(poll, 100); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	return nil
}

// drain reads whatever has arrived on any connection. It reads until nothing is left on any.
// progress says that the peers may react further, so the caller waits again.
func (r *reaction) drain() (progress bool, err error) {
	if progress, err = r.accept(); err != nil {
		return progress, err
	}
	var buffer [64 << 10]byte
	for number, s := range r.g.sockets {
		if s.ended {
			progress = r.noteReset(number, s) || progress
			continue
		}
		// Messages are told apart, and streams are not.
		if s.kind.Network.KeepsBounds() && !s.listens {
			some, err := r.drainMessages(number, s)
			if progress = progress || some; err != nil {
				return progress, err
			}
			continue
		}
		for !s.ended && !s.listens {
			n, err := s.read(buffer[:])
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if errors.Is(err, unix.EAGAIN) {
				break
			}
			progress = true
			switch {
			case err == nil && n > 0:
				if err := r.take(number, n); err != nil {
					return progress, err
				}
				r.add(number, slices.Clone(buffer[:n]), model.StillOpen)
			// A stream that ends without a reset is an end of the stream. After a broken send it is
			// the reset.
			case err == nil && !s.broken:
				r.add(number, nil, model.EOF)
				s.ended = true
			case err == nil || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE):
				r.add(number, nil, model.Reset)
				s.ended, s.shut = true, true
			default:
				return progress, fmt.Errorf("reading from connection %d: %w", number, err)
			}
		}
	}
	return progress, nil
}

// take counts bytes that have arrived on a connection. The limit is for all connections together.
// It also notices an ended check, since a peer that never pauses would keep the loop going.
func (r *reaction) take(connection, n int) error {
	if r.size += n; r.size > maxReaction {
		return fmt.Errorf("the peers have sent more than %d MiB after one input, last on connection %d, "+
			"and have not waited for the next one: see docs/guide/peers.md#when-a-peer-has-answered",
			maxReaction>>20, connection)
	}
	return r.ctx.Err() // they may send as fast as they are read
}

// noteReset looks whether a connection was reset since the peer ended its stream, as by what was
// sent after the peer had closed it. A program notices when it sends again.
//
// Where it has shut the connection down it cannot, and reading finds the end of the stream as
// before. Nor does the group know: the peer's socket, which no process has any more, acknowledges
// the end of the program's stream, but if the kernel has given that socket up, or a restore by CRIU
// has left it out, there is a reset in its place. So that is no part of a reaction.
func (r *reaction) noteReset(connection int, s *socket) bool {
	if s.shut {
		return false
	}
	errno, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR) // which forgets it
	if s.shut = err == nil && errno != 0; !s.shut {
		return false
	}
	r.add(connection, nil, model.Reset)
	return true
}

// add notes what has arrived on a connection. The pieces are put together later, since where they
// were cut is a matter of timing. It counts no bytes: take does.
func (r *reaction) add(connection int, data []byte, end model.End) {
	r.list = append(r.list, model.Delivery{Conn: connection, Data: data, End: end})
}

// result puts the deliveries of each connection together. The sort is stable, so data of one
// connection keeps its order. Reset is greater than EOF, and wins.
func (r *reaction) result() model.Reaction {
	slices.SortStableFunc(r.list, func(a, b model.Delivery) int { return a.Conn - b.Conn })
	out := model.Reaction{Refused: r.refused, Opened: r.opened, Ended: r.ended, Time: r.time}
	for _, d := range r.list {
		last := len(out.Deliveries) - 1
		if last >= 0 && out.Deliveries[last].Conn == d.Conn {
			out.Deliveries[last].Data = append(out.Deliveries[last].Data, d.Data...)
			out.Deliveries[last].End = max(out.Deliveries[last].End, d.End)
			continue
		}
		out.Deliveries = append(out.Deliveries, d)
	}
	return out
}
