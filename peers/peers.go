// Package peers describes the real processes on the other side of the connections of the system
// under test: groups of peers, their files, and profiles of well-known servers and clients.
// Package watch looks at them while they run, and package shim counts what they read of time and
// randomness.
package peers

import "time"

// SUT stands for the address of the system under test, as clients reach it. It is replaced in the
// same places as Scratch.
const SUT = "{sut}"

const addressOfSUT = "127.0.0.1"

// Scratch stands for the scratch directory of the group wherever a path may occur:
// in commands, environments, files and binds.
const Scratch = "{scratch}"

// ScratchDirectory is where the scratch directory is, as the peers see it.
const ScratchDirectory = "/run/tandem"

// Group is what is checkpointed together: peers, their files and the network between
// them. Its file tree is that of the machine, read-only, with a scratch directory and
// an own /run, both part of every checkpoint.
type Group struct {
	Peers []Peer
	// Prepare is made, or copied from where it was made before, ahead of Files.
	Prepare []Preparation
	Files   []File
	// Binds puts the directory or file that is the value over the path that is the key,
	// inside the group only. A directory below Scratch is created where it is missing.
	Binds map[string]string
	// Start is when clocks of the peers start that are not the machine's; zero: DefaultStart.
	Start time.Time `json:",omitzero"`
	// ReadyTimeout bounds the time from the start until all peers are ready;
	// 0 means DefaultReadyTimeout.
	ReadyTimeout time.Duration
	// Prepared has the directories of the machine that preparations have made, by their Path. It is
	// filled in by whoever starts the group.
	Prepared map[string]string
	// AnyArrival makes the order in which clients connect a part of the group's behaviour, and
	// Arrival is the one that it starts with, from 0 on: see Arrivals.
	AnyArrival bool
	Arrival    int
}

// Peer is one process. It must stay in the foreground: when it ends, the peer is dead, unless it
// is a client. Its environment is Env, and defaults for PATH, HOME, LANG and GODEBUG.
type Peer struct {
	Name    string
	Command []string
	// Directory is where it runs: an absolute path, or one below Scratch, which is created if it is
	// missing. Empty: Scratch.
	Directory string
	Env       []string // "NAME=value"
	// User and Group are what it runs as, by name or number: see Peer.Identity. Without a user it
	// is root, and without a group it has all groups of the user.
	User, Group string
	// Listen is where a server listens: addresses with blanks in between, such as "127.0.0.1:2222",
	// "[::1]:80", "udp:127.0.0.1:53", "unix:{scratch}/socket", "unix:@abstract". See Addresses.
	Listen string

	// After makes the peer a client of the system under test. With "listen 8080" it is started
	// when the system first listens on that port; with "listen udp:8080" when it has a UDP socket
	// there, and with "listen unix:/path" when it has a Unix socket of any kind there. A client
	// may end.
	After string
	// Expect says how a client has to end: "exit 0", or another status. Empty: in any way.
	Expect string

	// Choices is how many behaviours of the peer there are to choose from. Behaviour is the one
	// that it starts with, from 0 on: its time and random numbers follow from that. With 0
	// choices they are those of the machine.
	Choices   int
	Behaviour int

	// VirtualClock gives the peer a clock that starts at Group.ClockStart. It moves only when the
	// peer reads it or sleeps, and when the checker lets time pass. No time-out ends by itself.
	// The peer must use the C library.
	VirtualClock bool
}

// Process is a peer that has been started.
type Process struct {
	Peer
	PID int // in the group's pid namespace: the same before and after a restore
	// Host is the pid as this process sees it, which a restore changes. With 0 it is looked for
	// among all children of the proxy.
	Host int
}

// Limits of a group.
const (
	DefaultReadyTimeout = 10 * time.Second
	MaxFiles            = 4096
	MaxContent          = 64 << 20 // bytes in all files together
	MaxChoices          = 1 << 12  // behaviours of the peers, all combinations
)
