// Package online runs the nodes of a protocol.Model over a network that loses messages, and looks
// for violations before they happen: "Model Checking a Networked System Without the Network"
// (Guerraoui, Yabandeh; NSDI 2011), section 3.3. Now and then it takes a consistent snapshot of the
// system, and has a search begin there. A live run gets to states from which a short search is
// enough, and which a search from the start would reach after hours, or never.
//
// # What a snapshot is
//
// A snapshot has the local state of each node, and the last messages between each two nodes that
// were sent and have not arrived. It is consistent: no message has arrived in it that was not sent
// in it. Datagrams carry the number of snapshots that their sender has taken part in. A node that
// gets a higher number than its own takes part first, and handles the message then (Lai, Yang: "On
// Distributed Snapshots", Information Processing Letters 1987). That needs no order of messages,
// and none of them has to arrive.
//
// So a run of the model leads from its start to the snapshot, if the network may deliver late and
// in any order, and each violation that is found from there is one of the model. A message that the
// network has lost is late for ever, so it may be among those under way: nobody knows. Of two nodes
// only the last ones are remembered (Config.Late). To leave out older ones makes up no run, since
// they could be late as well. Models with the network Ordered are refused: datagrams have no order.
package online

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/protocol"
)

// Config says how a system runs, and how it is watched. Zero values have a meaning each, but for
// that of Model.
type Config struct {
	// Model has the nodes as they are before the start.
	Model *protocol.Model
	// Transport carries the messages. Run closes it. Nil is UDP on the loopback, with free ports.
	Transport Transport
	// Loss is the share of messages between different nodes that are lost, from 0 to 1. Seed is
	// that of all that is drawn.
	Loss float64
	Seed uint64
	// Pace is the mean time from one call of the application at a node to the next, Timeout that
	// after which a timer fires. Zero is DefaultPace.
	Pace, Timeout time.Duration
	// Late is how many of the last messages from one node to another a snapshot has, if they have
	// not arrived; at most MaxLate. The others are lost to it. With zero it has none.
	// More messages are more violations, and longer searches.
	Late int
	// Every is the time between two snapshots, if the searches from one do not take longer. Zero is
	// DefaultEvery. Snapshots is after how many of them Run ends; zero: it goes on.
	Every     time.Duration
	Snapshots int
	// Bound bounds what happens in a search, such as how often the application calls: it may change
	// the nodes of a snapshot, which are copies. It is called before each search, with a round from
	// 0 on, and returns false if there are no more rounds. Nil: there is one round, and no bound.
	Bound func(nodes []protocol.Node, round int) bool
	// Depths are the bounds on the depth, one after the other; nil is DefaultDepths. With each of
	// them there is a search for each round, with these options. If they have no bounds on time and
	// states, it is a second and DefaultStates for a search.
	Depths []int
	Search protocol.Options
	// Global has Search.Search decide which search it is. Else it is Local.
	Global bool
	// Watch is called after each snapshot was searched, by one goroutine; nil: it is not.
	Watch func(Result)
}

// Defaults of a Config.
const (
	DefaultPace   = 100 * time.Millisecond
	DefaultEvery  = time.Second
	DefaultStates = 100_000
	// MaxLate is how many messages from one node to another are remembered at most.
	MaxLate     = 64
	defaultTime = time.Second
)

// DefaultDepths returns the bounds on the depth of searches if none are given. In a local search
// they are those of chains of events that need each other.
func DefaultDepths() []int { return []int{2, 4, 6, 8, 10} }

// Result is what was found so far.
type Result struct {
	// Violation is a run from Snapshot on that violates something; nil if there is none. Of a
	// handler that has failed in the running system there is no run, and no snapshot.
	Violation *protocol.Violation
	// Happened: the violation is not to come, but is there.
	Happened bool
	// Snapshot is the last one: a model that begins there. Its Save writes it to a file; with its
	// Load and the text of the run, protocol.Replay repeats the violation.
	Snapshot *protocol.Model
	// Snapshots is how many were searched, Searches how many searches there were, and Bytes the
	// size of the last snapshot.
	Snapshots, Searches, Bytes int
	// Elapsed is the time since the start, Searching that of the last snapshot's searches.
	Elapsed, Searching time.Duration
	// Sent is how many messages the nodes have sent, and Lost how many of them Loss has taken.
	Sent, Lost int64
}

// String is the result in one line.
func (r *Result) String() string {
	s := "nothing found"
	switch {
	case r.Happened:
		s = "has happened: " + r.Violation.What
	case r.Violation != nil:
		s = fmt.Sprintf("predicted after %d more steps: %s", r.Violation.Steps, r.Violation.What)
	}
	return fmt.Sprintf("%s; %d snapshots, %d searches, %d messages sent, %d lost, %v", s, r.Snapshots,
		r.Searches, r.Sent, r.Lost, r.Elapsed.Round(time.Millisecond))
}

// check says what is wrong with a configuration, and fills in what was left out.
func (c *Config) check() error {
	switch {
	case c.Model == nil:
		return errors.New("there is no model: set Config.Model")
	case c.Model.Network == protocol.Ordered:
		return errors.New("the model has an ordered network, and datagrams have no order: use another one")
	case !(c.Loss >= 0 && c.Loss <= 1):
		return fmt.Errorf("a share of %v of the messages is lost: give one from 0 to 1", c.Loss)
	case min(c.Pace, c.Timeout, c.Every) < 0 || c.Snapshots < 0:
		return errors.New("a time or a number is negative: give one from 0 on")
	}
	if c.Late < 0 || c.Late > MaxLate {
		return fmt.Errorf("a snapshot is to have %d late messages: choose from 0 to %d", c.Late, MaxLate)
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&c.Pace, DefaultPace}, {&c.Timeout, DefaultPace}, {&c.Every, DefaultEvery},
		{&c.Search.Time, defaultTime}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	if c.Search.States == 0 {
		c.Search.States = DefaultStates
	}
	if !c.Global {
		c.Search.Search = protocol.Local
	}
	if c.Depths == nil {
		c.Depths = DefaultDepths()
	}
	if c.Bound == nil {
		c.Bound = func(_ []protocol.Node, round int) bool { return round == 0 }
	}
	return nil
}

// Run runs the system until a violation is found, the context ends, or there were enough snapshots.
// Nothing is left running then. The end of the context is no error. A search that is under way ends
// before Run does, at its bound on time. An error is about the model, such as a message that has no
// image or does not fit into a datagram, or about the network, such as a port that is taken.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, closing(c.Transport, err)
	}
	live, err := protocol.NewLive(c.Model)
	if err != nil {
		return nil, closing(c.Transport, err)
	}
	if c.Transport == nil {
		addresses := make([]string, len(c.Model.Nodes))
		for i := range addresses {
			addresses[i] = "127.0.0.1:0"
		}
		if c.Transport, err = ListenUDP(addresses...); err != nil {
			return nil, err
		}
	}
	s := newSystem(ctx, c, live)
	result, err := s.watch()
	return result, errors.Join(err, s.stop())
}

// closing closes a transport for an error.
func closing(t Transport, err error) error {
	if t != nil {
		err = errors.Join(err, t.Close())
	}
	return err
}
