package online

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/protocol"
)

// node is a node that runs. All that it does is done by one goroutine.
type node struct {
	system    *system
	id        int
	key       uint64
	rng       *rand.Rand
	live      *protocol.LiveNode
	epoch     uint64 // how many snapshots it has taken part in
	out       []outgoing
	in        []incoming
	due       map[string]time.Time // when timers fire
	act       time.Time            // when the application calls
	marks     chan uint64          // that a snapshot begins
	datagrams chan []byte
}

// receive hands datagrams to the node, until the transport is closed.
func (n *node) receive() error {
	buffer := make([]byte, MaxDatagram)
	for {
		size, err := n.system.Transport.Receive(n.id, buffer)
		if n.system.ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("node %d receives nothing any more: %w", n.id, err)
		}
		select {
		case n.datagrams <- slices.Clone(buffer[:size]):
		case <-n.system.ctx.Done():
			return nil
		}
	}
}

// run runs the node until the system ends.
func (n *node) run() error {
	n.act = time.Now().Add(n.draw(n.system.Pace))
	if err := n.sendAll(n.live.Start()); err != nil {
		return err
	}
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		at, timer, err := n.next()
		if err != nil {
			return err
		}
		next.Reset(time.Until(at))
		select {
		case <-n.system.ctx.Done():
			return nil
		case epoch := <-n.marks:
			n.join(epoch)
		case data := <-n.datagrams:
			err = n.deliver(data)
		case <-next.C:
			err = n.wake(timer)
		}
		if err != nil {
			return err
		}
	}
}

// draw is a time with some mean.
func (n *node) draw(mean time.Duration) time.Duration {
	return time.Duration(2 * n.rng.Float64() * float64(mean))
}

// next is when the node does something by itself. The timer is empty if the application calls.
func (n *node) next() (at time.Time, timer string, err error) {
	timers, err := n.live.Timers()
	if err != nil {
		return at, "", err
	}
	for t := range n.due {
		if !slices.Contains(timers, t) {
			delete(n.due, t)
		}
	}
	at = n.act
	for _, t := range timers {
		if n.due[t].IsZero() {
			n.due[t] = time.Now().Add(n.draw(n.system.Timeout))
		}
		if n.due[t].Before(at) {
			at, timer = n.due[t], t
		}
	}
	return at, timer, nil
}

// wake fires a timer, or has the application call if there is none.
func (n *node) wake(timer string) error {
	if timer != "" {
		delete(n.due, timer)
		return n.sendAll(n.live.Timeout(timer))
	}
	n.act = time.Now().Add(n.draw(n.system.Pace))
	actions, err := n.live.Actions()
	if err != nil || actions == 0 {
		return err
	}
	return n.sendAll(n.live.Act(n.rng.IntN(actions)))
}

// sendAll sends what a handler has sent.
func (n *node) sendAll(packets []protocol.Packet, err error) error {
	for _, p := range packets {
		d := datagram{n.key, n.epoch, n.id, n.out[p.To].add(p, n.system.Late), p.Image}
		data := d.append(nil)
		if len(data) > MaxDatagram {
			return fmt.Errorf("node %d sends a message of %d bytes, which does not fit into a datagram of "+
				"%d: send less at a time", n.id, len(p.Image), MaxDatagram)
		}
		n.system.sent.Add(1)
		if int(p.To) != n.id && n.rng.Float64() < n.system.Loss {
			n.system.lost.Add(1)
			continue
		}
		if err := n.system.Transport.Send(n.id, int(p.To), data); err != nil && n.system.ctx.Err() == nil {
			return fmt.Errorf("node %d cannot send: %w", n.id, err)
		}
	}
	return err
}

// deliver handles a datagram. One that is of no node is ignored, and so is a message that has come
// before. One of a node that has taken part in a later snapshot is not a part of that snapshot, so
// this node takes part first.
func (n *node) deliver(data []byte) error {
	d, err := decodeDatagram(data, n.key, len(n.in))
	if err != nil {
		return nil
	}
	n.join(d.epoch)
	if !n.in[d.from].add(d.number) {
		return nil
	}
	return n.sendAll(n.live.Receive(protocol.Packet{From: protocol.ID(d.from), To: protocol.ID(n.id),
		Image: d.image}))
}

// join takes part in a snapshot, unless it has done so already.
func (n *node) join(epoch uint64) {
	if epoch <= n.epoch {
		return
	}
	n.epoch = epoch
	c := cut{node: n.id, state: n.live.State()}
	for _, o := range n.out {
		c.out = append(c.out, outgoing{o.count, slices.Clone(o.last)})
	}
	for _, in := range n.in {
		c.in = append(c.in, in.clone())
	}
	n.system.cuts <- c
}
