// Package datagram knows the datagram sockets of nodes: what they send and receive, and what the
// network does to that.
//
// A socket is like a connection that has no other end: it has a name, and its node makes events of
// it. Each datagram says where it goes, and has one receiver, or none: it is lost, or nobody is
// there. What becomes of it is decided when it is sent, and is a part of that event. When it comes
// is decided later, and the receiver does not notice until it reads it.
package datagram

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// What becomes of a datagram, if it does not just arrive. The words are those of files.
const (
	Lost    = "lost"
	Late    = "late" // what is sent later may arrive before it
	Copied  = "copy" // it is not sent, but the network makes it of the one before
	Parted  = "parted"
	Refused = "refused" // nobody is there
)

// socket is a datagram socket of a node.
type socket struct {
	id       string
	at       proxy.Address // its own side
	opened   skeleton.Name // the event
	sent     network.Hash
	taken    int // datagrams
	inFlight []skeleton.Event
}

// isOne says whether an input opens a datagram socket over IP.
func isOne(in model.Input) bool { return in.Kind == model.Connect && strings.HasPrefix(in.Addr, "udp") }

// open is the k-th socket of a node, at the address of an input, and the event of that.
func open(node string, k int, in model.Input) (*socket, skeleton.Event, error) {
	at, err := proxy.ParseAddress(in.Addr)
	s := &socket{id: fmt.Sprintf("%s#udp%d", node, k), at: at}
	e := network.Event{Kind: model.Listen, Conn: s.id, Address: s.place()}
	return s, skeleton.Event{Label: e, To: skeleton.Nobody}, err
}

// gets says whether a socket gets what is sent to an address, and whether only what is sent to that
// one.
func (s *socket) gets(to netip.AddrPort) (gets, exactly bool) {
	return reaches(s.place(), to)
}

// sends is the event of a datagram that a node sends over the socket, before it is decided what
// becomes of it. A socket at all addresses sends from the one that leads there.
func (s *socket) sends(net *network.Nodes, node int, in model.Input) (e skeleton.Event, err error) {
	m, _, ok := sut.ReadMessage(in.Data, proxy.UDP)
	to := m.Address.At
	if !ok || !to.IsValid() {
		return e, fmt.Errorf("%s sends %d bytes that are no datagram to an address", s.id, len(in.Data))
	}
	from := s.at.From
	if from.Addr().IsUnspecified() {
		from = netip.AddrPortFrom(net.Places.Source(node, to.Addr()), from.Port())
	}
	label := network.Event{Kind: model.Send, Conn: s.id, Address: to.String(), From: from.String()}
	return skeleton.Event{Label: s.label(net, label, m.Data), To: skeleton.Nobody}, nil
}

// label is that of the next event in which something is sent.
func (s *socket) label(net *network.Nodes, d network.Event, data []byte) network.Event {
	s.sent.Add(append([]byte(d.Kind.String()), data...))
	d.Sent = s.sent
	net.Data[d] = append([]byte{}, data...)
	return d
}

// decide changes the label of a datagram that is about to be sent, and who gets it.
func decide(net *network.Nodes, e *skeleton.Event, to int, change func(d *network.Event)) {
	d := network.Did(e)
	data := net.Data[d]
	change(&d)
	net.Data[d], e.Label, e.To = data, d, to
}

// copy is the event of a copy that the network makes of a datagram which was sent last.
func (s *socket) copy(net *network.Nodes, of *skeleton.Event) skeleton.Event {
	d := network.Did(of)
	label := network.Event{Kind: d.Kind, Conn: d.Conn, Address: d.Address, From: d.From, Fate: Copied}
	return skeleton.Event{Label: s.label(net, label, net.Data[d]), To: of.To, From: of.From, Got: of.Got}
}

// Refusal is what a node is told that has sent a datagram to where nobody is.
func Refusal() []byte { return sut.Message{Errno: 111}.Append(nil) } // ECONNREFUSED

// comes has a datagram reach the socket, and returns it as the node gets it.
func (s *socket) comes(net *network.Nodes, send *skeleton.Event) []byte {
	d := network.Did(send)
	s.inFlight = append(s.inFlight, *send)
	from, _ := netip.ParseAddrPort(d.From) // as socket.sends has written it
	return sut.Message{Data: net.Data[d], Address: proxy.Address{Network: proxy.UDP, At: from}}.Append(nil)
}

// waiting is how many bytes have come and were not read, as the node counts them.
func (s *socket) waiting(net *network.Nodes) (n int) {
	for i := range s.inFlight {
		n += len(net.Data[network.Did(&s.inFlight[i])]) + cost
	}
	return n
}

// takes is the event of a datagram that the node reads: the first that has come which is the same.
// One that has found its buffer full is never read.
func (s *socket) takes(net *network.Nodes, in model.Input) (e skeleton.Event, err error) {
	m, _, _ := sut.ReadMessage(in.Data, proxy.UDP)
	for i := range s.inFlight {
		d := network.Did(&s.inFlight[i])
		if d.From != m.Address.At.String() || string(net.Data[d]) != string(m.Data) {
			continue
		}
		s.taken++
		e = skeleton.Event{Label: network.Event{Kind: model.Receive, Conn: s.id, Taken: s.taken},
			To: skeleton.Nobody, From: s.inFlight[i].Name, Got: d}
		s.inFlight = slices.Delete(s.inFlight, i, i+1)
		return e, nil
	}
	return e, fmt.Errorf("%s receives %d bytes from %v, which nobody has sent", s.id, len(m.Data),
		m.Address.At)
}

// closes is the event of its close.
func (s *socket) closes(net *network.Nodes) skeleton.Event {
	d := network.Event{Kind: model.Close, Conn: s.id, Taken: s.taken}
	return skeleton.Event{Label: s.label(net, d, nil), To: skeleton.Nobody}
}
