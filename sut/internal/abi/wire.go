package abi

// Kinds of exchanges between the sockets of a worker and the checker.
const (
	ExchangeConnect = 1 + iota
	ExchangeSend
	ExchangeShutdown
	ExchangeClose
	ExchangeMore // the rest of the last answer
	ExchangeListen
	ExchangePass
	ExchangeReceive // what has arrived was read: only with InputsTaken
	ExchangeAccept  // a connection was: likewise
	_               // see model.Broken
	ExchangeDisk    // the disk is to change, or to keep what has changed: only with InputsCrashes
	// The disk of the schedule cannot be put in place, for the reason in data; without one, since
	// package initialisation has looked at what it changes: a process is to find it when it starts.
	ExchangeAnew
	_               // see model.Restarted
	ExchangePublish // a value gets another one: only with InputsPublished
	// The program names its state: the data are a NamedState. The answer has an errno if the
	// execution is to end. It is no input.
	ExchangeState
	// NoConnection is, in place of the number of one, that an input is on none.
	NoConnection = 1<<32 - 1
	PassOnce     = 1 // as the most that may pass: to the first timer of the peers, whenever that is
)

// Why a connection is closed: the name of an ExchangeClose. After a silence it is only told with
// InputsTaken: nothing is to get through then, not even the end of the program.
const (
	ClosedByProgram = iota
	ClosedByFault
	ClosedBySilence
)

// NamedState is a state that the program has named in a transition. Transitions are counted from 1.
type NamedState struct {
	Key  [2]uint64 // a hash of what was named, and of where all goroutines are
	PC   uint64    // where it was named
	Step uint64    // the transition
	// The last transition before it that had an effect; after it, all operations have found the
	// same again and again.
	Effect uint64
	// The last one before it that a loop cannot repeat for ever by itself: it had alternatives, or
	// something went to the outside, or operations had effects and could have come in another
	// order.
	Turn  uint64
	Tick  uint64 // the last one of the clock
	Stirs uint64 // 1: another goroutine can go on with an operation that has an effect
	Waits uint64 // 1: a timer is set, and fires if all that can go on only look again and again
}

// ExchangeHeader says what data holds: a request's payload on the way out, a
// sequence of deliveries on the way back.
type ExchangeHeader struct {
	Kind uint32
	// Of a connect or listen, on the way out: the behaviour that is chosen for the peers.
	Connection uint32
	Errno      uint32
	Length     uint32
	Deliveries uint32
	More       uint32
	// Of a connect or listen. On the way back from a connect, the from is where the program's end
	// of the connection is, if the flag of that is set.
	Address ExchangeAddress
	Clients uint32 // on the way back: of the peers, that have not ended
	// On the way back: the execution ends here, for the reason in message.
	Failed uint32
	// On the way back: the execution ends in a crash, and as many operations are lost at most.
	Crashed, Lost uint32
	Unsynced      uint32 // operations that are not durable, and again when it has crashed
	// Of a connect: of the connection, whatever the order in which others are opened. Of a close:
	// why, such as ClosedByFault.
	Name uint64
	// Of a pass: ns until the program's next timer, 0 if it has none, or passOnce.
	Most             uint64
	Passed           uint64 // on the way back from a pass: ns that have gone
	Shows, Idle, Tie uint32 // likewise: see model.Time
	Halts            uint32 // on the way back: the goroutine goes no further
}

// ExchangeAddress is what a socket talks to or listens at, and, of a datagram socket, where it is
// itself.
type ExchangeAddress struct {
	Network  uint32
	Flags    uint32
	IP, From [16]byte // IPv4 mapped into IPv6
	Port     uint32   // of a Unix socket the length of its name, which is in data; then
	FromPort uint32   // comes the other name
}

// Networks of an exchangeAddress, as in package proxy.
const (
	NetworkTCP = iota
	NetworkUDP
	NetworkUnix
	NetworkUnixgram
	NetworkUnixpacket
	NetworkCount
)

// Flags of an exchangeAddress.
const (
	AddressAt      = 1 << iota // it has an ip
	AddressFrom                // it has a from
	AddressOnlySix             // a socket of IPv6 that has nothing to do with IPv4
	AddressFlags
)

// What a message consists of, on connections that keep the bounds of messages: a byte that says
// what follows; how long the address is, a byte; how long the data are, four bytes, big endian; the
// address; and the data. An address is the 16 bytes of an IP address and two of a port, or the name
// of a Unix socket. It is left out where the connection has only one other end.
const (
	MessagePlain  = 'd' // a datagram, without address
	MessageIP     = 'i' // a datagram to, or from, an IP address
	MessagePath   = 'u' // a datagram to, or from, a Unix socket
	MessageError  = 'e' // the socket has an error, whose number takes the place of the length
	MessageFailed = 'f' // the message could not be sent, with an error as above
	MessageHeader = 6
	MessageIPSize = 18
)

// DeliveryHeader precedes the bytes of one delivery in data.
type DeliveryHeader struct {
	Connection uint32 // or TouchObject, GateObject
	End        uint32
	Length     uint32
	// 1 + the number of that at which the peers have opened the connection; 0: it was there. The
	// bytes are then the addresses of the program's end and of the other one, as in a message, or
	// none.
	Listener uint32
}
