package page

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// maxLanes bounds the goroutines, and maxPeerLanes the peers, that have a lane of their own. The
// last lane is shared by the rest.
const (
	maxLanes     = 40
	maxPeerLanes = 12
)

// laneOfEach gives each goroutine its lane: those that act first, in the order in which they do.
// Lanes of peers come after them.
func laneOfEach(b *builder, c *report.Counterexample) {
	known := map[int]report.Goroutine{}
	// Goroutines of the schedule need not be listed.
	for _, g := range c.Goroutines {
		known[g.ID] = g
	}
	// The schedule is read once, from the beginning.
	for i := range b.steps {
		giveLane(b, b.steps[i].Goroutine, known)
	}
	// Those that never act may be what is missing.
	for _, g := range c.Goroutines {
		giveLane(b, g.ID, known)
	}
	b.peers = newPeerLanes(b)
}

// giveLane gives a goroutine its lane if it has none.
func giveLane(b *builder, id int, known map[int]report.Goroutine) {
	if _, ok := b.lanes[id]; ok {
		return
	}
	g, listed := known[id]
	l := Lane{Name: words.Printable(g.Name), Note: words.ShortFunction(g.Function),
		Created: words.Printable(g.Created), Blocked: words.Printable(g.Blocked)}
	// The first lanes are those of the schedule, so those that act have one.
	switch {
	case len(b.page.Lanes) >= maxLanes:
		b.page.Lanes[maxLanes-1] = Lane{Name: "others", Note: "goroutines without a lane of their own"}
		b.lanes[id] = maxLanes - 1
		return
	case id == report.Clock && !listed:
		l = Lane{Name: "clock", Note: "the time of the program"}
	case !listed:
		l.Name = fmt.Sprintf("goroutine %d", id)
	}
	b.lanes[id] = len(b.page.Lanes)
	b.page.Lanes = append(b.page.Lanes, l)
}

// goroutineNames are the goroutines by name.
func goroutineNames(c *report.Counterexample) map[string]int {
	names := map[string]int{}
	for _, g := range c.Goroutines {
		names[g.Name] = g.ID
	}
	return names
}

// peerLanes are the lanes of peers. A peer is known by the address that was connected to, or by the
// listener that it has connected to; what it prints is known by its name.
type peerLanes struct {
	b         *builder
	first     int // index of the first lane of a peer
	ofConn    map[int]string
	numbers   map[string]int // by what the peer is known by
	listeners map[string]string
}

func newPeerLanes(b *builder) *peerLanes {
	return &peerLanes{b: b, first: len(b.page.Lanes), ofConn: map[int]string{}, numbers: map[string]int{},
		listeners: map[string]string{}}
}

// of is the lane of a message, which must be given in their order. A connection has the lane of its
// address.
func (p *peerLanes) of(m report.Message) int {
	if address, ok := strings.CutPrefix(m.Event, "connect to "); ok && m.About == "" {
		p.ofConn[m.Conn] = address
	}
	if at, ok := strings.CutPrefix(m.Event, "listen at "); ok {
		p.listeners[m.About] = "clients of " + at
		return p.named(p.listeners[m.About])
	}
	// Clients are told apart by the listener only: a client may connect several times.
	if listener, ok := strings.CutPrefix(m.Event, "a client connects to "); ok {
		if p.ofConn[m.Conn] = p.listeners[listener]; p.ofConn[m.Conn] == "" {
			p.ofConn[m.Conn] = "clients"
		}
	}
	// What is about no connection is about a peer by its name, or about all of them.
	switch name, known := p.ofConn[m.Conn]; {
	case m.About != "":
		return p.named(m.About)
	case known:
		return p.named(name)
	}
	return p.named("peer")
}

// named is the lane of a peer with a name.
func (p *peerLanes) named(name string) int {
	if n, ok := p.numbers[name]; ok {
		return n
	}
	lanes := &p.b.page.Lanes
	n := len(*lanes)
	if n-p.first >= maxPeerLanes {
		n = p.first + maxPeerLanes - 1
		(*lanes)[n] = Lane{Name: "other peers", Peer: true}
	} else {
		*lanes = append(*lanes, Lane{Name: words.Printable(name), Note: "peer", Peer: true})
	}
	p.numbers[name] = n
	return n
}

// join gives the lane of a connection to a peer that is known by its name, where there is one of
// each: they are the same.
func (p *peerLanes) join(outputs []report.Output) {
	names := map[string]bool{}
	// The program prints without a name.
	for _, o := range outputs {
		if o.Peer != "" {
			names[o.Peer] = true
		}
	}
	if len(names) != 1 || len(p.b.page.Lanes)-p.first != 1 {
		return
	}
	// The address stays in the note.
	lane := &p.b.page.Lanes[p.first]
	for name := range names {
		if _, ok := p.numbers[name]; !ok {
			p.numbers[name] = p.first
			lane.Name, lane.Note = words.Printable(name), "peer, "+lane.Name
		}
	}
}
