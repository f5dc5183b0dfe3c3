package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/proxy"
)

// What the peers do by themselves: clients among them are started when the program listens,
// connect, and end; and timers of theirs end.

// listen has the proxy listen for the program. The socket is made by the proxy, in the namespace of
// the peers. The kind decides whether it is a stream or a datagram socket.
func (r *reaction) listen(in model.Input) error {
	at, err := proxy.ParseAddress(in.Addr)
	if err != nil {
		return err
	}
	return r.open(in, at, func(ctx context.Context, id proxy.ID) error {
		return r.g.group.Sockets().BindTo(ctx, id, at)
	})
}

// startClients starts those that have waited for the program to listen, in the order that the
// group's behaviour says. Each starts when the one before it is quiescent, so that the order in
// which they connect is always the same. An input that does not listen starts nobody. The address
// must match the one that the client waits for.
func (r *reaction) startClients(ctx context.Context, in model.Input) error {
	at, listens := listensAt(in)
	if !listens || r.g.history.listened[at] {
		return nil // or they were started before
	}
	g := r.d.spec.Behaving(r.g.behaviour)
	// Arrivals lists the peers of the group by index. The order is a part of the chosen behaviour.
	for _, i := range g.Arrivals() {
		if !g.Peers[i].Waits(at) {
			continue
		}
		if err := r.g.group.StartClient(ctx, i); err != nil {
			return err
		}
		if err := r.g.group.Quiesce(ctx, r.drain); err != nil {
			return err
		}
	}
	return nil
}

// accept takes over the connections that clients have made. The proxy accepts them, so that they
// are part of a checkpoint; no client can tell that the program has not done so yet. progress says
// whether there was a new connection. The caller then waits for the peers once more.
func (r *reaction) accept() (progress bool, err error) {
	// Numbers are visited in order, so that the connections get the same numbers each time.
	for _, number := range slices.Sorted(maps.Keys(r.g.sockets)) {
		s := r.g.sockets[number]
		for s.listens {
			// A poll without a timeout tells whether accept would block.
			waiting := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
			if n, err := unix.Poll(waiting, 0); err == unix.EINTR {
				continue
			} else if err != nil || n == 0 {
				break
			}
			next := r.nextSocket(number)
			fd, err := r.g.group.Sockets().Accept(r.ctx, proxy.ID(number), proxy.ID(next))
			if err != nil {
				return progress, err
			}
			r.g.sockets[next] = &socket{fd: fd, kind: proxy.Address{Network: s.kind.Network}}
			r.next++
			// The reaction names the listener. The number of the new socket follows from the order.
			r.opened, progress = append(r.opened, number), true
		}
	}
	return progress, nil
}

// nextSocket is the number of the socket of a connection that a client has opened at a listener. In
// group scope numbers are given in order. In connection scope they belong to names, which a replay
// finds again.
func (r *reaction) nextSocket(listener int) int {
	if r.d.scope == iocache.Group {
		return r.next
	}
	// The number of the listener is mapped back to its name, by a search: listeners are few.
	for name, number := range r.d.naming.numbers {
		if number == listener && r.listens {
			return r.d.naming.number(r.d.naming.opened(name, len(r.opened)), 0)
		}
	}
	// In scope connection none is expected but when the program begins to listen; that is told
	// later.
	return r.d.naming.number(fmt.Sprintf("late %d", len(r.d.naming.numbers)), 0)
}

// noteEnded finds the clients that have ended since the input. Those that the history has already
// are left out. It may be called several times for one input.
func (r *reaction) noteEnded() error {
	ended, err := r.g.group.Ended()
	// An earlier call for the same input may have noted some.
	r.ended = r.ended[:0]
	for _, e := range ended {
		if !r.g.history.ended[e.Peer] {
			r.ended = append(r.ended, model.Ending{Peer: e.Peer, Status: int(e.Status)})
		}
	}
	return err
}

// pass lets time pass for the peers. Where that takes it, they are waited for. most bounds the
// time, and is that of the program's next timer. model.Once stands for the next timer of the peers,
// however far it is.
func (r *reaction) pass(most time.Duration) error {
	// The patience is for timers by the machine's clock, which take real time.
	patience := r.d.config.Patience
	ctx, cancel := context.WithTimeout(r.ctx, quiescenceLimit+patience)
	defer cancel()
	how := ckptd.Wait{Most: most, Patience: patience, Drain: r.drain, Shows: r.shows}
	if most == model.Once {
		how.Most, how.Once = 0, true
	}
	passed, err := r.g.group.Pass(ctx, how)
	if errors.Is(err, context.DeadlineExceeded) && r.ctx.Err() == nil {
		err = fmt.Errorf("a timer of the peers: %w", err)
	}
	if how.Most > 0 {
		passed.Time = min(passed.Time, how.Most)
	}
	r.time = model.Time{
		Passed: passed.Time, Idle: passed.Idle, Tie: passed.Tie, Due: passed.Due, Peer: passed.Peer,
	}
	return err
}

// shows reports whether the peers have done something that the program can notice. The sockets were
// drained by the caller. Ends of clients are looked for here.
func (r *reaction) shows() (bool, error) {
	if r.d.spec.Clients() > 0 {
		if err := r.noteEnded(); err != nil {
			return false, err
		}
	}
	return len(r.list)+len(r.opened)+len(r.ended) > 0, nil
}

// late reads what the peers have done since the last input, because a timer of theirs has ended by
// the machine's clock, and reports whether the program can notice it. The group's mark of a
// disturbance is taken away, since this call handles it.
func (r *reaction) late() (shows bool, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, quiescenceLimit)
	defer cancel()
	if err := r.g.group.Quiesce(ctx, r.drain); err != nil {
		return false, err
	}
	r.g.group.TakeDisturbed()
	return r.shows()
}
