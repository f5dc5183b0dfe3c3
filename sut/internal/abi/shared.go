// Package abi is the binary interface between the checker and the programs that it controls: the
// memory that both map, and the bytes that they exchange through two pipes.
//
// The files shared.go, wire.go, guide.go, environment.go, detail.go, place.go and ondisk.go are
// compiled three times: here, for the checker, and into packages runtime and syscall of the patched
// distribution, where all names begin with a small letter (see package overlay). They must import
// nothing and hold plain data only.
package abi

// Limits of one execution. A worker that reaches one ends the execution with
// the outcome that names it; nothing is cut off silently.
const (
	MaxPrefix        = 1 << 20 // actions that a schedule prescribes
	MaxSleepers      = 1 << 16 // members of a sleep set
	MaxSleepAccesses = 1 << 22 // accesses of all sleepers together
	MaxRecords       = 1 << 23 // records of one log
	EndRecords       = 1 << 16 // of them, kept for what the end of an execution has to say
	MaxDetails       = 1 << 16 // of one execution; further ones are left out
	MaxRegions       = 1 << 12 // runs of pages that a snapshot holds
	MaxMappings      = 1 << 8  // mappings made during one execution
	ExchangeBytes    = 1 << 18 // bytes that one exchange can carry
	MessageBytes     = 1 << 10 // a refusal or a failed assertion, in words
	OutputBytes      = 1 << 20 // that an execution prints to one of stdout and stderr, and is kept
	CrashOutputBytes = 1 << 16 // likewise that the runtime prints at its end, and outputNotice
	HostnameBytes    = 64
	MaxSignals       = 16      // kinds of signals that can arrive
	HostsBytes       = 1 << 14 // of names that can be looked up
)

// OutputNotice takes the place of what is printed beyond outputBytes.
const OutputNotice = "\n[tandem: an execution's output is kept up to 1 MiB; what the program printed " +
	"after this is not]\n"

// Descriptors of a worker process.
const (
	SharedFD  = 3 // the shared memory
	CommandFD = 4 // checker to worker, a byte a command
	AnswerFD  = 5 // worker to checker, a byte an answer
)

// Commands and answers that go through the two pipes.
const (
	CommandRun     = 'r' // run one execution
	CommandCopy    = 'c' // set aside the pages in the region table: take the snapshot
	CommandPutBack = 'b' // put back the pages in the region table
	CommandReply   = 'x' // the answer to an exchange is in place
	CommandQuit    = 'q'
	AnswerReady    = 'k' // ready for the next command
	AnswerEnd      = 'e' // an execution has ended; all is as it was before it
	AnswerRequest  = 'x' // an exchange is requested
)

// TurnLength is how many transitions in a row a goroutine has before the others get their
// turn, beyond the end of the schedule.
const TurnLength = 256

// ChoiceGoOn is the choice of a lenient schedule that has a goroutine go on for as long
// as it can.
const ChoiceGoOn = 1<<32 - 1

// SharedAction is one prescribed step: a goroutine and which of its alternatives.
type SharedAction struct {
	Goroutine uint64
	Choice    uint32
	_         uint32
}

// SharedSleeper is an action that must not be taken until a transition that
// depends on its accesses has been.
type SharedSleeper struct {
	Goroutine uint64
	Choice    uint32
	First     uint32 // its accesses are sleepAccess[first : first+count]
	Count     uint32
	Awake     uint32
}

// SharedWeight is mantissa x 2^exponent: the product of the numbers of alternatives
// among which was picked uniformly, rounded down to 32 bits of precision.
type SharedWeight struct {
	Mantissa uint64
	Exponent uint32
	_        uint32
}

// SharedAccess is an access of a sleeper.
type SharedAccess struct {
	Object uint64
	Kind   uint32
	Delta  int32
}

// Kinds of records.
const (
	// A transition begins: a goroutine; b, ready its need; number choice | choices<<16, flag
	// stepSingleAccess.
	RecordStep = 1 + iota
	// A object, flag access kind, ready the wait conditions that held before, number delta, b
	// counter before.
	RecordAccess
	RecordSpawn    // a the new goroutine, b entry of its function
	RecordWake     // a the goroutine that was blocked
	RecordTick     // a the new time
	RecordEnabled  // a goroutine, number its alternatives: could have been picked for the next step
	RecordExchange // a connection, b hash of what was sent, number its length
	RecordDelivery // a connection, b hash of what arrived, number its length
	RecordEnd      // a the goroutine that ended
	// A goroutine, b object, ready need, flag access kind, number enabled | choices<<16.
	RecordPending
	// Of the last step, partner or pending operation: a object, ready what it waits for there,
	// number how often it counts itself.
	RecordNeed
	// The step completes an operation that was pending: as recordPending, open as recordStep.
	RecordPartner
	RecordIntended // of the last partner or pending operation: an access that it would have made
	// A goroutine that is left blocked when the program ends, or, not at a point, in a deadlock.
	RecordLeft
	RecordSignal // a the signal that arrives, 0 for none
	// An address that was dialled, or is served: ready its network and flags, number port |
	// errno<<16, a and b the IP address; or, of a name, number its length | errno<<16, a and b 16
	// bytes of it. Open what those that are to accept wait for.
	RecordDial
	RecordEstimate // a what the program says of how near it is to a violation, the last of the step
	RecordKinds
)

// What a recordDial has beside its network.
const (
	DialName    = NetworkCount // in place of a network: a name that was looked up
	DialNetwork = 7            // the bits of the network
	// Dialled: the program serves the address, or has done so. Served: the program has chosen it.
	DialOwn    = 1 << 3
	DialServes = 1 << 4 // it is not dialled, but served
	DialMore   = 1 << 5 // the name goes on
)

// Flags of a transition.
const (
	StepSingleAccess = 1 // it is one operation, which accesses one object, wherever it is executed
	// The program ends though goroutines can go on, since they only look again and again.
	StepForced = 2
)

// Record is one entry of the log of an execution.
type Record struct {
	Kind   uint8
	Op     uint8
	Flag   uint8
	Ready  uint8
	Number uint32
	A      uint64
	B      uint64
	PC     uint64 // where the operation was called
	Open   uint64 // the nearest call around it in a package that is not sealed
}

// Operations at which a goroutine can be scheduled.
const (
	OpNone = iota
	OpStart
	OpResume
	OpSend
	OpReceive
	OpClose
	OpLength // of a channel
	OpSelect
	OpLock
	OpTryLock
	OpUnlock
	OpReadLock
	OpReadUnlock
	OpWriteLock
	OpWriteUnlock
	OpWriteWait    // a writer that has announced itself waits for the readers to leave
	OpTryReadLock  // one look at the readers, and entering if there is no writer
	OpTryWriteLock // the same for a writer
	OpAdd
	OpWait
	OpReused // a wait group: its Wait has been overtaken by an Add, and panics
	OpCondWait
	OpCondSignal
	OpOnce
	OpLoad
	OpStore
	OpUpdate
	OpYield
	OpMapRead
	OpMapWrite
	OpChoose
	OpCollect // garbage
	OpWeak    // a weak pointer is looked at
	OpConnect
	OpSocketWrite
	OpSocketRead
	OpSocketShutdown
	OpSocketClose
	OpPollWait
	OpExit
	OpTick
	OpTimer
	OpAdvance   // the clock, early
	OpReadClock // time.Now, and starting a timer
	OpSetTimer
	OpFileRead
	OpFileWrite
	OpFileSync
	OpFileLock
	OpFileShare
	OpSignalSend
	OpSignalSet
	OpSignalReceive
	OpSignalArrive
	// From here to opDescriptorClose, and from opConnect to opPollWait: on sockets and pipes.
	OpAccept
	OpBufferWrite // to what has bounded room
	OpPollWrite
	OpSocketTry // a read or write that does not wait
	OpBind
	OpDeadline
	OpSendTo // a datagram
	OpShort  // a choice: as much as can be read or written, or one byte
	OpDescriptorUse
	OpDescriptorClose
	OpFault     // a choice: what goes wrong with a connection to a peer
	OpPeerTimer // a choice: whether the peers' time passes before the program's
	OpPass      // it passes until a timer of theirs is due
	OpPublish   // a value, for properties of several programs
	OpState     // tandem.State: what follows depends on what it names
	OpGoOn      // nothing: what follows is no part of the transition before
	OpCount
)

// Access kinds, as in package explore.
const (
	AccessRead = iota
	AccessWrite
	AccessCommute
)

// How the clock came to advance, as the number of a recordTick.
const (
	TickLast   = iota // nothing else could happen
	TickEarly         // it was picked: a part of its step
	TickForced        // goroutines could go on, but only went round in loops that wait
	TickLate          // no time has passed: what the network has held back arrives
	TickWithin        // time has passed for the peers: a part of the step
	TickAsk           // nothing else could happen, and time is to pass for the peers
	// Goroutines could go on, but only went round in loops that wait; else likewise.
	TickAskForced
)

// Bits of needs and ready masks.
const (
	ReadyFree = 1 << 0 // mutex free, counter zero, no readers inside, socket readable
	// A reader may enter: no writer has announced itself; there is room to write.
	ReadyReader  = 1 << 1
	ReadySend    = 1 << 2 // channel has room, or is closed
	ReadyReceive = 1 << 3 // channel has something to receive, or is closed
	ReadyPartner = 1 << 4 // somebody waits to be the partner
	ReadyCounts  = 1 << 5 // no condition: the object counts goroutines that wait
)

// Outcomes of an execution, as a worker knows them.
const (
	OutcomeRunning = iota
	OutcomeCompleted
	OutcomeDeadlock
	OutcomePanic
	OutcomeExit
	OutcomeAssert
	OutcomeRedundant
	OutcomeSteps
	OutcomeLogFull
	OutcomeDiverged
	OutcomeFatal
	OutcomeRefused
	OutcomeLeaked
	OutcomeRounds
	OutcomeRace
	OutcomeLimit // the message says which
	OutcomeLivelock
	OutcomeUnjudged // it ended well; whether it left goroutines blocked for ever is not known
	OutcomeCrashed  // an answer said so
	OutcomeKnown    // it has come to a state that is known: an answer said so
)

const MemoryWrite, MemoryAtomic = 1 << 0, 1 << 1 // bits of a memory access

// What an atomic operation did.
const (
	AtomicLoad   = 0
	AtomicStore  = MemoryWrite
	AtomicUpdate = MemoryWrite | 1<<1 // a load and a store
)

// MemoryAccess is one of the accesses of a data race. Slot and clock tell it
// apart from all others of its kind to its address, in every execution with the
// same schedule.
type MemoryAccess struct {
	Address     uint64
	Goroutine   uint64
	Size        uint32 // bytes; 0: those of a variable of a basic type
	Kind        uint32
	Slot        uint32
	Clock       uint32
	StackLength uint64
	Stack       [64]uint64
}

// Objects that are not addresses.
const (
	GroupObject  = uint64(1) << 63       // the peer group as a whole
	SocketObject = uint64(1)<<63 | 1<<62 // | the name of a connection
	// | the name of a file, of an entry of a directory, or of what is open.
	FileObject      = uint64(1) << 62
	SignalObject    = uint64(1) << 61  // the signals that the program gets
	PublishedObject = SignalObject + 1 // all that the program publishes
	// Everything that a transition can depend on: what names the state writes it, all others read
	// it. So they are in one order in all equivalent executions.
	StateObject     = SignalObject + 2
	SignalSource    = 0x7369676e616c73 // the goroutine that stands for their senders
	PeerTimerSource = 0x74696d657273   // the goroutine that stands for the timers of the peers
	// The goroutine that stands for a network which delivers late.
	NetworkSource = 0x6e6574776f726b
	// The goroutine that has time pass for the peers where nothing else can happen.
	PeerTimeSource = 0x74696d65
	ClockGoroutine = uint64(2) // where the clock advances early, it counts as a goroutine
)

// How a delivery ended the connection's inbound stream.
const (
	EndNone = iota
	EndOfStream
	EndReset
)

// Shared is the memory that the checker and one worker share.
type Shared struct {
	// Set by the checker before an execution.
	PrefixLength  uint32
	SleepFrom     uint32 // the prefix position from which the sleepers count
	SleepLength   uint32
	WantEnabled   uint32
	WantLeaks     uint32
	Lenient       uint32 // what the prefix asks for and cannot be done is passed over
	Tentative     uint32 // the prefix ends before what cannot be done from sleepFrom on
	Peers         uint32 // somebody answers for connections that leave the program
	RecordLimit   uint32
	OnlyEnd       uint32
	StepLimit     uint32
	RoundLimit    uint32 // of a loop that waits; 0: none
	Guide         SharedGuide
	Details       SharedDetails
	Backup        uint64 // where the worker has mapped the area for saved pages
	BackupBytes   uint64
	OwnCode       uint64 // the worker is to have code and constants of its own; before it starts
	Taken         uint64 // the snapshot has been
	Regions       uint64
	Region        [MaxRegions]Region
	Prefix        [MaxPrefix]SharedAction
	Sleeper       [MaxSleepers]SharedSleeper
	SleepAccesses [MaxSleepAccesses]SharedAccess

	Environment SharedEnvironment // before the worker starts

	// Set by the worker.
	Context       [4]uint64 // stack, frame and program counter of the snapshot
	Mappings      uint64
	Mapping       [MaxMappings]Region
	Faults        uint64 // minor faults of the process so far
	Outcome       uint32
	ExitCode      int32
	Steps         uint32
	Position      uint32 // where the schedule could not be followed
	Weight        SharedWeight
	Points        SharedPoints
	Now           int64
	Records       uint32
	MessageLength uint32
	Message       [MessageBytes]byte
	Stack         [32]uint64 // where it was refused
	StackLength   uint64
	RaceEarlier   MemoryAccess // stack only if details.raceWatch is set
	RaceLater     MemoryAccess

	// An exchange.
	Exchange ExchangeHeader
	Data     [ExchangeBytes]byte

	Places SharedPlaces

	Record [MaxRecords]Record
}

// SocketQueue is what the scheduler sees of one direction of a connection, of a
// socket's datagrams, or of the connections that a listener may accept.
type SocketQueue struct {
	Object   uint64 // its name in the log
	Readable bool
	// A peer has answered or connected, and who notices first would have waited for it.
	Awaited        bool
	Room           int32 // bytes, or more than can ever be wanted
	Want           int32 // room that the write which waits needs
	Reader, Writer int32 // descriptors of its two ends, whose deadlines count; 0: none
	// Objects that decide how much has arrived, see GateObject; 0: none.
	Gates [2]uint64
}

// Region is a run of pages and where its saved copy is.
type Region struct {
	Address uint64
	Length  uint64
	Saved   uint64 // 0: the pages were zero when the snapshot was taken
}
