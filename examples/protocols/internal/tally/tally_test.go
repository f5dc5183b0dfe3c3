package tally

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// server answers at once.
type server struct{}

func (server) Receive(env *protocol.Env, from protocol.ID, message any) { env.Send(from, message) }

// client asks three servers, and then again, and waits for two answers each time.
type client struct {
	Round int
	Tally Tally
	Sums  []int // of the numbers of the servers that have answered
}

func (c *client) Start(env *protocol.Env) { c.ask(env) }

func (c *client) ask(env *protocol.Env) {
	c.Round++
	env.Broadcast(c.Round)
}

func (c *client) waits() []Wait {
	if c.Round == 3 {
		return nil
	}
	return []Wait{{"answers", 2, func(m any) bool { return m == c.Round },
		func(env *protocol.Env, set []protocol.Message) {
			env.Assert(set[0].From < set[1].From)
			c.Sums = append(c.Sums, int(set[0].From+set[1].From))
			c.ask(env)
		}}}
}

func (c *client) Receive(env *protocol.Env, from protocol.ID, m any) {
	c.Tally.Count(env, c.waits(), from, m)
}

func (c *client) Quorums() []protocol.Quorum {
	return c.Tally.Transitions(c.waits(), func(any) bool { return true })
}

// TestForms: both forms reach the same ends: any two servers are counted, in both rounds. Answers
// that come too late are not counted in the next one.
func TestForms(t *testing.T) {
	for _, quorums := range []bool{true, false} {
		view := func(_ protocol.ID, n protocol.Node) []int {
			if c, ok := n.(*client); ok {
				return c.Sums
			}
			return nil
		}
		m := &protocol.Model{Nodes: []protocol.Node{&client{Tally: New(quorums)}, &server{}, &server{},
			&server{}}}
		for _, sums := range [][]int{{3, 3}, {3, 5}, {5, 3}, {4, 4}} {
			m.Properties = append(m.Properties, protocol.Sometimes("sums", view, func(v [][]int) bool {
				return slices.Equal(v[0], sums)
			}))
		}
		r := protocol.Test(t, m, protocol.Options{})
		// Three questions arrive, two answers at once or one after the other, and that again. In
		// the end three questions more arrive; late answers do so in one of the forms only.
		want := 3 * (3 + 3)
		if quorums {
			want = 3 + 1 + 3 + 1 + 3
		}
		if r.Depth > want {
			t.Errorf("quorums %v: %v; want depth %d at most", quorums, r, want)
		}
	}
}
