package sut

import (
	"fmt"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Event is one entry of a log.
type Event struct {
	Kind      EventKind
	Operation Operation
	Access    model.AccessKind // Accessed, Pending; Stepped: see Settled
	// Accessed: the wait conditions that held before; Stepped, Pending: those needed.
	Ready uint8
	// Stepped: the alternative taken; Exchanged, Delivered: bytes; Pending: 1 if enabled; Left: 1
	// if it loops on timers; Accessed: the delta of a Commute.
	Number  uint32
	Choices uint32 // Stepped, Enabled, Pending: how many alternatives there were
	Subject uint64 // a goroutine, an object or a connection
	// Stepped, Pending: what it waited for (of a NetworkFault which could happen: see Fault);
	// Accessed: the counter before, if it has one; Exchanged, Delivered: a hash of the bytes.
	Object uint64
	Open   uint64 // Stepped, Accessed: program counter of the nearest call that is not sealed
	PC     uint64 // where the operation was called
}

// Settled reports whether an event begins a transition that is its operation and nothing else,
// whatever was executed before: it makes one access, to the object that it makes it to now.
func (e *Event) Settled() bool { return e.Kind == Stepped && e.Access == abi.StepSettled }

// Forced reports whether an event is that the program ends, or time passes, though goroutines could
// go on, since they only look again and again.
func (e *Event) Forced() bool {
	if e.Kind == Ticked {
		return e.Number == TickForced || e.Number == abi.TickAskForced
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
	Enabled   EventKind = abi.RecordEnabled
	Exchanged EventKind = abi.RecordExchange // an input on connection Subject
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
	// Leaked, Deadlock: goroutine Subject was left blocked at PC.
	Left EventKind = abi.RecordLeft
	// The last step was the arrival of signal Subject, or of none.
	Signalled EventKind = abi.RecordSignal
)

// How the clock came to advance.
const (
	TickLast   = abi.TickLast   // nothing else could happen
	TickEarly  = abi.TickEarly  // it was picked; see Options
	TickForced = abi.TickForced // goroutines could go on, but only went round in loops that wait
	TickLate   = abi.TickLate   // no time has passed: what the network has held back arrives
	TickWithin = abi.TickWithin // time has passed for the peers, as a part of the step
)

// Free, in Event.Ready, tells that a lock was free, or that no readers were inside.
const Free = abi.ReadyFree

// Operation is a visible operation.
type Operation uint8

// operationNames are for people; String is their only reader.
var operationNames = [abi.OpCount]string{
	abi.OpNone: "none", abi.OpStart: "start", abi.OpResume: "resume", abi.OpSend: "send on channel",
	abi.OpReceive: "receive from channel",
	abi.OpClose:   "close channel", abi.OpLength: "length of channel", abi.OpSelect: "select",
	abi.OpLock: "lock", abi.OpTryLock: "try to lock", abi.OpUnlock: "unlock",
	abi.OpReadLock: "lock for reading", abi.OpReadUnlock: "unlock for reading",
	abi.OpWriteLock:   "lock for writing",
	abi.OpWriteUnlock: "unlock for writing", abi.OpWriteWait: "wait for the readers of",
	abi.OpTryReadLock:  "try to lock for reading",
	abi.OpTryWriteLock: "try to lock for writing", abi.OpAdd: "add to", abi.OpWait: "wait for",
	abi.OpReused:   "return late from",
	abi.OpCondWait: "await", abi.OpCondSignal: "signal", abi.OpOnce: "do", abi.OpLoad: "atomic load",
	abi.OpStore: "atomic store", abi.OpUpdate: "atomic update", abi.OpYield: "yield", abi.OpMapRead: "read",
	abi.OpMapWrite: "write", abi.OpChoose: "choose", abi.OpCollect: "collect garbage",
	abi.OpWeak: "look at weak pointer", abi.OpConnect: "connect", abi.OpSocketWrite: "write to connection",
	abi.OpSocketRead: "read from connection", abi.OpSocketShutdown: "shut down connection",
	abi.OpSocketClose: "close",
	abi.OpPollWait:    "wait for connection", abi.OpExit: "exit", abi.OpTick: "clock",
	abi.OpTimer:   "stop or reset timer",
	abi.OpAdvance: "clock", abi.OpReadClock: "read the clock", abi.OpSetTimer: "set timer",
	abi.OpFileRead: "read", abi.OpFileWrite: "change", abi.OpFileLock: "lock",
	abi.OpFileShare: "lock for reading",
	abi.OpAccept:    "accept connection", abi.OpBufferWrite: "write to connection",
	abi.OpPollWrite: "wait for room in connection",
	abi.OpSocketTry: "try connection", abi.OpBind: "bind or listen",
	abi.OpDeadline: "set deadline of connection", abi.OpSendTo: "send datagram",
	abi.OpShort: "choose how much to read or write", abi.OpDescriptorUse: "use connection",
	abi.OpDescriptorClose: "close", abi.OpFault: "network", abi.OpPeerTimer: "timers of the peers",
	abi.OpPass: "time passes for the peers", abi.OpGoOn: "go on",
	abi.OpSignalSend: "send signal", abi.OpSignalSet: "set what signals do",
	abi.OpSignalReceive: "wait for signals", abi.OpSignalArrive: "arrival of a signal",
}

func (o Operation) String() string {
	if int(o) < len(operationNames) {
		return operationNames[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

var outcomeNames = [...]string{
	"running", "completed", "deadlock", "panic", "exit", "assertion failed", "redundant", "step limit",
	"log limit", "diverged", "fatal error", "refused", "goroutine leak", "round limit", "data race",
	"limit", "livelock",
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

// The operations.
const (
	Begin          Operation = abi.OpStart
	Resume         Operation = abi.OpResume // goes on after having been blocked
	ChannelSend    Operation = abi.OpSend
	ChannelReceive Operation = abi.OpReceive
	ChannelClose   Operation = abi.OpClose
	ChannelLength  Operation = abi.OpLength
	Select         Operation = abi.OpSelect
	Lock           Operation = abi.OpLock
	TryLock        Operation = abi.OpTryLock
	Unlock         Operation = abi.OpUnlock
	ReadLock       Operation = abi.OpReadLock
	ReadUnlock     Operation = abi.OpReadUnlock
	WriteLock      Operation = abi.OpWriteLock
	WriteUnlock    Operation = abi.OpWriteUnlock
	WriteWait      Operation = abi.OpWriteWait // a writer waits for the readers to leave
	TryReadLock    Operation = abi.OpTryReadLock
	TryWriteLock   Operation = abi.OpTryWriteLock
	Add            Operation = abi.OpAdd
	Wait           Operation = abi.OpWait
	Reused         Operation = abi.OpReused // Wait, after an Add that should have come later
	CondWait       Operation = abi.OpCondWait
	CondSignal     Operation = abi.OpCondSignal
	Once           Operation = abi.OpOnce
	AtomicLoad     Operation = abi.OpLoad
	AtomicStore    Operation = abi.OpStore
	AtomicUpdate   Operation = abi.OpUpdate
	Yield          Operation = abi.OpYield
	MapRead        Operation = abi.OpMapRead
	MapWrite       Operation = abi.OpMapWrite
	Choose         Operation = abi.OpChoose
	Collect        Operation = abi.OpCollect
	Weak           Operation = abi.OpWeak
	SocketConnect  Operation = abi.OpConnect
	SocketBind     Operation = abi.OpBind // or listen
	NetworkFault   Operation = abi.OpFault
	// Whether their time passes before the program's clock advances: 0 is no.
	PeerTimer      Operation = abi.OpPeerTimer
	TimePasses     Operation = abi.OpPass
	SocketWrite    Operation = abi.OpSocketWrite
	SocketRead     Operation = abi.OpSocketRead
	SocketShutdown Operation = abi.OpSocketShutdown
	SocketClose    Operation = abi.OpSocketClose
	PollWait       Operation = abi.OpPollWait
	Exit           Operation = abi.OpExit // returning from main, or os.Exit(0)
	Tick           Operation = abi.OpTick
	Timer          Operation = abi.OpTimer
	Advance        Operation = abi.OpAdvance // the clock, although goroutines could go on
	ReadClock      Operation = abi.OpReadClock
	SetTimer       Operation = abi.OpSetTimer
	FileRead       Operation = abi.OpFileRead // looks at a file, a directory or what is open
	FileWrite      Operation = abi.OpFileWrite
	FileLock       Operation = abi.OpFileLock  // flock, exclusive
	FileShare      Operation = abi.OpFileShare // flock, shared
	SignalSend     Operation = abi.OpSignalSend
	SignalSet      Operation = abi.OpSignalSet
	SignalReceive  Operation = abi.OpSignalReceive
	SignalArrive   Operation = abi.OpSignalArrive // or not, as the last alternative
)

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

// TicksWithin reports whether the clock has advanced in the middle of a transition.
func (e *Event) TicksWithin() bool {
	return e.Kind == Ticked && (e.Number == TickEarly || e.Number == TickWithin)
}

// AsksPeers reports whether time is to pass for the peers first: the clock stands still.
func (e *Event) AsksPeers() bool {
	return e.Kind == Ticked && (e.Number == abi.TickAsk || e.Number == abi.TickAskForced)
}
