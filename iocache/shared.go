package iocache

import (
	"hash/maphash"
	"slices"
	"unsafe"
)

// A search gives the peers the same requests in many orders, and most are answered alike in all of
// them. So what nodes have is kept once, however many have it: labels, states of the connections,
// and reactions.

// answerID is the number of a reaction; 0 is that of none.
type answerID int32

// stateID is the number of the states of all connections; 0: there are none.
type stateID int32

// answer is a reaction, in as little memory as most need.
type answer struct {
	deliveries []Delivery
	rest       *Reaction // what else is in it; nil: nothing
	nodes      int32     // that have it; 0: it is free
	used       bool      // looked up since the hand has passed it, see spill.go
	spilled    bool      // it is in the store
}

// What an entry costs besides what it points to, with its share of unused capacity.
const (
	answerBytes = int64(unsafe.Sizeof(answer{})+unsafe.Sizeof(slot{})) * 3 / 2
	labelBytes  = int64(unsafe.Sizeof(slot{})) * 3 / 2
	stateBytes  = int64(unsafe.Sizeof([]connState{})+unsafe.Sizeof(slot{})) * 3 / 2
)

// reaction is what the answer says. It shares memory with it.
func (a *answer) reaction() Reaction {
	if a.rest == nil {
		return Reaction{Deliveries: a.deliveries}
	}
	r := *a.rest
	r.Deliveries = a.deliveries
	return r
}

// shareAnswer is the number of a reaction equal to r, of which one more node has it then.
func (c *Cache) shareAnswer(r Reaction) answerID {
	if r.Empty() {
		return 0
	}
	hash := c.hashReaction(r)
	id := answerID(c.answerIndex.find(hash, func(n int32) bool {
		return c.answers[n].reaction().Equal(r)
	}))
	if id == 0 {
		id = c.addAnswer(r)
		c.answerIndex.insert(hash, int32(id))
	}
	c.answers[id].nodes++
	return id
}

// addAnswer keeps a copy of a reaction, which no node has yet.
func (c *Cache) addAnswer(r Reaction) answerID {
	r = r.Clone()
	a := answer{deliveries: r.Deliveries}
	if r.Deliveries = nil; !r.Empty() {
		a.rest = &r
	}
	c.bytes += answerBytes + a.size()
	if last := len(c.free) - 1; last >= 0 {
		id := c.free[last]
		c.free = c.free[:last]
		c.answers[id] = a
		return id
	}
	c.answers = append(c.answers, a)
	return answerID(len(c.answers) - 1)
}

// size is the memory that the answer holds besides itself.
func (a *answer) size() int64 {
	size := a.reaction().Size()
	if a.rest != nil {
		size += int64(unsafe.Sizeof(*a.rest))
	}
	return size
}

// release notes that a node does not have an answer any more.
func (c *Cache) release(id answerID) {
	if id == 0 {
		return
	}
	a := &c.answers[id]
	if a.nodes--; a.nodes > 0 {
		return
	}
	if c.bytes -= answerBytes; a.spilled {
		c.bytes -= storedBytes
		delete(c.spilled, id)
	} else {
		c.forget(id)
	}
	*a = answer{}
	c.free = append(c.free, id)
}

// forget takes an answer out of memory, but for its number.
func (c *Cache) forget(id answerID) {
	a := &c.answers[id]
	c.answerIndex.remove(c.hashReaction(a.reaction()), int32(id))
	c.bytes -= a.size()
	a.deliveries, a.rest = nil, nil
}

// hashReaction is the same for equal reactions.
func (c *Cache) hashReaction(r Reaction) uint32 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, d := range r.Deliveries {
		h.Write(d.Data)
		h.WriteByte(byte(d.Conn) ^ byte(d.End)<<6)
	}
	for _, e := range r.Ended {
		h.WriteByte(byte(e.Peer))
	}
	h.WriteByte(byte(r.Refused) ^ byte(len(r.Opened)) ^ byte(r.Time.Passed>>20))
	return uint32(h.Sum64())
}

// shareLabel is a label equal to that of a node to be, of which the memory is then shared.
func (c *Cache) shareLabel(label string, of NodeID) string {
	if label == "" {
		return ""
	}
	hash := uint32(maphash.String(c.seed, label))
	if same := c.labels.find(hash, func(n int32) bool { return c.nodes[n].label == label }); same != 0 {
		return c.nodes[same].label
	}
	c.labels.insert(hash, int32(of))
	c.bytes += labelBytes + int64(len(label))
	return label
}

// shareStates is the number of states equal to conns.
func (c *Cache) shareStates(conns []connState) stateID {
	if len(conns) == 0 {
		return 0
	}
	hash := uint32(len(conns))
	for _, s := range conns {
		hash = hash*0x01000193 ^ uint32(s)
	}
	id := c.stateIndex.find(hash, func(n int32) bool { return slices.Equal(c.states[n], conns) })
	if id == 0 {
		id = int32(len(c.states))
		c.states = append(c.states, conns)
		c.stateIndex.insert(hash, id)
		c.bytes += stateBytes + int64(cap(conns))
	}
	return stateID(id)
}
