package sut_test

import (
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// network is what other programs are to one: it says where connections are, and sends datagrams.
type network struct {
	inputs []string
	conns  int
}

var b = netip.MustParseAddrPort("10.0.0.2:7000")

func (n *network) Exchange(in model.Input) (model.Answer, error) {
	text := in.Kind.String() + " " + in.Addr
	if in.From != "" {
		text += " bound to " + in.From
	}
	a := model.Answer{Conn: in.Conn, Clients: 1}
	send := func(conn int, m sut.Message) {
		a.Deliveries = append(a.Deliveries, model.Delivery{Conn: conn, Data: m.Append(nil)})
	}
	switch in.Kind {
	case model.Connect, model.Listen:
		a.Conn = n.conns
		n.conns++
		isFirst := n.conns == 1
		switch at, err := proxy.ParseAddress(in.Addr); {
		case err != nil:
			return a, err
		case at.Network == proxy.UDP && isFirst:
			send(0, sut.Message{Data: []byte("hello"), Address: proxy.Address{Network: proxy.UDP, At: b}})
		case at.Network == proxy.UDP:
		case strings.HasSuffix(in.Addr, ":7003"): // it waits, and meanwhile somebody connects and sends
			a.Refused, a.First, a.Opened = int(syscall.EINPROGRESS), n.conns, []int{0}
			a.Deliveries = []model.Delivery{{Conn: n.conns, Data: []byte("hello"), End: model.EOF}}
			n.conns++
		case in.Kind == model.Connect && in.From == "":
			a.Local = "10.0.0.1:61000"
		case strings.HasSuffix(in.Addr, ":7002"):
			a.First, a.Opened = n.conns, []int{a.Conn}
			a.Ends = []model.Ends{{Local: "10.0.0.1:7002", Remote: "10.0.0.2:61000"}}
		}
	case model.Send, model.Receive:
		m, _, ok := sut.ReadMessage(in.Data, proxy.UDP)
		text += string(m.Data) + " " + m.Address.String()
		if !ok {
			text += " which is no message"
		}
		if in.Kind == model.Send && string(m.Data) == "x" {
			send(in.Conn, sut.Message{Errno: 111})
		}
	case model.Pass:
		a.Clients, a.Time.Idle = 0, true
	}
	n.inputs = append(n.inputs, text)
	return a, nil
}

// world is that of a program which has addresses of its own.
var world = sut.Environment{Clients: 1, PeerTime: true,
	Machine: sut.Machine{Addresses: []string{"10.0.0.1", "fd00::1"}, Hosts: []string{"10.0.0.2 b"}},
	Inputs:  sut.Inputs{PerConnection: true, Taken: true}}

// TestAddresses: a program sees its own addresses, listens there and nowhere else, and reaches
// others from them.
func TestAddresses(t *testing.T) {
	log := run(t, startIn(t, sut.Snapshot, world, "addresses"), sut.Schedule{}, &network{})
	want := `lo up|loopback|running [127.0.0.1/8 ::1/128] <nil>
eth0 up|broadcast|multicast|running [10.0.0.1/24 fd00::1/64] <nil>
<nil>
10.0.0.1:7000 from 10.0.0.1
10.0.0.1:7000 accepts 10.0.0.1:7000 10.0.0.1
10.0.0.9:7000 true
[fd00::1]:7000 from fd00::1
[fd00::1]:7000 accepts [fd00::1]:7000 fd00::1
127.0.0.1:7000 from 127.0.0.1
127.0.0.1:7000 accepts 127.0.0.1:7000 127.0.0.1
10.0.0.1:7001 from 10.0.0.1
10.0.0.1:7001 accepts 10.0.0.1:7001 10.0.0.1
<nil>
10.0.0.1:61000 10.0.0.2:7000
10.0.0.1:5000 <nil>
<nil>
10.0.0.1:7002 10.0.0.2:61000 <nil>
<nil>
`
	if got := string(log.Stdout); log.Outcome != sut.Completed || got != want {
		t.Errorf("%v %s, printed\n%s\nwant\n%s", log.Outcome, log.Message, got, want)
	}
}

// TestMeanwhile: what others do at the moment at which a connect begins to wait is not lost.
func TestMeanwhile(t *testing.T) {
	log := run(t, startIn(t, sut.Snapshot, world, "meanwhile"), sut.Schedule{}, &network{})
	if got := string(log.Stdout); log.Outcome != sut.Completed || got != "hello <nil>\n" {
		t.Errorf("%v %s, printed %q", log.Outcome, log.Message, got)
	}
}

// TestDatagramsOfNodes: the checker is told of each socket where it is, of each datagram where it
// goes, and of what is read. Who only waits for datagrams has ended well.
func TestDatagramsOfNodes(t *testing.T) {
	n := &network{}
	log := run(t, startIn(t, sut.Snapshot, world, "datagrams"), sut.Schedule{}, n)
	want := `[::]:7000 <nil>
"hello" 10.0.0.2:7000 <nil>
10.0.0.1 10.0.0.2:7000 <nil>
0 true
<nil>
`
	if got := string(log.Stdout); log.Outcome != sut.Completed || got != want {
		t.Errorf("%v %s, printed\n%s\nwant\n%s", log.Outcome, log.Message, got, want)
	}
	inputs := []string{"connect udp from [::]:7000", "receive hello udp 10.0.0.2:7000",
		"send and hello udp 10.0.0.2:7000", "connect udp from 10.0.0.1:PORT", "send  udp 10.0.0.2:7000",
		"send x udp 10.0.0.2:7000", "connect udp from 10.0.0.1:PORT", "close ", "pass "}
	for i, in := range n.inputs { // those that were not chosen are of Linux
		if j := strings.Index(in, " from 10.0.0.1:"); j >= 0 {
			n.inputs[i] = in[:j] + " from 10.0.0.1:PORT"
		}
	}
	if !slices.Equal(n.inputs, inputs) {
		t.Errorf("inputs %q; want %q", n.inputs, inputs)
	}
}
