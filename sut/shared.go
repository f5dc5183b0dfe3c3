package sut

// This file is compiled three times: here, for the checker, and, with another
// package clause, into packages runtime and syscall of the patched toolchain,
// for the worker. It is the one description of the memory that both of them
// map. It must therefore import nothing and hold plain data only.

// Limits of one execution. A worker that reaches one ends the execution with
// the outcome that names it; nothing is cut off silently.
const (
	maxPrefix        = 1 << 20 // actions that a schedule prescribes
	maxSleepers      = 1 << 16 // members of a sleep set
	maxSleepAccesses = 1 << 22 // accesses of all sleepers together
	maxRecords       = 1 << 23 // records of one log
	endRecords       = 1 << 16 // of them, kept for what the end of an execution has to say
	maxRegions       = 1 << 12 // runs of pages that a snapshot holds
	maxMappings      = 1 << 8  // mappings made during one execution
	exchangeBytes    = 1 << 18 // bytes that one exchange can carry
	messageBytes     = 1 << 10 // a refusal or a failed assertion, in words
	outputBytes      = 1 << 20 // that an execution prints to one of stdout and stderr, and is kept
	lastWordsBytes   = 1 << 16 // likewise that the runtime prints at its end, and outputNotice
	hostnameBytes    = 64
	maxSignals       = 16      // kinds of signals that can arrive
	hostsBytes       = 1 << 14 // of names that can be looked up
	maxChanges       = 1 << 6  // transitions at which priorities change
	maxRare          = 1 << 8  // rare events of a schedule
)

// outputNotice takes the place of what is printed beyond outputBytes.
const outputNotice = "\n[tandem: an execution's output is kept up to 1 MiB; what the program printed after this is not]\n"

// Descriptors of a worker process.
const (
	sharedFD  = 3 // the shared memory
	commandFD = 4 // checker to worker, a byte a command
	answerFD  = 5 // worker to checker, a byte an answer
)

// Commands and answers that go through the two pipes.
const (
	commandRun     = 'r' // run one execution
	commandCopy    = 'c' // set aside the pages in the region table: take the snapshot
	commandPutBack = 'b' // put back the pages in the region table
	commandReply   = 'x' // the answer to an exchange is in place
	commandQuit    = 'q'
	answerReady    = 'k' // ready for the next command
	answerEnd      = 'e' // an execution has ended; all is as it was before it
	answerRequest  = 'x' // an exchange is requested
)

// turnLength is how many transitions in a row a goroutine has before the others get their
// turn, beyond the end of the schedule.
const turnLength = 256

// choiceGoOn is the choice of a lenient schedule that has a goroutine go on for as long
// as it can.
const choiceGoOn = 1<<32 - 1

// sharedAction is one prescribed step: a goroutine and which of its alternatives.
type sharedAction struct {
	goroutine uint64
	choice    uint32
	_         uint32
}

// sharedSleeper is an action that must not be taken until a transition that
// depends on its accesses has been.
type sharedSleeper struct {
	goroutine uint64
	choice    uint32
	first     uint32 // its accesses are sleepAccess[first : first+count]
	count     uint32
	awake     uint32
}

// sharedWeight is mantissa x 2^exponent: the product of the numbers of alternatives
// among which was picked uniformly, rounded down to 32 bits of precision.
type sharedWeight struct {
	mantissa uint64
	exponent uint32
	_        uint32
}

// sharedRare has a rare event happen at a point; those of each kind are counted from 1.
type sharedRare struct {
	kind uint32
	at   uint32
}

// Kinds of rare events.
const (
	rareFault = iota // of the network
	rareShortRead
	rareShortWrite
	rareEarlyTimer
	rareSignal
	rareKinds
)

type sharedAccess struct {
	object uint64
	kind   uint32
	delta  int32
}

// Kinds of records.
const (
	recordStep     = 1 + iota // a transition begins: a goroutine; b, ready its need; number choice | choices<<16, flag stepSettled
	recordAccess              // a object, flag access kind, ready the wait conditions that held before, number delta, b counter before
	recordSpawn               // a the new goroutine, b entry of its function
	recordWake                // a the goroutine that was blocked
	recordTick                // a the new time
	recordEnabled             // a goroutine, number its alternatives: could have been picked for the next step
	recordExchange            // a connection, b hash of what was sent, number its length
	recordDelivery            // a connection, b hash of what arrived, number its length
	recordEnd                 // a the goroutine that ended
	recordPending             // a goroutine, b object, ready need, flag access kind, number enabled | choices<<16
	recordNeed                // of the last step, partner or pending operation: a object, ready what it waits for there, number how often it counts itself
	recordPartner             // the step completes an operation that was pending: as recordPending, open as recordStep
	recordIntended            // of the last partner or pending operation: an access that it would have made
	recordLeft                // a goroutine that is left blocked when the program ends, or, not at a point, in a deadlock
	recordSignal              // a the signal that arrives, 0 for none
	recordKinds
)

// Flags of a transition.
const (
	stepSettled = 1 // it is one operation, which accesses one object, wherever it is executed
	stepForced  = 2 // the program ends though goroutines can go on, since they only look again and again
)

// record is one entry of the log of an execution.
type record struct {
	kind   uint8
	op     uint8
	flag   uint8
	ready  uint8
	number uint32
	a      uint64
	b      uint64
	pc     uint64 // where the operation was called
	open   uint64 // the nearest call around it in a package that is not sealed
}

// Operations at which a goroutine can be scheduled.
const (
	opNone = iota
	opStart
	opResume
	opSend
	opReceive
	opClose
	opLength // of a channel
	opSelect
	opLock
	opTryLock
	opUnlock
	opReadLock
	opReadUnlock
	opWriteLock
	opWriteUnlock
	opWriteWait    // a writer that has announced itself waits for the readers to leave
	opTryReadLock  // one look at the readers, and entering if there is no writer
	opTryWriteLock // the same for a writer
	opAdd
	opWait
	opReused // a wait group: its Wait has been overtaken by an Add, and panics
	opCondWait
	opCondSignal
	opOnce
	opLoad
	opStore
	opUpdate
	opYield
	opMapRead
	opMapWrite
	opChoose
	opCollect // garbage
	opWeak    // a weak pointer is looked at
	opConnect
	opSocketWrite
	opSocketRead
	opSocketShutdown
	opSocketClose
	opPollWait
	opExit
	opTick
	opTimer
	opAdvance   // the clock, early
	opReadClock // time.Now, and starting a timer
	opSetTimer
	opFileRead
	opFileWrite
	opFileLock
	opFileShare
	opSignalSend
	opSignalSet
	opSignalReceive
	opSignalArrive
	opAccept      // from here to opDescriptorClose, and from opConnect to opPollWait: on sockets and pipes
	opBufferWrite // to what has bounded room
	opPollWrite
	opSocketTry // a read or write that does not wait
	opBind
	opDeadline
	opSendTo // a datagram
	opShort  // a choice: as much as can be read or written, or one byte
	opDescriptorUse
	opDescriptorClose
	opFault     // a choice: what goes wrong with a connection to a peer
	opPeerTimer // a choice: whether the peers' time passes before the program's
	opPass      // it passes until a timer of theirs is due
	opGoOn      // nothing: what follows is no part of the transition before
	opCount
)

// Access kinds, as in package explore.
const (
	accessRead = iota
	accessWrite
	accessCommute
)

// How the clock came to advance, as the number of a recordTick.
const (
	tickLast      = iota // nothing else could happen
	tickEarly            // it was picked: a part of its step
	tickForced           // goroutines could go on, but only went round in loops that wait
	tickLate             // no time has passed: what the network has held back arrives
	tickWithin           // time has passed for the peers: a part of the step
	tickAsk              // nothing else could happen, and time is to pass for the peers
	tickAskForced        // goroutines could go on, but only went round in loops that wait; else likewise
)

// Bits of needs and ready masks.
const (
	readyFree    = 1 << 0 // mutex free, counter zero, no readers inside, socket readable
	readyReader  = 1 << 1 // a reader may enter: no writer has announced itself; there is room to write
	readySend    = 1 << 2 // channel has room, or is closed
	readyReceive = 1 << 3 // channel has something to receive, or is closed
	readyPartner = 1 << 4 // somebody waits to be the partner
	readyCounts  = 1 << 5 // no condition: the object counts goroutines that wait
)

// Outcomes of an execution, as a worker knows them.
const (
	outcomeRunning = iota
	outcomeCompleted
	outcomeDeadlock
	outcomePanic
	outcomeExit
	outcomeAssert
	outcomeRedundant
	outcomeSteps
	outcomeLogFull
	outcomeDiverged
	outcomeFatal
	outcomeRefused
	outcomeLeaked
	outcomeRounds
	outcomeRace
	outcomeLimit // the message says which
	outcomeLivelock
)

const memoryWrite, memoryAtomic = 1 << 0, 1 << 1 // bits of a memory access

// What an atomic operation did.
const (
	atomicLoad   = 0
	atomicStore  = memoryWrite
	atomicUpdate = memoryWrite | 1<<1 // a load and a store
)

// memoryAccess is one of the accesses of a data race. Slot and clock tell it
// apart from all others of its kind to its address, in every execution with the
// same schedule.
type memoryAccess struct {
	address     uint64
	goroutine   uint64
	size        uint32 // bytes; 0: those of a variable of a basic type
	kind        uint32
	slot        uint32
	clock       uint32
	stackLength uint64
	stack       [64]uint64
}

// Kinds of exchanges between the sockets of a worker and the checker.
const (
	exchangeConnect = 1 + iota
	exchangeSend
	exchangeShutdown
	exchangeClose
	exchangeMore // the rest of the last answer
	exchangeListen
	exchangePass
	passOnce = 1 // as the most that may pass: to the first timer of the peers, whenever that is
)

// Objects that are not addresses.
const (
	groupObject     = uint64(1) << 63       // the peer group as a whole
	socketObject    = uint64(1)<<63 | 1<<62 // | the name of a connection
	fileObject      = uint64(1) << 62       // | the name of a file, of an entry of a directory, or of what is open
	signalObject    = uint64(1) << 61       // the signals that the program gets
	signalSource    = 0x7369676e616c73      // the goroutine that stands for their senders
	peerTimerSource = 0x74696d657273        // the goroutine that stands for the timers of the peers
	networkSource   = 0x6e6574776f726b      // the goroutine that stands for a network which delivers late
	peerTimeSource  = 0x74696d65            // the goroutine that has time pass for the peers where nothing else can happen
	clockGoroutine  = uint64(2)             // where the clock advances early, it counts as a goroutine
)

// How a delivery ended the connection's inbound stream.
const (
	endNone = iota
	endOfStream
	endReset
)

// shared is the memory that the checker and one worker share.
type shared struct {
	// Set by the checker before an execution.
	prefixLength    uint32
	sleepFrom       uint32 // the prefix position from which the sleepers count
	sleepLength     uint32
	wantEnabled     uint32
	wantLeaks       uint32
	lenient         uint32 // what the prefix asks for and cannot be done is passed over
	tentative       uint32 // the prefix ends before what cannot be done from sleepFrom on
	peers           uint32 // somebody answers for connections that leave the program
	recordLimit     uint32
	onlyEnd         uint32
	stepLimit       uint32
	roundLimit      uint32 // of a loop that waits; 0: none
	seed            uint64
	byPriority      uint32 // pick by priority
	changes         uint32
	change          [maxChanges]uint32 // transitions, counted from 1, at which priorities change
	rares           uint32
	rare            [maxRare]sharedRare
	preemptionLimit uint32 // 1<<32-1: none
	delayLimit      uint32
	raceWatch       uint32 // note the stack of raceEarlier when it happens
	backup          uint64 // where the worker has mapped the area for saved pages
	backupBytes     uint64
	ownCode         uint64 // the worker is to have code and constants of its own; before it starts
	taken           uint64 // the snapshot has been
	regions         uint64
	region          [maxRegions]region
	prefix          [maxPrefix]sharedAction
	sleeper         [maxSleepers]sharedSleeper
	sleepAccesses   [maxSleepAccesses]sharedAccess

	world sharedWorld // before the worker starts

	// Set by the worker.
	context       [4]uint64 // stack, frame and program counter of the snapshot
	firstFD       uint64    // descriptors from here on belong to an execution
	mappings      uint64
	mapping       [maxMappings]region
	faults        uint64 // minor faults of the process so far
	outcome       uint32
	exitCode      int32
	steps         uint32
	position      uint32 // where the schedule could not be followed
	weight        sharedWeight
	rarePoints    [rareKinds]uint32 // beyond the schedule, where goroutines are picked at random
	now           int64
	records       uint32
	messageLength uint32
	message       [messageBytes]byte
	stack         [32]uint64 // where it was refused
	stackLength   uint64
	raceEarlier   memoryAccess // stack only if raceWatch is set
	raceLater     memoryAccess

	// An exchange.
	exchange exchangeHeader
	data     [exchangeBytes]byte

	record [maxRecords]record
}

// exchangeHeader says what data holds: a request's payload on the way out, a
// sequence of deliveries on the way back.
type exchangeHeader struct {
	kind                uint32
	connection          uint32 // of a connect or listen, on the way out: the behaviour that is chosen for the peers
	errno               uint32
	length              uint32
	deliveries          uint32
	more                uint32
	address             exchangeAddress // of a connect or listen
	clients             uint32          // on the way back: of the peers, that have not ended
	failed              uint32          // on the way back: the execution ends here, for the reason in message
	name                uint64          // of a connect: of the connection, whatever the order in which others are opened
	most                uint64          // of a pass: ns until the program's next timer, 0 if it has none, or passOnce
	passed              uint64          // on the way back from a pass: ns that have gone
	shows, idle, tie, _ uint32          // likewise: see PassedTime
}

// exchangeAddress is what a socket talks to or listens at, and, of a datagram socket, where it is itself.
type exchangeAddress struct {
	network  uint32
	flags    uint32
	ip, from [16]byte // IPv4 mapped into IPv6
	port     uint32   // of a Unix socket the length of its name, which is in data; then
	fromPort uint32   // comes the other name
}

// Networks of an exchangeAddress, as in package proxy.
const (
	networkTCP = iota
	networkUDP
	networkUnix
	networkUnixgram
	networkUnixpacket
	networkCount
)

// Flags of an exchangeAddress.
const (
	addressAt      = 1 << iota // it has an ip
	addressFrom                // it has a from
	addressOnlySix             // a socket of IPv6 that has nothing to do with IPv4
	addressFlags
)

// What a message consists of, on connections that keep the bounds of messages: a byte that says what follows;
// how long the address is, a byte; how long the data are, four bytes, big endian; the address; and the data. An
// address is the 16 bytes of an IP address and two of a port, or the name of a Unix socket. It is left out where
// the connection has only one other end.
const (
	messagePlain  = 'd' // a datagram, without address
	messageIP     = 'i' // a datagram to, or from, an IP address
	messagePath   = 'u' // a datagram to, or from, a Unix socket
	messageError  = 'e' // the socket has an error, whose number takes the place of the length
	messageFailed = 'f' // the message could not be sent, with an error as above
	messageHeader = 6
	messageIPSize = 18
)

// deliveryHeader precedes the bytes of one delivery in data.
type deliveryHeader struct {
	connection uint32
	end        uint32
	length     uint32
	listener   uint32 // 1 + the number of that at which the peers have opened the connection; 0: it was there
}

// socketQueue is what the scheduler sees of one direction of a connection, of a
// socket's datagrams, or of the connections that a listener may accept.
type socketQueue struct {
	object         uint64 // its name in the log
	readable       bool
	awaited        bool  // a peer has answered or connected, and who notices first would have waited for it
	room           int32 // bytes, or more than can ever be wanted
	want           int32 // room that the write which waits needs
	reader, writer int32 // descriptors of its two ends, whose deadlines count; 0: none
}

// region is a run of pages and where its saved copy is.
type region struct {
	address uint64
	length  uint64
	saved   uint64 // 0: the pages were zero when the snapshot was taken
}
