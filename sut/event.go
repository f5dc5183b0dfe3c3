package sut

import "fmt"

// Event is one entry of a log.
type Event struct {
	Kind      EventKind
	Operation Operation
	Access    AccessKind // Accessed, Pending; Stepped: see Settled
	Ready     uint8      // Accessed: the wait conditions that held before; Stepped, Pending: those needed
	Number    uint32     // Stepped: the alternative taken; Exchanged, Delivered: bytes; Pending: 1 if enabled; Left: 1 if it loops on timers; Accessed: the delta of a Commute
	Choices   uint32     // Stepped, Enabled, Pending: how many alternatives there were
	Subject   uint64     // a goroutine, an object or a connection
	Object    uint64     // Stepped, Pending: what it waited for (of a NetworkFault which could happen: see Fault); Accessed: the counter before, if it has one; Exchanged, Delivered: a hash of the bytes
	Open      uint64     // Stepped, Accessed: program counter of the nearest call that is not sealed
	PC        uint64     // where the operation was called
}

// Settled reports whether an event begins a transition that is its operation and nothing else, whatever was executed before: it makes
// one access, to the object that it makes it to now.
func (e *Event) Settled() bool { return e.Kind == Stepped && e.Access == stepSettled }

// Forced reports whether an event is that the program ends, or time passes, though goroutines could go on, since they only look
// again and again.
func (e *Event) Forced() bool {
	if e.Kind == Ticked {
		return e.Number == TickForced || e.Number == tickAskForced
	}
	return e.Kind == Stepped && e.Access == stepForced
}

// EventKind says what an event tells.
type EventKind uint8

const (
	Stepped   EventKind = recordStep     // a transition of goroutine Subject begins
	Accessed  EventKind = recordAccess   // Subject is the object
	Spawned   EventKind = recordSpawn    // Subject is the new goroutine, Object the entry of its function
	Woke      EventKind = recordWake     // Subject was blocked
	Ticked    EventKind = recordTick     // Subject is the time since the start, ns; Number: a TickKind
	Enabled   EventKind = recordEnabled  // Subject could have been picked for the next transition
	Exchanged EventKind = recordExchange // an input on connection Subject
	Delivered EventKind = recordDelivery // bytes arrived on connection Subject
	Ended     EventKind = recordEnd      // goroutine Subject is gone
	Pending   EventKind = recordPending  // goroutine Subject was parked when the execution ended
	Needed    EventKind = recordNeed     // Subject: an object that the last step, partner or pending operation waited for
	Partnered EventKind = recordPartner  // the step completes the operation of goroutine Subject, that was pending
	Intended  EventKind = recordIntended // Subject: an object that the last partner or pending operation would have accessed
	Left      EventKind = recordLeft     // Leaked, Deadlock: goroutine Subject was left blocked at PC
	Signalled EventKind = recordSignal   // the last step was the arrival of signal Subject, or of none
)

// How the clock came to advance.
const (
	TickLast   = tickLast   // nothing else could happen
	TickEarly  = tickEarly  // it was picked; see Options
	TickForced = tickForced // goroutines could go on, but only went round in loops that wait
	TickLate   = tickLate   // no time has passed: what the network has held back arrives
	TickWithin = tickWithin // time has passed for the peers, as a part of the step
)

// Free, in Event.Ready, tells that a lock was free, or that no readers were inside.
const Free = readyFree

// Operation is a visible operation.
type Operation uint8

// operationNames are for people; String is their only reader.
var operationNames = [opCount]string{
	opNone: "none", opStart: "start", opResume: "resume", opSend: "send on channel", opReceive: "receive from channel",
	opClose: "close channel", opLength: "length of channel", opSelect: "select", opLock: "lock", opTryLock: "try to lock", opUnlock: "unlock",
	opReadLock: "lock for reading", opReadUnlock: "unlock for reading", opWriteLock: "lock for writing",
	opWriteUnlock: "unlock for writing", opWriteWait: "wait for the readers of", opTryReadLock: "try to lock for reading",
	opTryWriteLock: "try to lock for writing", opAdd: "add to", opWait: "wait for", opReused: "return late from",
	opCondWait: "await", opCondSignal: "signal", opOnce: "do", opLoad: "atomic load",
	opStore: "atomic store", opUpdate: "atomic update", opYield: "yield", opMapRead: "read",
	opMapWrite: "write", opChoose: "choose", opCollect: "collect garbage", opWeak: "look at weak pointer", opConnect: "connect", opSocketWrite: "write to connection",
	opSocketRead: "read from connection", opSocketShutdown: "shut down connection", opSocketClose: "close",
	opPollWait: "wait for connection", opExit: "exit", opTick: "clock", opTimer: "stop or reset timer",
	opAdvance: "clock", opReadClock: "read the clock", opSetTimer: "set timer",
	opFileRead: "read", opFileWrite: "change", opFileLock: "lock", opFileShare: "lock for reading",
	opAccept: "accept connection", opBufferWrite: "write to connection", opPollWrite: "wait for room in connection",
	opSocketTry: "try connection", opBind: "bind or listen", opDeadline: "set deadline of connection", opSendTo: "send datagram", opShort: "choose how much to read or write", opDescriptorUse: "use connection",
	opDescriptorClose: "close", opFault: "network", opPeerTimer: "timers of the peers", opPass: "time passes for the peers", opGoOn: "go on",
	opSignalSend: "send signal", opSignalSet: "set what signals do", opSignalReceive: "wait for signals", opSignalArrive: "arrival of a signal",
}

func (o Operation) String() string {
	if int(o) < len(operationNames) {
		return operationNames[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

var outcomeNames = [...]string{
	"running", "completed", "deadlock", "panic", "exit", "assertion failed", "redundant", "step limit",
	"log limit", "diverged", "fatal error", "refused", "goroutine leak", "round limit", "data race", "limit", "livelock",
}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}

// decode turns a record of the shared memory into an event.
func (r *record) decode(e *Event) {
	*e = Event{
		Kind: EventKind(r.kind), Operation: Operation(r.op), Access: AccessKind(r.flag), Ready: r.ready,
		Number: r.number, Subject: r.a, Object: r.b, PC: r.pc, Open: r.open,
	}
	switch r.kind {
	case recordStep, recordPending, recordPartner:
		e.Number, e.Choices = r.number&0xffff, r.number>>16
	case recordEnabled:
		e.Number, e.Choices = 0, r.number
	}
}

// The operations.
const (
	Begin          Operation = opStart
	Resume         Operation = opResume // goes on after having been blocked
	ChannelSend    Operation = opSend
	ChannelReceive Operation = opReceive
	ChannelClose   Operation = opClose
	ChannelLength  Operation = opLength
	Select         Operation = opSelect
	Lock           Operation = opLock
	TryLock        Operation = opTryLock
	Unlock         Operation = opUnlock
	ReadLock       Operation = opReadLock
	ReadUnlock     Operation = opReadUnlock
	WriteLock      Operation = opWriteLock
	WriteUnlock    Operation = opWriteUnlock
	WriteWait      Operation = opWriteWait // a writer waits for the readers to leave
	TryReadLock    Operation = opTryReadLock
	TryWriteLock   Operation = opTryWriteLock
	Add            Operation = opAdd
	Wait           Operation = opWait
	Reused         Operation = opReused // Wait, after an Add that should have come later
	CondWait       Operation = opCondWait
	CondSignal     Operation = opCondSignal
	Once           Operation = opOnce
	AtomicLoad     Operation = opLoad
	AtomicStore    Operation = opStore
	AtomicUpdate   Operation = opUpdate
	Yield          Operation = opYield
	MapRead        Operation = opMapRead
	MapWrite       Operation = opMapWrite
	Choose         Operation = opChoose
	Collect        Operation = opCollect
	Weak           Operation = opWeak
	SocketConnect  Operation = opConnect
	SocketBind     Operation = opBind // or listen
	NetworkFault   Operation = opFault
	PeerTimer      Operation = opPeerTimer // whether their time passes before the program's clock advances: 0 is no
	TimePasses     Operation = opPass
	SocketWrite    Operation = opSocketWrite
	SocketRead     Operation = opSocketRead
	SocketShutdown Operation = opSocketShutdown
	SocketClose    Operation = opSocketClose
	PollWait       Operation = opPollWait
	Exit           Operation = opExit // returning from main, or os.Exit(0)
	Tick           Operation = opTick
	Timer          Operation = opTimer
	Advance        Operation = opAdvance // the clock, although goroutines could go on
	ReadClock      Operation = opReadClock
	SetTimer       Operation = opSetTimer
	FileRead       Operation = opFileRead // looks at a file, a directory or what is open
	FileWrite      Operation = opFileWrite
	FileLock       Operation = opFileLock  // flock, exclusive
	FileShare      Operation = opFileShare // flock, shared
	SignalSend     Operation = opSignalSend
	SignalSet      Operation = opSignalSet
	SignalReceive  Operation = opSignalReceive
	SignalArrive   Operation = opSignalArrive // or not, as the last alternative
)

func (m *memoryAccess) decode() MemoryAccess {
	n := min(m.stackLength, uint64(len(m.stack)))
	return MemoryAccess{
		Address: m.address, Size: int(m.size), Write: m.kind&memoryWrite != 0, Atomic: m.kind&memoryAtomic != 0,
		Goroutine: m.goroutine, Stack: append([]uint64(nil), m.stack[:n]...), slot: m.slot, clock: m.clock,
	}
}

// encode is what a worker needs to know of an access to watch for it.
func (m *MemoryAccess) encode() memoryAccess {
	w := memoryAccess{address: m.Address, slot: m.slot, clock: m.clock}
	if m.Write {
		w.kind |= memoryWrite
	}
	if m.Atomic {
		w.kind |= memoryAtomic
	}
	return w
}

// TicksWithin reports whether the clock has advanced in the middle of a transition.
func (e *Event) TicksWithin() bool {
	return e.Kind == Ticked && (e.Number == TickEarly || e.Number == TickWithin)
}

// AsksPeers reports whether time is to pass for the peers first: the clock stands still.
func (e *Event) AsksPeers() bool {
	return e.Kind == Ticked && (e.Number == tickAsk || e.Number == tickAskForced)
}
