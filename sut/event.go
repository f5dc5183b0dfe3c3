package sut

import (
	"fmt"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Event is one entry of a log.
type Event struct {
	Kind      EventKind
	Operation Operation
	Access    model.AccessKind // Accessed, Pending; Stepped: see SingleAccess
	// Accessed: the wait conditions that held before; Stepped, Pending: those needed.
	Ready uint8
	// Stepped: the alternative taken; Exchanged, Delivered: bytes; Pending: 1 if enabled; Left:
	// what is known of it; Accessed: the delta of a Commute.
	Number  uint32
	Choices uint32 // Stepped, Enabled, Pending: how many alternatives there were
	Subject uint64 // a goroutine, an object or a connection
	// Stepped, Pending: what it waited for (of a NetworkFault which could happen: see Fault);
	// Accessed: the counter before, if it has one; Exchanged, Delivered: a hash of the bytes.
	Object uint64
	Open   uint64 // Stepped, Accessed: program counter of the nearest call that is not sealed
	PC     uint64 // where the operation was called
}

// SingleAccess reports whether an event begins a transition that is its operation and nothing else,
// whatever was executed before: it makes one access, to the object that it makes it to now.
func (e *Event) SingleAccess() bool { return e.Kind == Stepped && e.Access == abi.StepSingleAccess }

// Forced reports whether an event is that the program ends, or time passes, though goroutines could
// go on, since they only look again and again.
func (e *Event) Forced() bool {
	if e.Kind == Ticked {
		return e.Tick() == TickForced || e.Number == abi.TickAskForced
	}
	return e.Kind == Stepped && e.Access == abi.StepForced
}

// EventKind says what an event tells.
type EventKind uint8

const (
	Stepped  EventKind = abi.RecordStep   // a transition of goroutine Subject begins
	Accessed EventKind = abi.RecordAccess // Subject is the object
	// Subject is the new goroutine, Object the entry of its function.
	Spawned EventKind = abi.RecordSpawn
	Woke    EventKind = abi.RecordWake // Subject was blocked
	// Subject is the time since the start, ns; Number: a TickKind.
	Ticked EventKind = abi.RecordTick
	// Subject could have been picked for the next transition.
	Enabled EventKind = abi.RecordEnabled
	// An input on connection Subject, or, if that is 1<<32 - 1, on none.
	Exchanged EventKind = abi.RecordExchange
	Delivered EventKind = abi.RecordDelivery // bytes arrived on connection Subject
	Ended     EventKind = abi.RecordEnd      // goroutine Subject is gone
	// Goroutine Subject was parked when the execution ended.
	Pending EventKind = abi.RecordPending
	// Subject: an object that the last step, partner or pending operation waited for.
	Needed EventKind = abi.RecordNeed
	// The step completes the operation of goroutine Subject, that was pending.
	Partnered EventKind = abi.RecordPartner
	// Subject: an object that the last partner or pending operation would have accessed.
	Intended EventKind = abi.RecordIntended
	// Goroutine Subject was left blocked at PC, or where it loops on timers.
	Left EventKind = abi.RecordLeft
	// The last step was the arrival of signal Subject, or of none.
	Signalled EventKind = abi.RecordSignal
	// An address that was dialled, or is served, or a part of it: see DialAt.
	Dialled EventKind = abi.RecordDial
	// The program says how near it is to a violation: see Estimate.
	Estimated EventKind = abi.RecordEstimate
)

// TickKind is how the clock came to advance.
type TickKind uint32

const (
	TickLast  TickKind = abi.TickLast  // nothing else could happen
	TickEarly TickKind = abi.TickEarly // it was picked; see Options
	// Goroutines could go on, but only went round in loops that wait.
	TickForced TickKind = abi.TickForced
	// No time has passed: what the network has held back arrives.
	TickLate   TickKind = abi.TickLate
	TickWithin TickKind = abi.TickWithin // time has passed for the peers, as a part of the step
)

// Free, in Event.Ready, tells that a lock was free, or that no readers were inside.
const Free = abi.ReadyFree

var outcomeNames = [...]string{
	"running", "completed", "deadlock", "panic", "exit", "assertion failed", "redundant", "step limit",
	"log limit", "diverged", "fatal error", "refused", "goroutine leak", "round limit", "data race",
	"limit", "livelock", "leaks not judged", "crash", "known state",
}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}

// decodeRecord turns a record of the shared memory into an event.
func decodeRecord(r *abi.Record, e *Event) {
	*e = Event{
		Kind: EventKind(r.Kind), Operation: Operation(r.Op), Access: model.AccessKind(r.Flag), Ready: r.Ready,
		Number: r.Number, Subject: r.A, Object: r.B, PC: r.PC, Open: r.Open,
	}
	switch r.Kind {
	case abi.RecordStep, abi.RecordPending, abi.RecordPartner:
		e.Number, e.Choices = r.Number&0xffff, r.Number>>16
	case abi.RecordEnabled:
		e.Number, e.Choices = 0, r.Number
	}
}

// decodeAccess is the access of a data race that a worker has written down.
func decodeAccess(m *abi.MemoryAccess) MemoryAccess {
	n := min(m.StackLength, uint64(len(m.Stack)))
	return MemoryAccess{
		Address: m.Address, Size: int(m.Size), Write: m.Kind&abi.MemoryWrite != 0,
		Atomic:    m.Kind&abi.MemoryAtomic != 0,
		Goroutine: m.Goroutine, Stack: append([]uint64(nil), m.Stack[:n]...), slot: m.Slot, clock: m.Clock,
	}
}

// encode is what a worker needs to know of an access to watch for it.
func (m *MemoryAccess) encode() abi.MemoryAccess {
	w := abi.MemoryAccess{Address: m.Address, Slot: m.slot, Clock: m.clock}
	if m.Write {
		w.Kind |= abi.MemoryWrite
	}
	if m.Atomic {
		w.Kind |= abi.MemoryAtomic
	}
	return w
}

// Estimate is, of an Estimated, what was said: less is nearer.
func (e *Event) Estimate() int64 { return int64(e.Subject) }

// Goroutine is what the event is about: who makes a step, is started, woken or picked, ends, is
// left, or has the operation that is pending or completed.
func (e *Event) Goroutine() model.GoroutineID { return model.GoroutineID(e.Subject) }

// Alternative is, of a Stepped, the alternative that was taken, from 0 on.
func (e *Event) Alternative() int { return int(e.Number) }

// Action is, of a Stepped, the choice that has it happen again.
func (e *Event) Action() model.Action {
	return model.Action{Goroutine: e.Goroutine(), Choice: e.Alternative()}
}

// Counter is, of an Accessed or Intended, what the counter of the object was before, if it has one.
func (e *Event) Counter() int32 { return int32(e.Object) }

// Delta is, of an Accessed, what a Commute adds to the counter.
func (e *Event) Delta() int32 { return int32(e.Number) }

// Self is, of a Needed, how often the goroutine counts itself among those that it waits for.
func (e *Event) Self() uint8 { return uint8(e.Number) }

// Bytes is, of an Exchanged or Delivered, how many there were.
func (e *Event) Bytes() int { return int(e.Number) }

// Tick is, of a Ticked, how the clock came to advance.
func (e *Event) Tick() TickKind { return TickKind(e.Number) }

// Time is, of a Ticked, the program's time since its start.
func (e *Event) Time() time.Duration { return time.Duration(e.Subject) }

// Signal is, of a Signalled, the one that has arrived; 0: none has.
func (e *Event) Signal() syscall.Signal { return syscall.Signal(e.Subject) }

// CanGoOn reports, of a Pending, whether the operation could have been performed.
func (e *Event) CanGoOn() bool { return e.Number != 0 }

// LoopsOnTimers reports, of a Left, whether the goroutine goes on whenever time passes, for ever,
// or, where that was not proven, has done so all the time after main.
func (e *Event) LoopsOnTimers() (loops, proven bool) {
	return e.Kind == Left && (e.Number == abi.LeftLoops || e.Number == abi.LeftLooping),
		e.Number == abi.LeftLoops
}

// Unjudged reports, of a Left, whether it is not known if the goroutine goes on some time.
func (e *Event) Unjudged() bool { return e.Kind == Left && e.Number == abi.LeftUnjudged }

// TicksWithin reports whether the clock has advanced in the middle of a transition.
func (e *Event) TicksWithin() bool {
	return e.Kind == Ticked && (e.Tick() == TickEarly || e.Tick() == TickWithin)
}

// AsksPeers reports whether time is to pass for the peers first: the clock stands still.
func (e *Event) AsksPeers() bool {
	return e.Kind == Ticked && (e.Number == abi.TickAsk || e.Number == abi.TickAskForced)
}
