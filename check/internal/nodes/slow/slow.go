// Package slow has connections of a walk be slow for some time, in one direction: what is sent
// there meanwhile arrives only after some advances of the clock, in its order, as if packets had
// been lost and were sent again. What was sent before is not slow, and a connect never is.
package slow

import (
	"math/rand/v2"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// Spell is one such time that is still to come: it begins after so many events of all nodes, and
// lasts for so many advances of the clock.
type Spell struct{ Events, Length int }

// Direction is what one node sends on a connection.
type Direction struct {
	From int
	Conn string
}

// Spells are those of a walk. One goroutine uses them at a time.
type Spells struct {
	coming []Spell
	until  map[Direction]int          // advances of the clock
	held   map[skeleton.Name]heldSend // until they arrive
	ticks  int                        // when something was forgotten last
}

// heldSend is something that was sent on a slow connection, and arrives after so many advances.
type heldSend struct {
	Direction
	until int
	// n is its number, if it comes as soon as something has that was sent in its direction later;
	// 0: it does not.
	n int
}

// New has some spells come.
func New(coming []Spell) *Spells {
	return &Spells{coming: coming, until: map[Direction]int{}, held: map[skeleton.Name]heldSend{}}
}

// Begin has those spells begin that are due after so many events and advances of the clock. Each is
// that of one of the directions which are open then, at random. Without any, none begins yet.
func (s *Spells) Begin(events, ticks int, random *rand.Rand, open func() []Direction) {
	s.forget(ticks)
	var later []Spell
	for _, c := range s.coming {
		if c.Events <= events {
			if list := open(); len(list) > 0 {
				s.until[list[random.IntN(len(list))]] = ticks + c.Length
				continue
			}
		}
		later = append(later, c)
	}
	s.coming = later
}

// forget forgets what is not held any more at any node, of which some may be one advance behind.
func (s *Spells) forget(ticks int) {
	if s.ticks == ticks {
		return
	}
	s.ticks = ticks
	for name, h := range s.held {
		if h.until < ticks {
			delete(s.held, name)
		}
	}
}

// Send notes an event of a node, after so many advances of the clock. If it is held, its label says
// that it is late.
func (s *Spells) Send(net *network.Nodes, e *skeleton.Event, ticks int) {
	d := network.Did(e)
	at := Direction{e.Component, d.Conn}
	until := s.until[at]
	if !network.Streams(e) || until <= ticks {
		return
	}
	s.held[e.Name] = heldSend{Direction: at, until: until}
	data := net.Data[d]
	d.Late = network.Sometime
	net.Data[d], e.Label = data, d
}

// Hold holds a datagram back: until the next one of its socket has come, or for some advances of
// the clock, at random.
func (s *Spells) Hold(e *skeleton.Event, ticks int, random *rand.Rand) {
	h := heldSend{Direction: Direction{e.Component, network.Did(e).Conn}, until: ticks + 1 + random.IntN(3)}
	if random.IntN(2) == 0 {
		h.n = e.N
	}
	s.held[e.Name] = h
}

// Come notes that something has come: what was held until then is not any more.
func (s *Spells) Come(sent *skeleton.Event) {
	at := Direction{sent.Component, network.Did(sent).Conn}
	for name, h := range s.held {
		if h.Direction == at && h.n > 0 && h.n < sent.N {
			delete(s.held, name)
		}
	}
}

// Holds says whether something that was sent is held, after so many advances of the clock.
func (s *Spells) Holds(sent skeleton.Name, ticks int) bool { return s.held[sent].until > ticks }

// Delays says whether a reset that is sent in a direction does not arrive now: that is slow, or
// something is held that was sent the other way, which the reset is about.
func (s *Spells) Delays(conn string, from, to, ticks int) bool {
	return s.until[Direction{from, conn}] > ticks || s.holdsOf(Direction{to, conn}, ticks)
}

// holdsOf says whether something is held that was sent in a direction.
func (s *Spells) holdsOf(d Direction, ticks int) bool {
	for _, h := range s.held {
		if h.Direction == d && h.until > ticks {
			return true
		}
	}
	return false
}

// Release has all arrive that is held after so many advances of the clock, and says whether
// anything is. No connection is slow then.
func (s *Spells) Release(ticks int) bool {
	released := false
	for name, h := range s.held {
		released = released || h.until > ticks
		delete(s.held, name)
	}
	clear(s.until)
	return released
}
