package datagram_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/places"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// two are nodes a and b, which send datagrams to each other as weather has it.
type two struct {
	net    *network.Nodes
	air    *datagram.Air
	nodes  [2]*datagram.Sockets
	events [2][]skeleton.Event
	parted bool
}

func newTwo(t *testing.T, weather ...datagram.Fault) *two {
	t.Helper()
	p, err := places.New([]places.Given{{Name: "a", Listen: "10.0.0.1"}, {Name: "b", Listen: "10.0.0.2"}})
	if err != nil {
		t.Fatal(err)
	}
	w := &two{net: &network.Nodes{Names: []string{"a", "b"}, Places: p, Data: map[network.Event][]byte{},
		Nobody: map[network.Stray]bool{}}}
	w.air = &datagram.Air{Net: w.net, IsUp: func(int) bool { return true },
		IsParted: func(int, int) bool { return w.parted }, Weather: datagram.NewWeather(weather)}
	for n := range w.nodes {
		w.nodes[n] = &datagram.Sockets{Net: w.net, Node: n, Carrier: w.air.From(n)}
		w.nodes[n].Make = func(e skeleton.Event) skeleton.Name {
			e.Name = skeleton.Name{Component: n, N: len(w.events[n]) + 1}
			w.events[n] = append(w.events[n], e)
			return e.Name
		}
		w.air.Sockets = append(w.air.Sockets, w.nodes[n])
	}
	return w
}

// input has a node do something with a datagram socket.
func (w *two) input(t *testing.T, node int, in model.Input) model.Answer {
	t.Helper()
	var a model.Answer
	if !w.nodes[node].Answer(in, in.Conn, &a) {
		t.Errorf("%v is not about a datagram socket", in)
	}
	return a
}

// message is one that goes to an address, or comes from there.
func message(data, at string) []byte {
	return sut.Message{Data: []byte(data), Address: proxy.Address{Network: proxy.UDP,
		At: netip.MustParseAddrPort(at)}}.Append(nil)
}

// TestSockets: datagrams go to the socket that fits best, and are what the node then reads.
func TestSockets(t *testing.T) {
	w := newTwo(t)
	w.input(t, 0, model.Input{Kind: model.Connect, Conn: 3, Addr: "udp from [::]:7000"})
	w.input(t, 1, model.Input{Kind: model.Connect, Conn: 0, Addr: "udp from 0.0.0.0:7000"})
	w.input(t, 1, model.Input{Kind: model.Connect, Conn: 2, Addr: "udp from 10.0.0.2:7000"})
	w.input(t, 1, model.Input{Kind: model.Connect, Conn: 5, Addr: "udp6 from [::]:7000"})
	if a := w.input(t, 0, model.Input{Kind: model.Send, Conn: 3, Data: message("x", "10.0.0.2:7000")}); len(
		a.Deliveries) > 0 {
		t.Errorf("it is refused: %v", a)
	}
	sent := w.events[0][1]
	d := network.Did(&sent)
	if sent.To != 1 || d.From != "10.0.0.1:7000" || d.Fate != "" || string(w.net.Data[d]) != "x" {
		t.Errorf("sent is %+v", sent)
	}
	var r model.Reaction
	w.nodes[1].Arrive(0, &sent, &r)
	want := message("x", "10.0.0.1:7000")
	if len(r.Deliveries) != 1 || r.Deliveries[0].Conn != 2 || !slices.Equal(r.Deliveries[0].Data, want) {
		t.Errorf("it arrives as %+v", r)
	}
	w.input(t, 1, model.Input{Kind: model.Receive, Conn: 2, Data: want})
	if e := w.events[1][3]; e.From != sent.Name || network.Did(&e).Taken != 1 {
		t.Errorf("it is read as %+v", e)
	}
	w.input(t, 1, model.Input{Kind: model.Receive, Conn: 2, Data: want})
	if w.nodes[1].Err == nil {
		t.Error("what nobody has sent is read")
	}
	w.nodes[1].Exit()
	if n := len(w.events[1]); n != 7 || network.Did(&w.events[1][n-1]).Kind != model.Close {
		t.Errorf("its end makes the events %+v", w.events[1])
	}
	a := w.input(t, 0, model.Input{Kind: model.Send, Conn: 3, Data: message("x", "10.0.0.2:7000")})
	if len(a.Deliveries) != 1 || !slices.Equal(a.Deliveries[0].Data, datagram.Refusal()) {
		t.Errorf("nobody is there, and it is told %v", a)
	}
	for _, in := range []model.Input{{Kind: model.Pass}, {Kind: model.Close, Conn: 1},
		{Kind: model.Connect, Conn: 3, Addr: "10.0.0.1:7000"}} {
		if w.nodes[0].Answer(in, 0, &a) {
			t.Errorf("%v is about a datagram socket", in)
		}
	}
}

// TestFates: what becomes of datagrams, as weather and partitions have it, and again where that was
// recorded.
func TestFates(t *testing.T) {
	w := newTwo(t, datagram.Fault{Number: 1, Fate: datagram.Lost},
		datagram.Fault{Number: 2, Fate: datagram.Copied}, datagram.Fault{Number: 3, Fate: datagram.Late})
	w.input(t, 0, model.Input{Kind: model.Connect, Addr: "udp from 10.0.0.1:7000"})
	send := func(to string) {
		w.input(t, 0, model.Input{Kind: model.Send, Data: message("x", to)})
	}
	send("10.0.0.2:7000") // refused, and none of those that suffer
	w.input(t, 1, model.Input{Kind: model.Connect, Addr: "udp from 10.0.0.2:7000"})
	for range 4 {
		send("10.0.0.2:7000")
	}
	w.parted = true
	send("10.0.0.2:7000")
	send("10.0.0.2:7001") // nobody is told that nobody is there
	send("10.0.0.9:7000")
	var got []string
	for _, e := range w.events[0][1:] {
		got = append(got, fmt.Sprint(network.Did(&e).Fate, e.To))
	}
	want := []string{"refused-1", "lost-1", "1", "copy1", "late1", "1", "parted-1", "parted-1", "refused-1"}
	if !slices.Equal(got, want) || w.air.Weather.Sent() != 4 {
		t.Errorf("%d datagrams, which are %q; want 4 that are %q", w.air.Weather.Sent(), got, want)
	}
	if stray := (network.Stray{Node: "a", Address: "udp 10.0.0.9:7000"}); !w.net.Nobody[stray] {
		t.Errorf("%v, want %v", w.net.Nobody, stray)
	}
	again := newTwo(t)
	again.nodes[0].Carrier = datagram.Recorded{Net: again.net, Script: w.events[0],
		Made: func() int { return len(again.events[0]) }}
	again.input(t, 0, model.Input{Kind: model.Connect, Addr: "udp from 10.0.0.1:7000"})
	for i := range w.events[0][1:] {
		if d := network.Did(&w.events[0][i+1]); d.Fate != datagram.Copied {
			again.input(t, 0, model.Input{Kind: model.Send, Data: message("x", d.Address)})
		}
	}
	same := func(a, b skeleton.Event) bool { return a.Label == b.Label && a.To == b.To && a.Name == b.Name }
	if !slices.EqualFunc(again.events[0], w.events[0], same) {
		t.Errorf("recorded as\n%+v\nand again\n%+v", w.events[0], again.events[0])
	}
}

// TestFaults: faults of datagrams are those of the network, and no longer of a node.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		e           sut.Environment
		kinds, rest []string
		limit, left int
	}{
		{e: sut.Environment{}},
		{e: sut.Environment{Faults: 2}, kinds: []string{"lost", "duplicated", "reordered"},
			rest: []string{"refused", "reset", "end"}, limit: 2, left: 2},
		{e: sut.Environment{Faults: 1, FaultKinds: []string{"lost"}}, kinds: []string{"lost"}, limit: 1},
		{e: sut.Environment{Faults: 3, FaultKinds: []string{"reset"}}, rest: []string{"reset"}, left: 3},
	} {
		kinds, limit := datagram.Faults(&c.e)
		if limit != c.limit || !slices.Equal(kinds, c.kinds) || !slices.Equal(c.e.FaultKinds, c.rest) ||
			c.e.Faults != c.left {
			t.Errorf("%q %d, left %+v; want %+v", kinds, limit, c.e, c)
		}
	}
}
