package abi

// MaxAddresses is how many IP addresses the machine of a program can have beside loopback.
const MaxAddresses = 16

// The ports that Linux gives to sockets which ask for none: so many from the first one on.
const (
	FirstPort = 32768
	PortCount = 28232
)

// MaxFaultPlaces is at how many addresses peers can listen whose connections can fail.
const MaxFaultPlaces = 64

// Faults of connections to peers, by number. The Object of an opFault is the set of those that can
// happen there, with a bit for each; its alternatives are that none does, and these in order.
const (
	FaultRefused    = iota                      // a connect
	FaultUnanswered                             // a connect, until somebody gives up
	FaultsOfRead                                // the first of a read; what they are follows
	FaultsBefore    = FaultsOfRead + FaultKinds // of a write, before the peer has seen what is sent
	FaultsAfter     = FaultsBefore + FaultKinds // and after
	FaultsReceived  = FaultsAfter + FaultKinds  // of a datagram from a peer, when it is read
	FaultsSent      = FaultsReceived + DatagramFaults
	FaultCount      = FaultsSent + DatagramFaults
)

// What tandemFault returns: 0 is no fault, else the place of the fault among those of the
// operation.
const (
	ConnectRefused = 1 + iota
	ConnectUnanswered
	ConnectFaults = ConnectUnanswered
)

// The same, for a read and a write.
const (
	FaultReset = iota + 1
	FaultEnd
	FaultSilence // nothing more arrives
	FaultKinds   = FaultSilence
)

// The same, for a datagram.
const (
	DatagramLost = iota + 1
	DatagramDoubled
	DatagramLate   // it arrives after the next one on its way, or else when nothing else can happen
	DatagramFaults = DatagramLate
)

// FaultPlace is where a peer listens whose connections can fail.
type FaultPlace struct {
	IP         [16]byte
	Port       uint64
	Datagrams  uint64    // 1: of UDP
	Path       [108]byte // of a Unix socket
	PathLength uint64    // 0: it is none
}

// SharedEnvironment is what a program finds beside its peers.
type SharedEnvironment struct {
	DiskBytes   uint64 // that the files of an execution can have
	MemoryBytes uint64 // by which the heap of an execution can grow
	Signal      [MaxSignals]uint32
	Signals     uint64 // that can arrive
	SignalLimit uint64 // how often, together
	EarlyTimers uint64 // how often the clock may advance early
	Start       uint64 // of the wall clock, in seconds of Unix time
	// How often a read can return less than there is, and a write take less than there is room for.
	Short       [2]uint64
	Faults      uint64 // how many connections to peers can fail
	FaultSet    uint64 // in which ways, with a bit for each
	FaultPlace  [MaxFaultPlaces]FaultPlace
	FaultPlaces uint64
	// Only connections to these places fail, and those that peers open if faultsOpened. Else all
	// do.
	FaultsSomewhere, FaultsOpened uint64
	// Of the peers, of which the first connect or listen chooses one; 0 and 1: there is no choice.
	Behaviours  uint64
	Clients     uint64 // of the peers, that connect to the program
	PeerTimers  uint64 // how often the peers' time can pass until a timer of theirs is due
	NameServers uint64 // there are peers that serve names
	// Time passes for the peers before the program's clock advances, or it is in a deadlock.
	PeerTime uint64
	Inputs   uint64 // bits: InputsPerConnection and so on
	Machine  SharedMachine
}

// SharedMachine is what the program sees of its machine in the network.
type SharedMachine struct {
	Hostname       [HostnameBytes]byte
	HostnameLength uint64
	Hosts          [HostsBytes]byte // lines of the hosts file
	HostsLength    uint64
	// The IP addresses beside loopback, IPv4 mapped into IPv6.
	Address   [MaxAddresses][16]byte
	Addresses uint64
	// The ports that sockets get which ask for none: so many from the first one on.
	FirstPort, Ports uint64
}

// What SharedEnvironment.Inputs says, as bits.
const (
	// An input to the peers has no effect on other connections than its own.
	InputsPerConnection = 1 << iota
	InputsTaken         // the checker is told what the program takes of what has arrived
	InputsCrashes       // the program may crash, and is told of changes to the disk before
	InputsPublished     // the checker is told of what the program publishes
	InputsStates        // all transitions depend on those that name a state
)

// What is known of a goroutine that is left, as the number of a recordLeft.
const (
	LeftBlocked  = iota // it never goes on
	LeftLoops           // it goes round in a loop on timers for ever
	LeftLooping         // it has done so until the bounds on what comes after main
	LeftUnjudged        // not whether it goes on some time
)

// How long goroutines that are left when main returns may wait for timers.
const (
	OvertimeTimers = 1024 // that fire, one after the other
	OvertimeYears  = 20   // of virtual time
)

// LoopYears is how far the clock leaps at least before a loop on timers that looks at it is one for
// ever.
const LoopYears = 4

// TouchObject is, in place of the connection of a delivery, that the transition accesses an object:
// the data are its name, and nothing arrives. The end is the kind of the access.
const TouchObject = 1<<32 - 1

// GateObject is likewise, that what a connection receives depends on an object: the data are its
// name, and Listener is 1 + the number of the connection. The end is 0 if that has arrived, and 1
// if it comes next.
const GateObject = 1<<32 - 2
