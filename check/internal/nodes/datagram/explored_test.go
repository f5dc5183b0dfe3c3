package datagram_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// explored has node a be explored against a script and arrivals, by itself.
func explored(t *testing.T, script []skeleton.Event, arrivals []skeleton.Arrival) *two {
	t.Helper()
	w := newTwo(t)
	w.net.Ordered = []bool{true, true}
	w.nodes[0].Carrier = &datagram.Explored{Net: w.net, Script: script, Arrivals: arrivals,
		Now: func() datagram.Now { return datagram.Now{Made: w.events[0], Follows: len(script) > 0} }}
	return w
}

// line is what a node does, as a skeleton has it: each step opens or closes its socket at port
// 7000, or is a datagram to the other one that takes something from one of its events.
type line []string

// global is a skeleton of nodes a and b. A step is "open", "close", "tick", or the fate of a
// datagram and the number of the event that it takes something from; 0: of none.
func global(lines ...line) skeleton.Global {
	g := make(skeleton.Global, len(lines))
	for c, steps := range lines {
		for i, step := range steps {
			conn := fmt.Sprintf("%c#udp1", 'a'+c)
			e := skeleton.Event{To: skeleton.Everybody}
			e.Component, e.N = c, i+1
			if i > 0 {
				e.Past = []skeleton.Name{{Component: c, N: i}}
			}
			fate, from, isSent := strings.Cut(step, " ")
			switch {
			case step == "open":
				e.Label = network.Event{Kind: model.Listen, Conn: conn, Address: "[::]:7000"}
			case step == "close":
				e.Label = network.Event{Kind: model.Close, Conn: conn}
			case step == "tick":
				e.To, e.Tick, e.Label = skeleton.Nobody, 1, network.Event{Kind: model.Pass, Time: 1}
			case isSent:
				other := 1 - c
				d := network.Event{Kind: model.Send, Conn: conn, Fate: strings.Trim(fate, "-"),
					Address: fmt.Sprintf("10.0.0.%d:7000", other+1), From: fmt.Sprintf("10.0.0.%d:7000", c+1)}
				d.Sent.Add([]byte(fmt.Sprint(i)))
				e.To, e.Label = other, d
				if from != "0" {
					fmt.Sscan(from, &e.From.N)
					e.From.Component = other
				}
			}
			g[c].Events = append(g[c].Events, e)
		}
	}
	return g
}

// TestIsPossible: a datagram is sent before the next event of the sockets to which it goes, and no
// more of them suffer than may.
func TestIsPossible(t *testing.T) {
	net := newTwo(t).net
	for _, c := range []struct {
		name  string
		nodes []line
		most  int
		want  bool
	}{
		{"both send while the other one is there",
			[]line{{"open", "- 1", "close"}, {"open", "- 1", "close"}}, 0, true},
		{"each sends when it is not there any more, and the other one is",
			[]line{{"open", "close", "- 1"}, {"open", "close", "- 1"}}, 0, false},
		{"one of them is late", []line{{"open", "close", "- 1"}, {"open", "close", "refused 2"}}, 0, true},
		{"it comes before there is a socket", []line{{"open", "refused 0"}, {"open", "refused 0"}}, 0, false},
		{"the other one is there then", []line{{"open", "refused 0"}, {"open", "- 1"}}, 0, true},
		{"the clock has advanced since", []line{{"open", "tick", "refused 0"}, {"open", "tick"}}, 0, false},
		{"and not before", []line{{"open", "tick", "refused 0"}, {"tick", "open"}}, 0, true},
		{"one is lost", []line{{"lost 1"}, {"open", "- 0"}}, 1, true},
		{"one is lost, and one late", []line{{"lost 1"}, {"open", "late 0"}}, 1, false},
	} {
		limits := datagram.Limits{Most: c.most}
		if got := datagram.IsPossible(net, global(c.nodes...), limits); got != c.want {
			t.Errorf("%s: possible: %t", c.name, got)
		}
	}
}

// TestBranches: a datagram is sent at another time, or suffers, as often as may be.
func TestBranches(t *testing.T) {
	net := newTwo(t).net
	g := global(line{"open", "- 1", "lost 1"}, line{"open", "close"})
	fates := func(limits datagram.Limits) (list []string) {
		item := skeleton.Item{Local: g[0], Arrivals: g.Arrivals(0)}
		for _, b := range datagram.Branches(net, item, limits) {
			d := network.Did(b.Event)
			list = append(list, fmt.Sprint(len(b.Before), d.Fate, b.Event.From.N, " to ", b.Event.To))
		}
		return list
	}
	// The second one knows that there is a socket, since the first one has found it.
	doors := []string{"1refused0 to -1", "1refused2 to -1"}
	last := []string{"2refused2 to -1"}
	all := datagram.Limits{Kinds: []string{"lost", "duplicated", "reordered"}, Most: 2}
	suffers := []string{"1lost1 to -1", "2copy1 to 1", "1late1 to 1"}
	for _, c := range []struct {
		limits datagram.Limits
		want   []string
	}{
		{datagram.Limits{}, slices.Concat(doors, last)},
		{datagram.Limits{Kinds: all.Kinds, Most: 1}, slices.Concat(doors, last)},
		{all, slices.Concat(doors, suffers, last)},
	} {
		if got := fates(c.limits); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.limits, got, c.want)
		}
	}
}

// TestOthers: what is late comes in each epoch in which it can, or not at all.
func TestOthers(t *testing.T) {
	g := global(line{"open", "tick", "close"}, line{"late 1", "tick", "- 1"})
	item := skeleton.Item{Local: g[0], Arrivals: g.Arrivals(0)}
	var got []string
	for _, o := range datagram.Others(&item) {
		got = append(got, fmt.Sprint(o.N, " ", o.From, " ", o.Never))
	}
	if want := []string{"1 0 false", "1 1 false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestExplored: a datagram finds the sockets that are there as far as the node can know, and comes
// to what the script says.
func TestExplored(t *testing.T) {
	send := func(w *two) skeleton.Event {
		w.input(t, 0, model.Input{Kind: model.Connect, Addr: "udp from 10.0.0.1:7000"})
		w.input(t, 0, model.Input{Kind: model.Send, Data: message("x", "10.0.0.2:7000")})
		return w.events[0][1]
	}
	g := global(line{}, line{"open", "close", "open"})
	for n, want := range []string{"refused-1", "1", "refused-1", "1"} {
		until := skeleton.Global{{}, {Events: g[1].Events[:n]}}
		e := send(explored(t, nil, until.Arrivals(0)))
		if got := fmt.Sprint(network.Did(&e).Fate, e.To); got != want || e.From.N != n {
			t.Errorf("after %d events: %s of %d, want %s", n, got, e.From.N, want)
		}
	}
	// The other one opens its socket after something that the node has not done yet.
	late := g.Arrivals(0)
	for i := range late {
		late[i].After = []skeleton.Name{{N: i + 2}}
	}
	if e := send(explored(t, nil, late)); network.Did(&e).Fate != datagram.Refused {
		t.Errorf("it finds a socket that cannot be there yet: %+v", e)
	}
	was := send(explored(t, nil, g.Arrivals(0)))
	d := network.Did(&was)
	d.Fate = datagram.Lost
	was.Label, was.To = d, skeleton.Nobody
	if e := send(explored(t, []skeleton.Event{{}, was}, g.Arrivals(0))); !e.Equal(&was) {
		t.Errorf("the script says %+v, and it is %+v", was, e)
	}
}

// TestNotExplored: explorations say what they do not have.
func TestNotExplored(t *testing.T) {
	w := explored(t, nil, nil)
	w.net.Ordered[0] = false
	w.input(t, 0, model.Input{Kind: model.Connect, Addr: "udp from 10.0.0.1:7000"})
	if !w.nodes[0].NeedsOrder {
		t.Error("a node with a socket need not be in one order")
	}
	w = explored(t, nil, nil)
	w.input(t, 0, model.Input{Kind: model.Connect, Conn: 0, Addr: "udp from 10.0.0.1:7000"})
	w.input(t, 0, model.Input{Kind: model.Connect, Conn: 1, Addr: "udp6 from [::]:7000"})
	if w.nodes[0].NotExplored != nil {
		t.Error("one of IPv6 alone is at the same port")
	}
	a := w.input(t, 0, model.Input{Kind: model.Connect, Conn: 2, Addr: "udp from [::]:7000"})
	if err := w.nodes[0].NotExplored; err == nil || a.Failure != err.Error() {
		t.Errorf("two sockets at one port: %+v, %v", a, err)
	}
	// Two other nodes have a socket at one address of loopback.
	w = explored(t, nil, nil)
	w.net.Names = append(w.net.Names, "c")
	g := global(line{}, line{"open"}, line{"open"})
	w.nodes[0].Carrier.(*datagram.Explored).Arrivals = g.Arrivals(0)
	w.input(t, 0, model.Input{Kind: model.Connect, Addr: "udp from 127.0.0.1:7001"})
	w.input(t, 0, model.Input{Kind: model.Send, Data: message("x", "127.0.0.1:7000")})
	if w.nodes[0].NotExplored == nil {
		t.Errorf("it is sent as %+v", w.events[0][1:])
	}
	// More waits at a socket than it has room for.
	w = explored(t, nil, nil)
	w.input(t, 0, model.Input{Kind: model.Connect, Addr: "udp from 10.0.0.1:7000"})
	d := network.Event{Kind: model.Send, Conn: "b#udp1", Address: "10.0.0.1:7000", From: "10.0.0.2:7000"}
	w.net.Data[d] = make([]byte, 60_000)
	sent := skeleton.Event{Label: d, From: w.events[0][0].Name}
	for i := range 4 {
		sent.Name = skeleton.Name{Component: 1, N: i + 1}
		x := w.nodes[0].Carrier.(*datagram.Explored)
		x.Arrivals = append(x.Arrivals, skeleton.Arrival{Send: sent})
		made := x.Now
		x.Now = func() datagram.Now { n := made(); n.Done = []bool{true, true, true, false}; return n }
		var r model.Reaction
		if !w.nodes[0].Arrive(i, &sent, &r) || (w.nodes[0].NotExplored != nil) != (i == 3) {
			t.Errorf("datagram %d: %v", i, w.nodes[0].NotExplored)
		}
	}
}
