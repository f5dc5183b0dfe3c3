package iocache

import (
	"fmt"
	"hash/maphash"
	"unsafe"

	"github.com/tandem-mc/tandem/iocache/internal/codec"
)

// answerStore keeps reactions, in memory or in a Store, and counts the memory that the cache holds.
type answerStore struct {
	seed        maphash.Seed
	answers     []answer
	answerIndex index
	free        []answerID
	bytes       int64 // held by the whole cache
	spillable   int64 // of these, what spilling all answers would free

	// For reactions for which there is no room; nil: there is none.
	store   Store
	outage  outage // of the store
	spilled map[answerID]stored
	hand    answerID // what was looked at last, to be put there
	looks   int      // how often one was
}

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
	used       bool      // looked up since the hand has passed it, see makeRoom
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

// size is the memory that the answer holds besides itself.
func (a *answer) size() int64 {
	size := a.reaction().Size()
	if a.rest != nil {
		size += int64(unsafe.Sizeof(*a.rest))
	}
	return size
}

// gain is the memory that spilling the answer frees; 0: it stays.
func (a *answer) gain() int64 {
	size := a.size()
	if a.spilled || size < leastSpilled || size >= codec.MaxFrame/2 {
		return 0
	}
	return size - storedBytes
}

// shareAnswer is the number of a reaction equal to r, of which one more node has it then.
func (s *answerStore) shareAnswer(r Reaction) answerID {
	if r.Empty() {
		return 0
	}
	hash := s.hashReaction(r)
	id := answerID(s.answerIndex.find(hash, func(n int32) bool {
		return s.answers[n].reaction().Equal(r)
	}))
	if id == 0 {
		id = s.addAnswer(r)
		s.answerIndex.insert(hash, int32(id))
	}
	s.answers[id].nodes++
	return id
}

// addAnswer keeps a copy of a reaction, which no node has yet.
func (s *answerStore) addAnswer(r Reaction) answerID {
	r = r.Clone()
	a := answer{deliveries: r.Deliveries}
	if r.Deliveries = nil; !r.Empty() {
		a.rest = &r
	}
	s.bytes += answerBytes + a.size()
	s.spillable += a.gain()
	if last := len(s.free) - 1; last >= 0 {
		id := s.free[last]
		s.free = s.free[:last]
		s.answers[id] = a
		return id
	}
	s.answers = append(s.answers, a)
	return answerID(len(s.answers) - 1)
}

// release notes that a node does not have an answer any more.
func (s *answerStore) release(id answerID) {
	if id == 0 {
		return
	}
	a := &s.answers[id]
	if a.nodes--; a.nodes > 0 {
		return
	}
	if s.bytes -= answerBytes; a.spilled {
		s.bytes -= storedBytes
		delete(s.spilled, id)
	} else {
		s.forget(id)
	}
	*a = answer{}
	s.free = append(s.free, id)
}

// forget takes an answer out of memory, but for its number.
func (s *answerStore) forget(id answerID) {
	a := &s.answers[id]
	s.answerIndex.remove(s.hashReaction(a.reaction()), int32(id))
	s.bytes -= a.size()
	s.spillable -= a.gain()
	a.deliveries, a.rest = nil, nil
}

// hashReaction is the same for equal reactions.
func (s *answerStore) hashReaction(r Reaction) uint32 {
	var h maphash.Hash
	h.SetSeed(s.seed)
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

// stored is where a reaction is in the store.
type stored struct {
	offset int64
	length int32
}

const (
	storedBytes  = 40  // that an entry of the table takes, with its share of unused capacity
	leastSpilled = 256 // bytes that a reaction takes which is worth it
)

// read is the reaction with a number, wherever it is. The error is a *SpillError.
func (s *answerStore) read(id answerID) (Reaction, error) {
	a := &s.answers[id]
	if a.used = true; !a.spilled {
		return a.reaction(), nil
	}
	at := s.spilled[id]
	frame := make([]byte, at.length)
	if _, err := s.store.ReadAt(frame, at.offset); err != nil {
		return Reaction{}, &SpillError{err}
	}
	e, ok := codec.DecodeFrame(frame)
	if !ok {
		return Reaction{}, &SpillError{fmt.Errorf("%d bytes at offset %d are not those that were put "+
			"there", at.length, at.offset)}
	}
	return e.Reaction, nil
}

// makeRoom spills until there is room for some bytes, and then for as much again as an eighth of
// the limit, so that it is not needed again soon.
//
// Which answers are spilled is decided by the clock algorithm (Corbato: A Paging Experiment with
// the Multics System, 1968), which approximates least recently used without a list: a hand goes
// round the answers. One that was looked up since the hand passed last stays, and loses that mark;
// another one is spilled. After two rounds all that can be is.
func (s *answerStore) makeRoom(needed, limit int64) {
	o := &s.outage
	if s.store == nil || o.err != nil && s.bytes+needed < o.next || !s.isWorthwhile(needed, limit) {
		return
	}
	target := limit - limit/8 - needed
	for looked := 0; s.bytes > target && s.spillable > 0 && looked < 2*len(s.answers); looked++ {
		s.looks++
		if s.hand++; int(s.hand) >= len(s.answers) {
			s.hand = 0
		}
		a := &s.answers[s.hand]
		if a.used {
			a.used = false
		} else if a.gain() > 0 {
			if err := s.spill(s.hand); err != nil {
				o.failedAt(s.bytes+needed, limit, err)
				return
			}
			o.err, o.pause = nil, 0
		}
	}
}

// isWorthwhile reports whether answers are to be looked at for some to spill. Where requests and
// small answers alone take more than the limit, as they may in a cache that is Roomy, all rounds
// end without the room that was looked for. So there is none before they free a part of what the
// cache holds. Else each record would look at all answers. A store that has failed is tried with
// what there is: outage says when.
func (s *answerStore) isWorthwhile(needed, limit int64) bool {
	const part = 32
	over := s.bytes + needed - limit
	return s.spillable > 0 && (s.spillable >= over || s.spillable >= s.bytes/part || s.outage.err != nil)
}

// spill puts an answer into the store. After an error it is where it was.
func (s *answerStore) spill(id answerID) error {
	a := &s.answers[id]
	frame := AppendEntry(nil, Entry{Input: Input{Kind: Close}, Reaction: a.reaction()})
	offset, err := s.store.Append(frame)
	if err != nil {
		return err
	}
	s.forget(id)
	s.bytes += storedBytes
	s.spilled[id] = stored{offset, int32(len(frame))}
	a.spilled = true
	return nil
}
