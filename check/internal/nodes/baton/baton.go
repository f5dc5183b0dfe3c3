// Package baton has nodes that run at the same time make their events in a recorded order.
package baton

import (
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/check/internal/nodes/course"
)

// Baton is whose turn it is to make an event. Once a node has parted from what is recorded, nobody
// waits any more.
//
// Nodes that follow the recording never wait for each other in a circle. Each of them comes to its
// next event by itself, since what it receives until then is recorded. The order of events has
// those of each node in the order in which it makes them, so one of them can always go on.
type Baton struct {
	mu     sync.Mutex
	turn   *sync.Cond
	order  []course.Place
	next   int
	parted *Parting
}

// Await waits until all that was before an event of a node has happened.
func (b *Baton) Await(node int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.parted == nil && b.next < len(b.order) && b.order[b.next].Node != node {
		b.turn.Wait()
	}
}

// Pass goes on to the next event.
func (b *Baton) Pass() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	b.turn.Broadcast()
}

// Drop notes that a node has parted. The first one counts: others may part because of it.
func (b *Baton) Drop(p Parting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.parted == nil {
		b.parted = &p
	}
	b.turn.Broadcast()
}

// New returns a baton for events in an order.
func New(order []course.Place) *Baton {
	b := &Baton{order: order}
	b.turn = sync.NewCond(&b.mu)
	return b
}

// Parted is where a node has parted; nil: none has. Nobody may be running any more.
func (b *Baton) Parted() *Parting { return b.parted }

// Parting is where a node leaves what is recorded. What it does after that says nothing: others
// would have done something else, too.
type Parting struct {
	Node          string
	Event         int    // as events of the node are counted, from 1 on
	Recorded, Now string // what it did there, and what it does instead, in words
}

// String says it in a line.
func (p *Parting) String() string {
	return fmt.Sprintf("node %s differs from its event %d on; recorded: it %s; now: it %s", p.Node, p.Event,
		p.Recorded, p.Now)
}
