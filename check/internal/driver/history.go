package driver

import (
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/proxy"
)

// groupHistory is what has become of a group on the way to where it stands. Sockets are named by
// their numbers in the group. Of the inputs on different connections only the numbers in group
// scope depend on the order in which they are added. It is computed in one walk after a restore,
// and extended by one step for each input.
type groupHistory struct {
	next     int                    // number of the next connection or listener, in group scope
	open     map[int]bool           // those that the proxy still has; whether it is a listener
	closed   map[int]bool           // by the program
	kinds    map[int]proxy.Address  // what they were opened with; where a peer has, the network
	finished map[int]bool           // the stream of the peer has ended
	shut     map[int]bool           // nothing can be sent any more
	listened map[proxy.Address]bool // where the program has listened
	ended    map[int]bool           // clients
}

// newHistory is the history of a group that was just started.
func newHistory() groupHistory {
	return groupHistory{
		open: map[int]bool{}, closed: map[int]bool{}, kinds: map[int]proxy.Address{},
		finished: map[int]bool{}, shut: map[int]bool{}, listened: map[proxy.Address]bool{},
		ended: map[int]bool{},
	}
}

// historyOf walks to a place to find out how a group has come there. The cost is in proportion to
// the depth, so it is called after restores only.
func (n *naming) historyOf(at iocache.Position) (groupHistory, error) {
	h := newHistory()
	steps, err := n.cache.Missing(iocache.Position{iocache.Root}, at)
	for _, s := range steps {
		h.add(s, n.scope, func(connection int) int { return n.socketOf(s.Node, connection) })
	}
	return h, err
}

// add goes on with a step, of which number tells the sockets of its connections. number maps the
// connection of a step, as the cache names it, to a socket of the group.
func (h *groupHistory) add(s iocache.Step, scope iocache.Scope, number func(connection int) int) {
	conn := number(s.Input.Conn)
	switch s.Input.Kind {
	case model.Connect, model.Listen:
		// Refused connections use a number, too, so that later ones are the same in each execution.
		h.next++
		if s.Reaction.Refused == 0 {
			h.open[conn] = s.Input.Kind == model.Listen
			h.kinds[conn] = mustParse(s.Input.Addr)
		}
	case model.Shutdown:
		h.shut[conn] = true
	case model.Close:
		delete(h.open, conn)
		h.closed[conn] = true
	}
	if at, listens := listensAt(s.Input); listens && s.Reaction.Refused == 0 {
		h.listened[at] = true
	}
	// Opened names listeners, one for each connection, in the order in which they were accepted.
	for k, listener := range s.Reaction.Opened {
		opened := h.next
		if scope == iocache.Connection {
			listener, opened = conn, number(1+k)
		}
		h.kinds[opened] = proxy.Address{Network: h.kinds[listener].Network}
		if !h.closed[opened] { // in connection scope, connections come in any order
			h.open[opened] = false
		}
		h.next++
	}
	for _, delivery := range s.Reaction.Deliveries {
		to := number(delivery.Conn)
		h.finished[to] = h.finished[to] || delivery.End != model.StillOpen
		// A reset ends both directions.
		h.shut[to] = h.shut[to] || delivery.End == model.Reset
	}
	for _, e := range s.Reaction.Ended {
		h.ended[e.Peer] = true
	}
}

// mustParse reads the address of an input, which the worker's side has written. A text that cannot
// be parsed is a fault of the checker, so it panics.
func mustParse(text string) proxy.Address {
	a, err := proxy.ParseAddress(text)
	if err != nil {
		panic("check: an input for " + text + ": " + err.Error())
	}
	return a
}

// listensAt is where an input has the program listen, or have a datagram socket to which others can
// send. A datagram socket with its own port or path counts as a listener, since peers can send to
// it.
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
