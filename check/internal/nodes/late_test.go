package nodes

import (
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/environment"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// parting is a node of a walk in which the network is parted from one epoch on until another one.
func parting(from, until int) *member {
	net := &network.Nodes{Names: []string{"a", "b"}, Ordered: ordered(2), Data: map[network.Event][]byte{},
		Parted: &network.Partition{Links: [][2]int{{0, 1}}, From: from, Until: until}}
	m := &member{Walked: environment.NewWalked(net, 0), aborted: map[skeleton.Name]bool{},
		timing: pace.Timing{}}
	m.walk = &walk{net: net, members: []*member{m}, slow: slow.New(nil)}
	return m
}

// advances has the clock advance for the node.
func (m *member) advances() {
	m.walk.now, m.walk.ticks = m.walk.now+time.Second, m.walk.ticks+1
	m.Passes(network.Event{Kind: model.Pass, Time: m.walk.now})
}

// sentBy is what the other node has sent, as its n-th event.
func sentBy(n, late int, kind model.Kind) skeleton.Arrival {
	d := network.Event{Kind: kind, Conn: "c", Late: late}
	return skeleton.Arrival{Send: network.InOrder(skeleton.Event{Label: d, To: 0}, 1, n)}
}

// TestLateBehindPartition: what was sent before the network is parted, on a connection that is slow
// no more while it is, arrives when that has healed. What was sent on another one has arrived.
func TestLateBehindPartition(t *testing.T) {
	m := parting(2, 5)
	m.advances()
	m.inbox = []skeleton.Arrival{sentBy(1, network.Sometime, model.Send), sentBy(2, 0, model.Send)}
	m.look()
	for _, want := range []bool{true, false, false, false, true, true} {
		for i := range m.Arrivals {
			sent := &m.Arrivals[i].Send
			want := want || network.Did(sent).Late == 0
			if got := m.Comes(i, sent.Name, m.Moment()); got != want {
				t.Errorf("epoch %d: what has the lateness %d comes: %t", m.Ticks, network.Did(sent).Late, got)
			}
		}
		m.advances()
	}
}

// TestLosesEnds: an end that is slow is lost behind a partition if a letter has come to the other
// node after its close, also in the epoch in which the connection is slow no more. It is not if it
// has come by then, or was never slow.
func TestLosesEnds(t *testing.T) {
	for _, c := range []struct {
		name             string
		late             int
		isThere, isTaken bool // it has come; the node knows of it
		want             bool
	}{
		{"it is slow no more", network.Sometime, false, true, true},
		{"the node does not know of it", network.Sometime, false, false, true},
		{"it has come", network.Sometime, true, true, false},
		{"it was not slow", 0, false, true, false},
	} {
		m := parting(2, 5)
		d := network.Event{Kind: model.Send, Conn: "c"}
		m.walk.net.Data[d] = []byte("x")
		m.Made = append(m.Made, network.InOrder(skeleton.Event{Label: d, To: 1}, 0, 1))
		m.advances()
		closed := sentBy(1, c.late, model.Close)
		m.inbox = []skeleton.Arrival{closed}
		if c.isTaken {
			m.look()
			m.Done[0] = c.isThere
		}
		m.advances()
		if m.losesEnds(); m.aborted[closed.Send.Name] != c.want {
			t.Errorf("%s: it is lost: %t", c.name, !c.want)
		}
	}
}
