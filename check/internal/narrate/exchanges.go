package narrate

import (
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
	"golang.org/x/sys/unix"
)

// tick says what the clock does. The time is that of the program's clock, since the start.
func tick(e *sut.Event) string {
	seconds := e.Time().Seconds()
	switch e.Tick() {
	case sut.TickEarly:
		return fmt.Sprintf("the clock jumps ahead to %.3f s, early", seconds)
	case sut.TickLate:
		return "what is late arrives, as all else waits"
	case sut.TickForced:
		return fmt.Sprintf("the clock advances to %.3f s: all that go on only look again and again", seconds)
	}
	return fmt.Sprintf("the clock advances to %.3f s", seconds)
}

// passing says how time passes for the peers. The cases are in the order in which they explain
// most.
func passing(x driver.Exchange) string {
	t := x.Answer.Time
	passed := fmt.Sprintf("%v passes", inWords(t.Passed))
	if t.Passed == 0 {
		passed = "no time passes"
	}
	switch {
	case x.Input.Most == model.Once:
		return "time passes until a timer is due"
	case x.Answer.Shows():
		return passed
	case t.Tie:
		return passed + ", to the program's next timer and one of theirs"
	case timerPending(&x) != "":
		return passed + "; " + timerPending(&x)
	case x.Input.Most > 0:
		return passed + ", to the program's next timer"
	}
	return "no timer of theirs is set, or none makes them do anything"
}

// timerPending says which timer of the peers is not waited for. It is empty for none, and for one
// that is due together with the program's own.
func timerPending(x *driver.Exchange) string {
	if x.TimerOf == "" || x.Answer.Time.Tie {
		return ""
	}
	return fmt.Sprintf("a timer of %s is due in %v", x.TimerOf, inWords(x.Answer.Time.Due))
}

// inWords is a time as people read it: milliseconds are enough.
func inWords(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// timerLeft is the timer of the peers that is not waited for.
func timerLeft(x *driver.Exchange) *report.PeerTimer {
	if x.Input.Kind != model.Pass || timerPending(x) == "" {
		return nil
	}
	return &report.PeerTimer{Peer: x.TimerOf, Due: inWords(x.Answer.Time.Due)}
}

// networks are those of connections and listeners, by number.
type networks map[int]proxy.Network

// note notes what an exchange opens.
func (n networks) note(x driver.Exchange) {
	if x.Input.Opens() {
		if a, err := proxy.ParseAddress(x.Input.Addr); err == nil { // a recording may have any text there
			n[x.Input.Conn] = a.Network
		}
	}
	for i, listener := range x.Answer.Opened {
		n[x.Answer.First+i] = n[listener]
	}
}

// pieces are data that were sent one way: of a stream one, and else a message each. A message that
// cannot be read as one is shown as it is, in one piece. An end or error follows as a piece of its
// own.
func (n networks) pieces(m report.Message) []report.Message {
	network := n[m.Conn]
	if !network.KeepsBounds() || len(m.Data) == 0 {
		return []report.Message{m}
	}
	var list []report.Message
	for left := m.Data; len(left) > 0; {
		one, rest, ok := sut.ReadMessage(left, network)
		if !ok {
			return []report.Message{m}
		}
		piece := report.Message{Conn: m.Conn, ToPeer: m.ToPeer, Data: one.Data, Datagram: true}
		if one.Address != (proxy.Address{}) {
			piece.Address = one.Address.Text()
		}
		if one.Errno != 0 {
			piece.Datagram, piece.Event = false, "error: "+unix.Errno(one.Errno).Error()
		}
		list, left = append(list, piece), rest
	}
	if m.Event != "" {
		list = append(list, report.Message{Conn: m.Conn, ToPeer: m.ToPeer, Event: m.Event})
	}
	return list
}

// messages is an exchange as a counterexample shows it. Its order is that of events: the input,
// then connections, data, and clients that have ended.
func (n networks) messages(x driver.Exchange) []report.Message {
	n.note(x)
	first := report.Message{Conn: x.Input.Conn, ToPeer: true, Data: x.Input.Data}
	switch x.Input.Kind {
	case model.Connect:
		first.Event = "connect to " + x.Input.Addr
	case model.Listen:
		first.About, first.Event = fmt.Sprintf("listener %d", x.Input.Conn), "listen at "+x.Input.Addr
	case model.Shutdown:
		first.Event = "end of stream"
	case model.Close:
		first.Event = "close"
	case model.Pass:
		first.About, first.Event = "peers", passing(x)
	}
	list := n.pieces(first)
	if x.Answer.Refused != 0 {
		list = append(list, report.Message{Conn: x.Input.Conn, Event: "refused"})
	}
	for i, listener := range x.Answer.Opened {
		event := fmt.Sprintf("a client connects to listener %d", listener)
		list = append(list, report.Message{Conn: x.Answer.First + i, Event: event})
	}
	for _, d := range x.Answer.Deliveries {
		m := report.Message{Conn: d.Conn, Data: d.Data}
		switch d.End {
		case model.EOF:
			m.Event = "end of stream"
		case model.Reset:
			m.Event = "reset"
		}
		list = append(list, n.pieces(m)...)
	}
	for _, end := range x.Ended {
		list = append(list, report.Message{About: end.Peer, Event: peers.Outcome(end.Status)})
	}
	return list
}
