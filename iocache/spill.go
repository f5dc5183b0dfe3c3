package iocache

import "fmt"

// Store is where a cache puts reactions for which there is no room in memory: a file that is only
// appended to.
type Store interface {
	Append(data []byte) (offset int64, err error)
	ReadAt(data []byte, offset int64) (n int, err error)
}

// SpillError says that the Store of a cache has lost what was put there.
type SpillError struct{ Err error }

func (e *SpillError) Error() string {
	return fmt.Sprintf("the I/O cache cannot read back the answers for which there was no room in memory: "+
		"%v", e.Err)
}

func (e *SpillError) Unwrap() error { return e.Err }

// stored is where a reaction is in the store.
type stored struct {
	offset int64
	length int32
}

const (
	storedBytes  = 40  // that an entry of the table takes, with its share of unused capacity
	leastSpilled = 256 // bytes that a reaction takes which is worth it
)

// SpillTo has the cache put reactions into a store when it reaches the limit of bytes: those that
// were not looked up for the longest time, nearly (the clock algorithm). What is spilled is
// answered as before, but for the time that it takes to read. Requests and the tree itself stay in
// memory.
func (c *Cache) SpillTo(s Store) { c.store, c.least = s, leastSpilled }

// Limit sets the limit of bytes.
func (c *Cache) Limit(bytes int64) { c.limits.Bytes = bytes }

// reactionOf is the reaction of a node, wherever it is. The error is a *SpillError.
func (c *Cache) reactionOf(n NodeID) (Reaction, error) {
	id := c.nodes[n].answer
	a := &c.answers[id]
	if a.used = true; !a.spilled {
		return a.reaction(), nil
	}
	at := c.spilled[id]
	frame := make([]byte, at.length)
	if _, err := c.store.ReadAt(frame, at.offset); err != nil {
		return Reaction{}, &SpillError{err}
	}
	e, ok := decodeFrame(frame)
	if !ok {
		return Reaction{}, &SpillError{fmt.Errorf("%d bytes at offset %d are not those that were put "+
			"there", at.length, at.offset)}
	}
	return e.Reaction, nil
}

// setReaction replaces the reaction of a node.
func (c *Cache) setReaction(n NodeID, r Reaction) {
	earlier := c.nodes[n].answer
	c.nodes[n].answer = c.shareAnswer(r)
	c.release(earlier)
}

// makeRoom spills until there is room for some bytes, and then for as much again as an eighth of
// the limit, so that it is not to be done again soon.
func (c *Cache) makeRoom(needed int64) {
	target := c.limits.Bytes - c.limits.Bytes/8 - needed
	for looked := 0; c.store != nil && c.bytes > target && looked < 2*len(c.answers); looked++ {
		if c.hand++; int(c.hand) >= len(c.answers) {
			c.hand = 0
		}
		a := &c.answers[c.hand]
		if a.used {
			a.used = false
		} else if size := a.size(); !a.spilled && size >= c.least && size < maxFrame/2 {
			c.spill(c.hand)
		}
	}
}

// spill puts an answer into the store. Should that fail, nothing more is put there.
func (c *Cache) spill(id answerID) {
	a := &c.answers[id]
	frame := AppendEntry(nil, Entry{Input: Input{Kind: Close}, Reaction: a.reaction()})
	offset, err := c.store.Append(frame)
	if err != nil {
		c.least = maxFrame
		return
	}
	c.forget(id)
	c.bytes += storedBytes
	c.spilled[id] = stored{offset, int32(len(frame))}
	a.spilled = true
}
