package narrate

import (
	"cmp"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// story is a log that is made by hand, with the exchanges that belong to it.
type story struct {
	log       sut.Log
	exchanges []driver.Exchange
	preempts  []bool
}

const mainID = 1 // of the goroutine

func (s *story) event(e sut.Event) { s.log.Events = append(s.log.Events, e) }

// step begins a transition of a goroutine, which is an operation on an object, if it has one.
func (s *story) step(goroutine uint64, o sut.Operation, object uint64, kind model.AccessKind) {
	s.event(sut.Event{Kind: sut.Stepped, Subject: goroutine, Operation: o, Choices: 1})
	s.preempts = append(s.preempts, false)
	if object != 0 {
		s.access(o, object, kind)
	}
}

func (s *story) access(o sut.Operation, object uint64, kind model.AccessKind) {
	s.event(sut.Event{Kind: sut.Accessed, Subject: object, Operation: o, Access: kind, Ready: sut.Free})
}

func (s *story) spawn(goroutine uint64) { s.event(sut.Event{Kind: sut.Spawned, Subject: goroutine}) }

// exchange is an input of the present step.
func (s *story) exchange(x driver.Exchange) {
	s.event(sut.Event{Kind: sut.Exchanged, Subject: uint64(x.Input.Conn)})
	x.Heard = true
	s.exchanges = append(s.exchanges, x)
}

func (s *story) ends(goroutine uint64) { s.event(sut.Event{Kind: sut.Ended, Subject: goroutine}) }

// waits is what a goroutine is parked at in the end.
func (s *story) waits(goroutine uint64, o sut.Operation, object uint64, canGoOn bool) {
	e := sut.Event{Kind: sut.Pending, Subject: goroutine, Operation: o, Object: object, Choices: 1}
	if canGoOn {
		e.Number = 1
	}
	s.event(e)
}

// stories are the logs, by name.
var stories = map[string]func(*story){
	"deadlock": func(s *story) {
		const a, b = 0x10, 0x20
		s.spawn(7)
		s.step(mainID, sut.Lock, a, model.Write)
		s.step(7, sut.Begin, 0, 0)
		s.preempts[1] = true
		s.step(7, sut.Lock, b, model.Write)
		s.log.Outcome = sut.Deadlock
		s.waits(mainID, sut.Lock, b, false)
		s.waits(7, sut.Lock, a, false)
	},
	"channel": func(s *story) {
		const c = 0x40
		s.spawn(7)
		s.step(mainID, sut.ChannelReceive, 0, 0) // waits
		s.step(7, sut.ChannelSend, 0, 0)
		s.event(sut.Event{Kind: sut.Partnered, Subject: mainID, Operation: sut.ChannelReceive})
		s.access(sut.ChannelSend, c, model.Write)
		s.event(sut.Event{Kind: sut.Woke, Subject: mainID})
		s.ends(7)
		s.step(mainID, sut.Resume, 0, 0)
		s.step(mainID, sut.ChannelClose, c, model.Write)
		s.event(sut.Event{Kind: sut.Stepped, Subject: mainID, Operation: sut.Select, Number: 1, Choices: 3})
		s.access(sut.Select, c, model.Read)
		s.access(sut.Select, c+0x10, model.Read)
		s.log.Outcome, s.log.Message = sut.AssertionFailed, "nothing is left"
	},
	"group of goroutines": func(s *story) {
		const group = 0x30
		for _, g := range []uint64{7, 8} {
			s.step(mainID, sut.Add, 0, 0)
			s.event(sut.Event{Kind: sut.Accessed, Subject: group, Operation: sut.Add, Access: model.Commute,
				Number: 1, Object: g - 7})
			s.spawn(g)
		}
		s.step(8, sut.Begin, 0, 0)
		s.spawn(9)
		s.step(8, sut.Add, 0, 0)
		minus := int32(-1)
		s.event(sut.Event{Kind: sut.Accessed, Subject: group, Operation: sut.Add, Access: model.Commute,
			Number: uint32(minus), Object: 2})
		s.ends(8)
		s.log.Outcome = sut.Deadlock
		s.waits(mainID, sut.Wait, group, false)
		s.event(sut.Event{Kind: sut.Left, Subject: 7})
	},
	"time and signals": func(s *story) {
		s.step(mainID, sut.SetTimer, 0x50, model.Write)
		s.event(sut.Event{Kind: sut.Ticked, Subject: uint64(1500 * time.Millisecond)})
		s.spawn(9) // a function that a timer calls
		s.event(sut.Event{Kind: sut.Stepped, Subject: 9, Operation: sut.Advance})
		s.event(sut.Event{Kind: sut.Ticked, Subject: uint64(2 * time.Second), Number: uint32(sut.TickEarly)})
		s.event(sut.Event{Kind: sut.Ticked, Subject: uint64(3 * time.Second), Number: uint32(sut.TickForced)})
		s.event(sut.Event{Kind: sut.Ticked, Subject: uint64(3 * time.Second), Number: uint32(sut.TickLate)})
		s.spawn(sut.SignalSource)
		s.preempts = nil
		for _, signal := range []syscall.Signal{syscall.SIGTERM, 0} {
			s.event(sut.Event{Kind: sut.Stepped, Subject: sut.SignalSource, Operation: sut.SignalArrive})
			s.event(sut.Event{Kind: sut.Signalled, Subject: uint64(signal)})
		}
		s.log.Outcome, s.log.Message = sut.Exited, "terminated"
		s.log.Stderr = []byte("it was told to end\n")
	},
	"dialogue": func(s *story) {
		s.step(mainID, sut.SocketConnect, 0x60, model.Write)
		s.exchange(driver.Exchange{Input: model.Input{Kind: model.Connect, Addr: "127.0.0.1:7000"},
			Wrote: []driver.Written{{Peer: "server", Text: "ready\n"}}})
		s.step(mainID, sut.SocketWrite, 0x60, model.Write)
		s.exchange(driver.Exchange{Input: model.Input{Kind: model.Send, Data: []byte("get\n")}, Cached: true,
			Answer: model.Answer{Reaction: model.Reaction{Deliveries: []model.Delivery{
				{Data: []byte("7\n")}, {End: model.EOF}}}}})
		s.step(mainID, sut.SocketConnect, 0x70, model.Write)
		s.exchange(driver.Exchange{Input: model.Input{Kind: model.Connect, Conn: 1, Addr: "127.0.0.1:7001"},
			Answer:   model.Answer{Conn: 1, Reaction: model.Reaction{Refused: int(syscall.ECONNREFUSED)}},
			Restored: "server restored from the checkpoint after 2 inputs"})
		s.step(mainID, sut.SocketClose, 0x60, model.Write)
		s.exchange(driver.Exchange{Input: model.Input{Kind: model.Close}, Cached: true,
			Restored: "server started anew"})
		s.log.Outcome, s.log.ExitCode = sut.Exited, 3
		s.log.Stderr = []byte("refused\n")
	},
	"clients": func(s *story) {
		s.event(sut.Event{Kind: sut.Stepped, Subject: mainID, Operation: sut.SocketBind, Number: 1,
			Choices: 2})
		s.exchange(driver.Exchange{Input: model.Input{Kind: model.Listen, Addr: "127.0.0.1:7000"},
			Answer: model.Answer{Reaction: model.Reaction{Opened: []int{0, 0}}, First: 1}})
		s.spawn(sut.PeerTimeSource)
		s.event(sut.Event{Kind: sut.Stepped, Subject: sut.PeerTimeSource, Operation: sut.TimePasses})
		s.exchange(driver.Exchange{Input: model.Input{Kind: model.Pass, Most: time.Second},
			Answer: model.Answer{Reaction: model.Reaction{Time: model.Time{Passed: 20 * time.Millisecond}}},
			Ended:  []driver.End{{Peer: "client", Status: 1 << 8}}})
		s.event(sut.Event{Kind: sut.Stepped, Subject: sut.PeerTimeSource, Operation: sut.TimePasses})
		s.exchange(driver.Exchange{
			Input: model.Input{Kind: model.Pass, Most: time.Second}, TimerOf: "client",
			Answer: model.Answer{Reaction: model.Reaction{
				Time: model.Time{Passed: time.Second, Due: 1234567 * time.Microsecond}}}})
		s.spawn(sut.NetworkSource)
		s.event(sut.Event{Kind: sut.Stepped, Subject: sut.NetworkSource, Operation: sut.NetworkFault,
			Choices: 1})
		s.preempts = nil
		s.log.Outcome = sut.Deadlock
		s.waits(mainID, sut.PollWait, 0x80, false)
	},
	"data race": func(s *story) {
		s.spawn(7)
		s.step(7, sut.Begin, 0, 0)
		s.log.Outcome = sut.DataRace
		s.log.Race = &sut.Race{
			Earlier: sut.MemoryAccess{Address: 0xc0, Size: 8, Write: true, Goroutine: mainID},
			Later:   sut.MemoryAccess{Address: 0xc0, Atomic: true, Goroutine: 7}}
	},
}

// TestStories tells logs that were made by hand, and compares with the files that say how.
func TestStories(t *testing.T) {
	for name, make := range stories {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			make(s)
			before := fmt.Sprint(s.log.Events)
			told := Counterexample(&sut.Program{}, &s.log, s.exchanges, s.preempts)
			golden.Equal(t, strings.ReplaceAll(name, " ", "-")+".txt", tellAll(told))
			if fmt.Sprint(s.log.Events) != before {
				t.Error("the log has been changed")
			}
		})
	}
}

// TestNode: where others are nodes, nothing is said of peers.
func TestNode(t *testing.T) {
	s := &story{}
	s.spawn(sut.PeerTimeSource)
	s.event(sut.Event{Kind: sut.Stepped, Subject: sut.PeerTimeSource, Operation: sut.TimePasses})
	s.log.Outcome = sut.Deadlock
	s.waits(mainID, sut.PollWait, 0x80, false)
	golden.Equal(t, "node.txt", tellAll(Node(&sut.Program{}, &s.log, nil)))
}

// tellAll writes a counterexample out, whatever there is.
func tellAll(c *report.Counterexample) string {
	var b strings.Builder
	name := func(goroutine int) string {
		if goroutine == report.Clock {
			return "(clock)"
		}
		return c.Goroutines[goroutine].Name
	}
	for _, s := range c.Steps {
		fmt.Fprintf(&b, "%s: %s", name(s.Goroutine), strings.TrimSpace(s.Operation+" "+s.Object))
		fmt.Fprintf(&b, " [%s]", cmp.Or(string(s.Kind), "-"))
		if s.Cached {
			b.WriteString(" cached")
		}
		if s.Preempts {
			b.WriteString(" preempts")
		}
		if s.Restored != "" {
			fmt.Fprintf(&b, " (%s)", s.Restored)
		}
		b.WriteByte('\n')
		for _, m := range s.IO {
			arrow := "<-"
			if m.ToPeer {
				arrow = "->"
			}
			about := cmp.Or(m.About, fmt.Sprint("connection ", m.Conn))
			what := strings.TrimSpace(inQuotes(m.Data) + " " + m.Event)
			fmt.Fprintf(&b, "    %s %s %s\n", arrow, about, what)
		}
	}
	for _, o := range c.Outputs {
		fmt.Fprintf(&b, "output in step %d of %s: %q\n", o.Step+1, o.Peer, o.Text)
	}
	for _, g := range c.Goroutines {
		fmt.Fprintf(&b, "goroutine %s", g.Name)
		if g.Function != "" {
			fmt.Fprintf(&b, " runs %s", g.Function)
		}
		if g.Blocked != "" {
			fmt.Fprintf(&b, "; blocked: %s", g.Blocked)
		}
		b.WriteByte('\n')
	}
	if r := c.Race; r != nil {
		for _, a := range []report.MemoryAccess{r.Later, r.Earlier} {
			fmt.Fprintf(&b, "%s of %d bytes at %#x by %s\n", a.Operation, a.Size, a.Address, a.Goroutine.Name)
		}
	}
	if p := c.PeerTimer; p != nil {
		fmt.Fprintf(&b, "a timer of %s is due in %v\n", p.Peer, p.Due)
	}
	fmt.Fprintf(&b, "%v, status %d: %s\n", c.Failure.Kind, c.Failure.Status, c.Failure)
	return b.String()
}

func inQuotes(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", data)
}
