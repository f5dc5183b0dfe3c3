package check

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Clients among the peers: they are started when the program listens, connect, and end.

// past is what has become of a group on the way to where it stands. Sockets are named by
// their numbers in the group.
type past struct {
	next     int                    // number of the next connection or listener, in group scope
	open     map[int]bool           // those that the proxy still has; whether it is a listener
	kinds    map[int]proxy.Address  // what they were opened with; of one that a peer has opened, the network
	finished map[int]bool           // the stream of the peer has ended
	shut     map[int]bool           // nothing can be sent any more
	listened map[proxy.Address]bool // where the program has listened
	ended    map[int]bool           // clients
}

// pastOf finds out how a group has come to some places.
func (p *peerSide) pastOf(at iocache.Position) (past, error) {
	h := past{open: map[int]bool{}, finished: map[int]bool{}, shut: map[int]bool{}, ended: map[int]bool{},
		kinds: map[int]proxy.Address{}, listened: map[proxy.Address]bool{}}
	closed := map[int]bool{}
	steps, err := p.cache.Missing(iocache.Position{iocache.Root}, at)
	if err != nil {
		return past{}, err
	}
	for _, s := range steps {
		number := p.socketOf(s.Node, s.Input.Conn)
		switch s.Input.Kind {
		case model.Connect, model.Listen:
			h.next++
			if s.Reaction.Refused == 0 {
				h.open[number] = s.Input.Kind == model.Listen
				h.kinds[number] = mustParse(s.Input.Addr)
			}
		case model.Shutdown:
			h.shut[number] = true
		case model.Close:
			delete(h.open, number)
			closed[number] = true
		}
		if at, listens := listensAt(s.Input); listens && s.Reaction.Refused == 0 {
			h.listened[at] = true
		}
		for k, listener := range s.Reaction.Opened {
			opened := h.next
			if p.scope == iocache.Connection {
				listener, opened = number, p.socketOf(s.Node, 1+k)
			}
			h.kinds[opened] = proxy.Address{Network: h.kinds[listener].Network}
			if !closed[opened] { // in connection scope, connections come in any order
				h.open[opened] = false
			}
			h.next++
		}
		for _, d := range s.Reaction.Deliveries {
			number := p.socketOf(s.Node, d.Conn)
			h.finished[number] = h.finished[number] || d.End != model.StillOpen
			h.shut[number] = h.shut[number] || d.End == model.Reset
		}
		for _, e := range s.Reaction.Ended {
			h.ended[e.Peer] = true
		}
	}
	return h, nil
}

// mustParse reads the address of an input, which the worker's side has written.
func mustParse(text string) proxy.Address {
	a, err := proxy.ParseAddress(text)
	if err != nil {
		panic("check: an input for " + text + ": " + err.Error())
	}
	return a
}

// listensAt is where an input has the program listen, or have a datagram socket to which others can send.
func listensAt(in model.Input) (at proxy.Address, listens bool) {
	switch in.Kind {
	case model.Listen:
		return mustParse(in.Addr), true
	case model.Connect:
		a := mustParse(in.Addr)
		at = proxy.Address{Network: a.Network, At: a.From, Path: a.FromPath}
		return at, at.At.Port() != 0 || at.Path != ""
	}
	return at, false
}

// listen has the proxy listen for the program.
func (r *reaction) listen(in model.Input) error {
	at, err := proxy.ParseAddress(in.Addr)
	if err != nil {
		return err
	}
	return r.open(in, at, func(ctx context.Context, id proxy.ID) error {
		return r.p.group.Proxy().BindTo(ctx, id, at)
	})
}

// startClients starts those that have waited for the program to listen, in the order that the group's
// behaviour says, each when the one before it is quiescent: so the order in which they connect is always the same.
func (r *reaction) startClients(ctx context.Context, in model.Input) error {
	at, listens := listensAt(in)
	if !listens || r.past.listened[at] {
		return nil // or they were started before
	}
	g := r.p.spec.Behaving(r.p.standings[0].behaviour)
	for _, i := range g.Arrivals() {
		if !g.Peers[i].Waits(at) {
			continue
		}
		if err := r.p.group.StartClient(ctx, i); err != nil {
			return err
		}
		if err := r.p.group.Quiesce(ctx, r.drain); err != nil {
			return err
		}
	}
	return nil
}

// accept takes over the connections that clients have made. The proxy accepts them, so that they
// are part of a checkpoint; no client can tell that the program has not done so yet.
func (r *reaction) accept() (progress bool, err error) {
	for _, number := range slices.Sorted(maps.Keys(r.p.sockets)) {
		s := r.p.sockets[number]
		for s.listens {
			waiting := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
			if n, err := unix.Poll(waiting, 0); err == unix.EINTR {
				continue
			} else if err != nil || n == 0 {
				break
			}
			next := r.nextSocket(number)
			fd, _, err := r.p.group.Proxy().Accept(r.p.ctx, proxy.ID(number), proxy.ID(next))
			if err != nil {
				return progress, err
			}
			r.p.sockets[next] = &socket{fd: fd, kind: proxy.Address{Network: s.kind.Network}}
			r.past.next++
			r.opened, progress = append(r.opened, number), true
		}
	}
	return progress, nil
}

// nextSocket is the number of the socket of a connection that a client has opened at a listener.
func (r *reaction) nextSocket(listener int) int {
	if r.p.scope == iocache.Group {
		return r.past.next
	}
	for name, number := range r.p.numbers {
		if number == listener && r.listens {
			return r.p.socketNumber(r.p.openedName(name, len(r.opened)), 0)
		}
	}
	// In scope connection none is expected but when the program begins to listen; that is told later.
	return r.p.socketNumber(fmt.Sprintf("late %d", len(r.p.numbers)), 0)
}

// openedName is the name of the k-th connection that the peers open when the program begins to
// listen; in group scope connections have none.
func (p *peerSide) openedName(listener string, k int) string {
	if p.scope == iocache.Group {
		return ""
	}
	return iocache.OpenedName(listener, k)
}

// noteEnded finds the clients that have ended since the input.
func (r *reaction) noteEnded() error {
	ended, err := r.p.group.Ended()
	r.ended = r.ended[:0]
	for _, e := range ended {
		if !r.past.ended[e.Peer] {
			r.ended = append(r.ended, model.Ending{Peer: e.Peer, Status: int(e.Status)})
		}
	}
	return err
}

// noteClients says in an exchange what the clients have done.
func (p *conversation) noteClients(x *exchange) {
	x.answer.First = len(p.connections)
	for k := range x.answer.Opened {
		p.connections = append(p.connections, p.openedName(x.input.Name, k))
	}
	if t := x.answer.Time; t.Due > 0 && t.Peer < len(p.spec.Peers) {
		x.timerOf = p.spec.Peers[t.Peer].Name
	}
	p.clients -= len(x.answer.Ended)
	x.answer.Clients = p.clients
	for _, e := range x.answer.Ended {
		peer := p.spec.Peers[e.Peer]
		x.ended = append(x.ended, end{peer.Name, unix.WaitStatus(e.Status)})
		if x.answer.Failure == "" {
			x.answer.Failure = peer.Contradicts(unix.WaitStatus(e.Status))
		}
	}
}

// end is the end of a client.
type end struct {
	peer   string
	status unix.WaitStatus
}

// arrivals says what a verdict rests on where several clients connect.
func arrivals(g *peers.Group) []string {
	switch {
	case g.Clients() < 2:
		return nil
	case g.AnyArrival:
		return []string{"clients connect in every order"}
	}
	return []string{"clients connect in the order of the configuration"}
}
