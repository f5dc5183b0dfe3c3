// The part of the shared memory that says what a program finds beside its peers. Like shared.go it is compiled
// into the checker and into the packages runtime and syscall of programs that are checked, so it imports nothing.

package sut

const maxFaultPlaces = 64 // where peers listen whose connections can fail

// Faults of connections to peers, by number. The Object of an opFault is the set of those that can happen there, with a bit
// for each; its alternatives are that none does, and these in order.
const (
	faultRefused    = iota                      // a connect
	faultUnanswered                             // a connect, until somebody gives up
	faultsOfRead                                // the first of a read; what they are follows
	faultsBefore    = faultsOfRead + faultKinds // of a write, before the peer has seen what is sent
	faultsAfter     = faultsBefore + faultKinds // and after
	faultsReceived  = faultsAfter + faultKinds  // of a datagram from a peer, when it is read
	faultsSent      = faultsReceived + datagramFaults
	faultCount      = faultsSent + datagramFaults
)

// What tandemFault returns: 0 is no fault, else the place of the fault among those of the operation.
const (
	connectRefused = 1 + iota
	connectUnanswered
	connectFaults = connectUnanswered
)

// The same, for a read and a write.
const (
	faultReset = iota + 1
	faultEnd
	faultSilence // nothing more arrives
	faultKinds   = faultSilence
)

// The same, for a datagram.
const (
	datagramLost = iota + 1
	datagramDoubled
	datagramLate   // it arrives after the next one on its way, or else when nothing else can happen
	datagramFaults = datagramLate
)

// faultPlace is where a peer listens whose connections can fail.
type faultPlace struct {
	ip         [16]byte
	port       uint64
	datagrams  uint64    // 1: of UDP
	path       [108]byte // of a Unix socket
	pathLength uint64    // 0: it is none
}

// sharedWorld is what a program finds beside its peers.
type sharedWorld struct {
	diskBytes      uint64 // that the files of an execution can have
	hostname       [hostnameBytes]byte
	hostnameLength uint64
	memoryBytes    uint64 // by which the heap of an execution can grow
	signal         [maxSignals]uint32
	signals        uint64           // that can arrive
	signalLimit    uint64           // how often, together
	earlyTimers    uint64           // how often the clock may advance early
	start          uint64           // of the wall clock, in seconds of Unix time
	hosts          [hostsBytes]byte // lines of the hosts file
	hostsLength    uint64
	short          [2]uint64 // how often a read can return less than there is, and a write take less than there is room for
	faults         uint64    // how many connections to peers can fail
	faultSet       uint64    // in which ways, with a bit for each
	faultPlace     [maxFaultPlaces]faultPlace
	faultPlaces    uint64
	// Only connections to these places fail, and those that peers open if faultsOpened. Else all do.
	faultsSomewhere, faultsOpened uint64
	behaviours                    uint64 // of the peers, of which the first connect or listen chooses one; 0 and 1: there is no choice
	clients                       uint64 // of the peers, that connect to the program
	peerTimers                    uint64 // how often the peers' time can pass until a timer of theirs is due
	nameServers                   uint64 // there are peers that serve names
	peerTime                      uint64 // time passes for the peers before the program's clock advances, or it is in a deadlock
	perConnection                 uint64 // an input to the peers has no effect on other connections than its own
}
