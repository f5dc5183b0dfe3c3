// Package beside has real peers take part in executions of several programs.
//
// The peers are one more component. No worker runs it: what nodes send to the peers is given to the
// real group, in the order of the walk or of a skeleton. What the group does because of that are
// events of the component. All that nodes do to the peers is one history, whichever node it is that
// does it. So the I/O cache, checkpoints and quiescence are those of a check of one program.
package beside

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/proxy"
)

// Answers are those of a group of peers. One goroutine at a time uses them.
type Answers interface {
	// Begin begins an execution: the peers are as they were when they had been started. An error is
	// that one of them has died.
	Begin() error
	// Exchange is that of sut.Peers. Connections and listeners are numbered by those who answer.
	Exchange(model.Input) (model.Answer, error)
}

// Group says which peers there are beside nodes.
type Group struct {
	Peers []Peer
	// Behaviours is how many ways they can behave in. Each walk has one, at random.
	Behaviours int
	// New makes those who answer in the walks of a crew, which share nothing with those of others.
	// nil: they are not here, and only known to be there.
	New func() Answers `json:"-"`
}

// Peer is one of them.
type Peer struct {
	Name    string
	Listens []proxy.Address
}

// Name is that of the component: the name of the peer, if there is one.
func (g *Group) Name() string {
	if len(g.Peers) == 1 {
		return g.Peers[0].Name
	}
	return "peers"
}

// At is the peer that listens at an address; empty: none does. Peers are on loopback.
func (g *Group) At(address string) string {
	a, err := proxy.ParseAddress(address)
	if err != nil || a.Path == "" && !a.At.Addr().IsLoopback() {
		return ""
	}
	for _, p := range g.Peers {
		for _, l := range p.Listens {
			if l.Network == a.Network && (l.Path != "" && l.Path == a.Path ||
				l.Path == "" && network.Reaches(l.At.String(), a.At.String())) {
				return p.Name
			}
		}
	}
	return ""
}

// IsAt says whether a peer listens at an address.
func (g *Group) IsAt(address string) bool { return g.At(address) != "" }

// Undialled says which peers nobody has connected to, of those names: a line each.
func (g *Group) Undialled(dialled map[string]bool) (list []string) {
	for _, p := range g.Peers {
		var at []string
		for _, l := range p.Listens {
			at = append(at, l.String())
		}
		if !dialled[p.Name] {
			list = append(list, fmt.Sprintf("no node has connected to %s at %s: see whether a node has "+
				"another address for it, or leave it out", p.Name, strings.Join(at, ", ")))
		}
	}
	return list
}

// Component is the peers in one execution. Its events are in one order. Only the node that has its
// turn in the walk uses it.
type Component struct {
	// Made are its events so far, and Told how many of them the nodes know of.
	Made []skeleton.Event
	Told int
	// Dialled are the names of peers that a node has connected to.
	Dialled map[string]bool

	group     *Group
	net       *network.Nodes
	answers   Answers
	node      int // its own number
	behaviour int
	conns     map[string]*conn // by the names that they have at both ends
	names     map[int]string   // of those, by the numbers that the group has for them
	closed    map[string]bool  // addresses at which no peer listens any more
	connected model.Answer     // to the last connect
	// whole: each input is an event, also the close of a connection that was shut down before.
	whole bool
	clock
}

// conn is a connection of a node to a peer.
type conn struct {
	number, owner int
	sent          network.Hash // of all that the peer has sent
	taken         int          // bytes that the peer has taken
	ended         bool         // the node's stream has ended
	closed        bool         // by the node
	shut, broken  bool         // the peer's stream has ended, or was reset
}

// clock is what the peers do when time passes: see package sut on tandemPeerTimes.
type clock struct {
	heard bool // of a node
	// asked: nothing comes from them before the clock advances; idle: nor after that. tie: a timer
	// of theirs is due at the time to which the clock has advanced.
	asked, idle, tie bool
	ticks            int
	now              time.Duration // the common clock
}

// New begins an execution. The component is the last one of the network.
func New(group *Group, net *network.Nodes, answers Answers, random *rand.Rand) (*Component, error) {
	c := &Component{group: group, net: net, answers: answers, node: net.Programs(),
		conns: map[string]*conn{}, names: map[int]string{}, closed: map[string]bool{},
		Dialled: map[string]bool{}}
	if group.Behaviours > 1 {
		c.behaviour = random.IntN(group.Behaviours)
	}
	return c, answers.Begin()
}

// Connects gives the peers the connect of a node, which is about to make it, if there is a peer at
// the address. It comes before the event of the node: what becomes of a connect is known with it.
// If the peer refuses it, its listener is closed.
func (c *Component) Connects(in model.Input) (err error) {
	peer := c.group.At(in.Addr)
	if in.Kind != model.Connect || peer == "" {
		return nil
	}
	c.Dialled[peer] = true
	given := model.Input{Kind: model.Connect, Addr: in.Addr, Behaviour: c.behaviour}
	if c.connected, err = c.exchange(given); err != nil {
		return err
	}
	// That a peer listens is known, until it does not.
	refused, label := c.connected.Refused != 0, network.Event{Kind: model.Listen, Address: in.Addr}
	if refused {
		label.Kind = model.Close
	}
	if refused != c.closed[in.Addr] {
		c.make(label, skeleton.Everybody, nil)
	}
	c.closed[in.Addr] = refused
	return nil
}

// Gets gives the peers what a node does to them, if an event does that.
func (c *Component) Gets(e *skeleton.Event) error {
	d := network.Did(e)
	if e.To != c.node {
		return nil
	}
	// The peers have reacted to the connect already. Now it is known who has made it.
	if d.Kind == model.Connect {
		k := &conn{number: c.connected.Conn, owner: e.Component}
		c.conns[d.Conn], c.names[k.number] = k, d.Conn
		c.make(network.Event{Kind: model.Accept, Conn: d.Conn}, skeleton.Nobody, e)
		c.React(c.connected.Reaction)
		return nil
	}
	k := c.conns[d.Conn]
	data := c.net.Data[d]
	k.closed = d.Kind == model.Close
	a, err := c.exchange(model.Input{Kind: d.Kind, Conn: k.number, Data: data})
	if err != nil {
		return err
	}
	// What a peer does not take any more resets the connection. Else it takes all: how much it has
	// really read by then nobody can tell, and nothing depends on it.
	breaks := slices.ContainsFunc(a.Deliveries, func(r model.Delivery) bool {
		return r.Conn == k.number && r.End == model.Reset
	})
	switch {
	case k.broken || k.ended && !c.whole || breaks:
	case d.Kind == model.Send:
		k.taken += len(data)
		c.make(network.Event{Kind: model.Receive, Conn: d.Conn, Taken: k.taken}, skeleton.Nobody, e)
	default:
		k.ended = true
		c.make(network.Event{Kind: model.Receive, Conn: d.Conn, End: true}, skeleton.Nobody, e)
	}
	c.React(a.Reaction)
	return nil
}

// exchange gives the group an input that is no time.
func (c *Component) exchange(in model.Input) (model.Answer, error) {
	c.heard, c.asked, c.idle = true, false, false
	return c.answers.Exchange(in)
}

// React makes the events of what the peers have done. What comes on a connection that the node has
// closed nobody notices.
func (c *Component) React(r model.Reaction) {
	for _, d := range r.Deliveries {
		k, known := c.conns[c.names[d.Conn]]
		if !known || k.closed || k.broken {
			continue
		}
		// Data come before the end of the stream that comes with them.
		if len(d.Data) > 0 {
			c.send(model.Send, k, d)
		}
		// A stream that has ended may still be reset, by what is sent after that.
		if k.broken = d.End == model.Reset; k.broken {
			c.send(model.Close, k, model.Delivery{Conn: d.Conn})
		} else if d.End == model.EOF && !k.shut {
			k.shut = true
			c.send(model.Shutdown, k, model.Delivery{Conn: d.Conn})
		}
	}
}

// send makes the event of something that a peer sends on a connection. The label is what that of a
// node would be.
func (c *Component) send(kind model.Kind, k *conn, d model.Delivery) {
	k.sent.Add(append([]byte(kind.String()), d.Data...))
	label := network.Event{Kind: kind, Conn: c.names[d.Conn], Sent: k.sent}
	if kind == model.Close {
		label.Taken = k.taken
	}
	c.net.Data[label] = slices.Clone(d.Data)
	c.make(label, k.owner, nil)
}

// make notes an event of the peers, which takes something from another one; nil: it does not.
func (c *Component) make(label network.Event, to int, from *skeleton.Event) *skeleton.Event {
	e := skeleton.Event{Label: label, To: to}
	if from != nil {
		e.From, e.Got = from.Name, from.Label
	}
	c.Made = append(c.Made, c.named(e))
	return &c.Made[len(c.Made)-1]
}

// named gives an event its name, if it is the next one.
func (c *Component) named(e skeleton.Event) skeleton.Event {
	return network.InOrder(e, c.node, len(c.Made)+1)
}

// Local is what they have done in the end. They are still there, and wait.
func (c *Component) Local() skeleton.Local {
	return skeleton.Local{Events: c.Made, Ended: true, Waits: network.Event{Kind: model.Pass}}
}
