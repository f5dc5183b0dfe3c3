package sut

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"
	"unsafe"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// The kinds of accesses and of inputs, the ends of streams, and what a Pass to the first timer may
// take are the same in the shared memory and for all other rooms.
var _ = [1]struct{}{}[0|
	(model.Connect^abi.ExchangeConnect)|(model.Send^abi.ExchangeSend)|
	(model.Shutdown^abi.ExchangeShutdown)|(model.Close^abi.ExchangeClose)|
	(model.Listen^abi.ExchangeListen)|(model.Pass^abi.ExchangePass)|
	(model.Receive^abi.ExchangeReceive)|(model.Accept^abi.ExchangeAccept)|
	(model.Disk^abi.ExchangeDisk)|(model.Publish^abi.ExchangePublish)|
	model.Kind(model.StillOpen^abi.EndNone)|model.Kind(model.EOF^abi.EndOfStream)|
	model.Kind(model.Reset^abi.EndReset)|model.Kind(model.Once^abi.PassOnce)|
	model.Kind(model.Read^abi.AccessRead)|model.Kind(model.Write^abi.AccessWrite)|
	model.Kind(model.Commute^abi.AccessCommute)|model.Kind(uint64(model.StateObject)^abi.StateObject)]

// readInput reads what the program does to its peers.
func readInput(s *abi.Shared) (model.Input, error) {
	h := s.Exchange
	if h.Length > abi.ExchangeBytes {
		return model.Input{}, damage("a request has %d bytes of at most %d", h.Length, abi.ExchangeBytes)
	}
	kind := model.Kind(h.Kind)
	in := model.Input{Kind: kind, Conn: int(h.Connection), Data: s.Data[:h.Length:h.Length],
		Unsynced: int(h.Unsynced)}
	switch h.Kind {
	case abi.ExchangeConnect, abi.ExchangeListen:
		if in.Conn, in.Behaviour = 0, int(h.Connection); in.Behaviour >= maxBehaviours {
			return model.Input{}, damage("a request is for behaviour %d of the peers", in.Behaviour)
		}
		at := h.Address
		if at.Network == abi.NetworkTCP && at.Flags&abi.AddressFrom != 0 && at.FromPort < 1<<16 {
			in.From = netip.AddrPortFrom(netip.AddrFrom16(at.From).Unmap(), uint16(at.FromPort)).String()
			at.Flags, at.From, at.FromPort = at.Flags&^abi.AddressFrom, [16]byte{}, 0
		}
		address, err := readAddress(at, in.Data)
		if err != nil {
			return model.Input{}, err
		}
		in.Name, in.Addr, in.Data = strconv.FormatUint(h.Name, 16), address.String(), nil
	case abi.ExchangeSend, abi.ExchangeShutdown, abi.ExchangeClose, abi.ExchangeReceive, abi.ExchangeAccept:
		if h.Connection > 1<<31-1 {
			return model.Input{}, damage("a request is for connection %d", h.Connection)
		}
		if h.Kind == abi.ExchangeClose {
			in.Failed, in.Silent = h.Name != abi.ClosedByProgram, h.Name == abi.ClosedBySilence
		}
	case abi.ExchangePass:
		if h.Connection != 0 || h.Length != 0 {
			return model.Input{}, damage("that time passes has connection %d and %d bytes", h.Connection,
				h.Length)
		}
		if in.Most = time.Duration(h.Most); in.Most < 0 {
			return model.Input{}, damage("at most %d ns are to pass", h.Most)
		}
	case abi.ExchangeDisk:
		in.Conn, in.Operation, in.Data = 0, string(in.Data), nil
	case abi.ExchangePublish:
		name, value, found := bytes.Cut(in.Data, []byte{0})
		if !found {
			return model.Input{}, damage("what is published has no name")
		}
		in.Conn, in.Addr, in.Data = 0, string(name), value
	default:
		return model.Input{}, damage("a request has kind %d, which is unknown", h.Kind)
	}
	return in, nil
}

// reply hands the answer over, in as many pieces as it needs.
func (w *Worker) reply(a model.Answer) error {
	if a.Crash != nil {
		if w.environment.Inputs&abi.InputsCrashes == 0 {
			return errors.New("an answer has the program crash, but Environment.Crashes is not set")
		}
		a = model.Answer{Touched: a.Touched, Crash: a.Crash}
	}
	h := &w.process.Shared.Exchange
	*h = abi.ExchangeHeader{
		Errno: uint32(a.Refused), Connection: uint32(a.Conn),
		Passed: uint64(a.Time.Passed), Shows: flag(a.Shows() || a.Again), Idle: flag(a.Time.Idle),
		Tie: flag(a.Time.Tie),
	}
	if a.Local != "" {
		local, err := netip.ParseAddrPort(a.Local)
		if err != nil {
			return fmt.Errorf("an answer has a connection begin at no address: %w", err)
		}
		h.Address.Flags, h.Address.FromPort = abi.AddressFrom, uint32(local.Port())
	}
	left := unsent{touched: a.Touched, first: a.First, opened: a.Opened, ends: a.Ends,
		deliveries: a.Deliveries, gates: a.Gates}
	for {
		fill(w.process.Shared, &left)
		h.More = flag(!left.empty())
		h.Clients, h.Halts = uint32(a.Clients), flag(a.Halts)
		if h.Crashed = flag(a.Crash != nil); h.Crashed != 0 {
			h.Lost = uint32(min(max(a.Crash.Lost, 0), math.MaxInt32))
		}
		if h.Failed = flag(a.Failure != ""); h.Failed != 0 {
			w.process.Shared.MessageLength = uint32(copy(w.process.Shared.Message[:], a.Failure))
		}
		if err := w.process.Send(abi.CommandReply); err != nil {
			return w.process.Explain(err)
		}
		if left.empty() {
			return nil
		}
		if err := w.process.Expect(abi.AnswerRequest); err != nil {
			return w.process.Explain(err)
		}
		if h.Kind != abi.ExchangeMore {
			return fmt.Errorf("the worker asked for %d in the middle of an answer", h.Kind)
		}
		*h = abi.ExchangeHeader{}
	}
}

// named tells of a state that the program has named.
func (w *Worker) named(states States) error {
	sh := w.process.Shared
	s := *(*abi.NamedState)(unsafe.Pointer(&sh.Data))
	switch {
	case states == nil:
		return damage("it names a state, and nobody wants to know it")
	case sh.Exchange.Length != uint32(unsafe.Sizeof(s)):
		return damage("a state that it names has %d bytes", sh.Exchange.Length)
	case s.Step > abi.MaxRecords || max(s.Effect, s.Turn, s.Tick) > s.Step:
		return damage("the state of transition %d is about transitions %d, %d and %d", s.Step, s.Effect,
			s.Turn, s.Tick)
	}
	ends := states.Named(NamedState{Key: s.Key, PC: s.PC, Step: int(s.Step), Effect: int(s.Effect),
		Turn: int(s.Turn), Tick: int(s.Tick), Stirs: s.Stirs != 0,
		Waits: s.Waits != 0})
	sh.Exchange = abi.ExchangeHeader{Errno: flag(ends)}
	if err := w.process.Send(abi.CommandReply); err != nil {
		return w.process.Explain(err)
	}
	return nil
}

// unsent is what is left of an answer to hand over.
type unsent struct {
	touched    []model.Touch
	first      int              // number of the first connection of opened
	opened     []int            // at which listeners
	ends       []model.Ends     // of these; nil: the program says where they are
	deliveries []model.Delivery // after those
	sent       int              // bytes of the first delivery
	gates      []model.Gate     // after those
}

// empty reports whether all has been handed over.
func (u *unsent) empty() bool {
	return len(u.touched)+len(u.opened)+len(u.deliveries)+len(u.gates) == 0
}

const deliveryHeaderSize = int(unsafe.Sizeof(abi.DeliveryHeader{}))

// fill writes as much into the shared memory as fits.
func fill(sh *abi.Shared, left *unsent) {
	at := 0
	sh.Exchange.Deliveries = 0
	for !left.empty() {
		room := abi.ExchangeBytes - at - 2*(deliveryHeaderSize+8)
		if room < 2*abi.MessageIPSize {
			break
		}
		sh.Exchange.Deliveries++
		if len(left.touched) > 0 {
			t := left.touched[0]
			header := abi.DeliveryHeader{Connection: abi.TouchObject, End: uint32(t.Kind)}
			at += deliver(sh, at, header, binary.LittleEndian.AppendUint64(nil, uint64(t.Object)))
			left.touched = left.touched[1:]
			continue
		}
		if len(left.opened) > 0 {
			header := abi.DeliveryHeader{Connection: uint32(left.first), Listener: uint32(left.opened[0]) + 1}
			var ends []byte
			if len(left.ends) > 0 {
				local, _ := netip.ParseAddrPort(left.ends[0].Local)
				remote, _ := netip.ParseAddrPort(left.ends[0].Remote)
				if local.IsValid() && remote.IsValid() {
					ends = appendIP(appendIP(nil, local), remote)
				}
				left.ends = left.ends[1:]
			}
			at += deliver(sh, at, header, ends)
			left.first, left.opened = left.first+1, left.opened[1:]
			continue
		}
		if len(left.deliveries) == 0 {
			g := left.gates[0]
			for end, object := range []model.ObjectID{g.Passed, g.Next} {
				header := abi.DeliveryHeader{Connection: abi.GateObject, End: uint32(end),
					Listener: uint32(g.Conn) + 1}
				at += deliver(sh, at, header, binary.LittleEndian.AppendUint64(nil, uint64(object)))
			}
			sh.Exchange.Deliveries++
			left.gates = left.gates[1:]
			continue
		}
		d := &left.deliveries[0]
		data, end := d.Data[left.sent:], d.End
		if len(data) > room {
			data, end = data[:room], model.StillOpen
			left.sent += room
		} else {
			left.sent, left.deliveries = 0, left.deliveries[1:]
		}
		at += deliver(sh, at, abi.DeliveryHeader{Connection: uint32(d.Conn), End: uint32(end)}, data)
	}
	sh.Exchange.Length = uint32(at)
}

// deliver writes one delivery at an offset, and returns how many bytes it takes.
func deliver(sh *abi.Shared, at int, h abi.DeliveryHeader, data []byte) int {
	binary.LittleEndian.PutUint32(sh.Data[at:], h.Connection)
	binary.LittleEndian.PutUint32(sh.Data[at+4:], h.End)
	binary.LittleEndian.PutUint32(sh.Data[at+8:], uint32(len(data)))
	binary.LittleEndian.PutUint32(sh.Data[at+12:], h.Listener)
	copy(sh.Data[at+deliveryHeaderSize:], data)
	return deliveryHeaderSize + (len(data)+7)&^7
}
