package slow

import (
	"math/rand/v2"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestSpells: what is sent on a slow connection is held until the clock has advanced so often, and
// nothing else is: no connect, nothing that was sent before or after, or the other way.
func TestSpells(t *testing.T) {
	s := New([]Spell{{Events: 2, Length: 3}})
	random := rand.New(rand.NewPCG(1, 1))
	n, open, net := 0, []Direction(nil), &network.Nodes{Data: map[network.Event][]byte{}}
	begin := func(events, ticks int) {
		s.Begin(events, ticks, random, func() []Direction { return open })
	}
	send := func(from int, conn string, kind model.Kind, ticks int) (skeleton.Name, bool) {
		n++
		e := &skeleton.Event{Name: skeleton.Name{Component: from, N: n}, To: 1 - from,
			Label: network.Event{Kind: kind, Conn: conn}}
		s.Send(net, e, ticks)
		return e.Name, network.Did(e).Late == network.Sometime
	}
	slow := func(want bool, from int, conn string, kind model.Kind, ticks int) skeleton.Name {
		t.Helper()
		name, held := send(from, conn, kind, ticks)
		if held != want || s.Holds(name, ticks) != want {
			t.Errorf("%v of node %d on %q at %d: held %t, want %t", kind, from, conn, ticks, held, want)
		}
		return name
	}
	begin(1, 4) // not yet
	open = []Direction{{0, "a#1"}}
	slow(false, 0, "a#1", model.Send, 4)
	open = nil
	begin(2, 4) // no connection is open
	slow(false, 0, "a#1", model.Send, 4)
	open = []Direction{{0, "a#1"}}
	begin(5, 5)
	held := slow(true, 0, "a#1", model.Send, 5)
	slow(true, 0, "a#1", model.Close, 7)
	slow(true, 0, "a#1", model.Shutdown, 7)
	slow(false, 1, "a#1", model.Send, 5)
	slow(false, 0, "a#2", model.Send, 5)
	slow(false, 0, "a#1", model.Connect, 5)
	slow(false, 0, "", model.Close, 5)
	slow(false, 0, "a#1", model.Send, 8)
	if !s.Holds(held, 7) || s.Holds(held, 8) {
		t.Error("what was held does not arrive with the last advance")
	}
	// A reset of the other node is about what is held, and one of this node takes the slow way.
	for _, c := range []struct {
		conn            string
		from, to, ticks int
		want            bool
	}{{"a#1", 0, 1, 7, true}, {"a#1", 1, 0, 7, true}, {"a#1", 0, 1, 8, false}, {"a#2", 0, 1, 7, false},
		{"a#2", 1, 0, 7, false}} {
		if got := s.Delays(c.conn, c.from, c.to, c.ticks); got != c.want {
			t.Errorf("%+v: a reset is delayed %t", c, got)
		}
	}
	// A node that is one advance behind still has to find it.
	if begin(8, 8); len(s.held) != 3 {
		t.Errorf("%d are known, want 3", len(s.held))
	}
	if begin(9, 9); len(s.held) > 0 {
		t.Errorf("%d are still known when all have arrived", len(s.held))
	}
	if s.Release(9) || len(s.coming) > 0 {
		t.Error("something is still held, or comes")
	}
	s = New([]Spell{{Events: 0, Length: 9}})
	begin(0, 0)
	held = slow(true, 0, "a#1", model.Send, 0)
	if !s.Release(0) || s.Holds(held, 0) || s.Release(0) {
		t.Error("what is held is not released, or twice")
	}
	slow(false, 0, "a#1", model.Send, 0)
}
