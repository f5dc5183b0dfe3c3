package sut

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"syscall"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Environment is what a program finds beside its peers, the same in every execution.
type Environment struct {
	Stdin []byte `json:"stdin,omitempty"` // what standard input has; empty: it is /dev/null
	// Bytes that the files written in one execution can have; 0: DefaultDisk.
	Disk int64 `json:"disk,omitempty"`
	// Bytes by which the heap can grow in one execution; 0: DefaultMemory.
	Memory int64 `json:"memory,omitempty"`
	// Start is when the wall clock starts, in seconds of Unix time; 0: DefaultStart.
	Start int64 `json:"start,omitempty"`
	// Signals can arrive whenever the program handles them, together at most
	// SignalLimit times in an execution.
	Signals     []syscall.Signal `json:"signals,omitempty"`
	SignalLimit int              `json:"signal_limit,omitempty"`
	// EarlyTimers is how often, at the beginning of an execution, the clock may advance
	// although goroutines can go on.
	EarlyTimers int `json:"early_timers,omitempty"`
	// ShortReads is how many reads of connections and pipes in an execution can
	// return one byte of several that are there. Each is a choice.
	ShortReads int `json:"short_reads,omitempty"`
	// ShortWrites is how many writes to connections in an execution can take one byte of
	// several. Each is a choice.
	ShortWrites int `json:"short_writes,omitempty"`
	// Faults is how often in an execution the network can fail between the program and its
	// peers. When, and how, is a choice: Fault.
	Faults int `json:"faults,omitempty"`
	// FaultKinds and FaultOperations are words of the lists of these names: how the network can
	// fail, and at what. Empty: DefaultFaultKinds, and all operations.
	FaultKinds      []string `json:"fault_kinds,omitempty"`
	FaultOperations []string `json:"fault_operations,omitempty"`
	// FaultPeers are the names of the peers whose connections can fail; empty: all. FaultPlaces are
	// where these listen, and FaultsOpened says that connections which peers open can fail, too.
	FaultPeers   []string     `json:"fault_peers,omitempty"`
	FaultPlaces  []FaultPlace `json:"fault_places,omitempty"`
	FaultsOpened bool         `json:"faults_opened,omitempty"`
	// Behaviours is how many ways the peers can behave in. The first connection to them
	// in an execution, or listener for them, chooses one: Input.Behaviour.
	Behaviours int `json:"behaviours,omitempty"`
	// Clients is how many of the peers connect to the program. With none, they are not told
	// where it listens. When all have ended and the program does nothing but wait for
	// others to come, the execution is completed.
	Clients int `json:"clients,omitempty"`
	// PeerTimers is how often in an execution time can pass for the peers until a timer of theirs
	// is due. When is a choice. Where the program can do nothing else, it passes.
	PeerTimers int `json:"peer_timers,omitempty"`
	// NameServers says that there are peers that serve names: questions to port 53 go to them, and
	// are else answered with: there is no such name.
	NameServers bool `json:"name_servers,omitempty"`
	// PeerTime says that the peers have timers: before the program's clock advances, or a deadlock
	// is one, time passes for them, up to the program's next timer (Input.Most).
	PeerTime bool `json:"peer_time,omitempty"`
	Machine
	Inputs
}

// Machine is what the program sees of its machine in the network.
type Machine struct {
	Hostname string `json:"hostname,omitempty"` // empty: DefaultHostname
	// Hosts are the names that can be looked up beside localhost: lines of a hosts
	// file, such as "127.0.0.1 example.test".
	Hosts []string `json:"hosts,omitempty"`
	// Addresses are its IP addresses beside loopback. With any of a family, other addresses of that
	// are reached by way of the peers.
	Addresses []string `json:"addresses,omitempty"`
	// FirstPort and Ports say which ports sockets get that ask for none: so many from the first one
	// on. With 0 ports they are those of Linux.
	FirstPort uint16 `json:"first_port,omitempty"`
	Ports     int    `json:"ports,omitempty"`
}

// Inputs says which inputs the peers get, and what they depend on.
type Inputs struct {
	// PerConnection says that inputs to the peers on different connections are independent.
	PerConnection bool `json:"per_connection,omitempty"`
	// Taken says that the peers are told what the program takes of what has arrived: model.Receive
	// and model.Accept. Both are inputs like others, so their order among inputs counts. With
	// PerConnection they access nothing but what they take from, and what Answer.Touched says.
	Taken bool `json:"taken,omitempty"`
	// Crashes says that the program may crash at an input: Answer.Crash. So what it changes on its
	// disk, and what it makes durable there, are inputs, too: model.Disk. With PerConnection these
	// access nothing but what Answer.Touched says.
	Crashes bool `json:"crashes,omitempty"`
	// Published says that the peers are told what the program publishes: model.Publish.
	Published bool `json:"published,omitempty"`
	// States says that all transitions depend on those in which the program names its state, so
	// that Schedule.States can be told of them.
	States bool `json:"states,omitempty"`
}

// The environment where nothing else is said.
const (
	DefaultDisk     = 64 << 20
	DefaultHostname = "tandem"
	DefaultMemory   = 1 << 30
	DefaultStart    = 1_767_225_600 // 2026-01-01T00:00:00Z
)

// MaxSignals is how many kinds of signals can arrive.
const MaxSignals = abi.MaxSignals

// maxBehaviours is how many ways peers can behave in.
const maxBehaviours = 1 << 12

// SignalSource is the goroutine that stands for the senders of the signals that arrive.
const SignalSource uint64 = abi.SignalSource

// NetworkSource is the goroutine that stands for a network which delivers datagrams late.
const NetworkSource uint64 = abi.NetworkSource

// PeerTimerSource is the goroutine that stands for the timers of the peers.
const PeerTimerSource uint64 = abi.PeerTimerSource

// PeerTimeSource is the goroutine that has time pass for the peers where nothing else can happen.
const PeerTimeSource uint64 = abi.PeerTimeSource

// describe puts the environment where the worker looks for it.
func (e Environment) describe(sh *abi.SharedEnvironment) error {
	name := e.Hostname
	if name == "" {
		name = DefaultHostname
	}
	m := &sh.Machine
	if len(name) > abi.HostnameBytes {
		return fmt.Errorf("the hostname %.80q is longer than %d bytes: give a shorter one", name,
			abi.HostnameBytes)
	}
	m.HostnameLength = uint64(copy(m.Hostname[:], name))
	if sh.DiskBytes = uint64(e.Disk); e.Disk == 0 {
		sh.DiskBytes = DefaultDisk
	}
	if sh.MemoryBytes = uint64(e.Memory); e.Memory == 0 {
		sh.MemoryBytes = DefaultMemory
	}
	if len(e.Signals) > MaxSignals {
		return fmt.Errorf("%d signals can arrive: give at most %d", len(e.Signals), MaxSignals)
	}
	for i, s := range e.Signals {
		sh.Signal[i] = uint32(s)
	}
	sh.Signals, sh.SignalLimit = uint64(len(e.Signals)), uint64(e.SignalLimit)
	sh.Start = uint64(cmp.Or(e.Start, DefaultStart))
	sh.EarlyTimers = uint64(max(e.EarlyTimers, 0))
	hosts := strings.Join(e.Hosts, "\n")
	if len(hosts) > abi.HostsBytes {
		return fmt.Errorf("the names of hosts need %d bytes, and %d is the limit: leave some out",
			len(hosts), abi.HostsBytes)
	}
	sh.Short = [2]uint64{uint64(max(e.ShortReads, 0)), uint64(max(e.ShortWrites, 0))}
	if err := e.describeFaults(sh); err != nil {
		return err
	}
	if e.Behaviours < 0 || e.Behaviours > maxBehaviours {
		return fmt.Errorf("the peers can behave in %d ways: %d is the limit", e.Behaviours, maxBehaviours)
	}
	sh.Behaviours, sh.Clients = uint64(e.Behaviours), uint64(max(e.Clients, 0))
	sh.PeerTimers = uint64(max(e.PeerTimers, 0))
	sh.NameServers = uint64(flag(e.NameServers))
	sh.PeerTime = uint64(flag(e.PeerTime))
	if e.PerConnection {
		sh.Inputs |= abi.InputsPerConnection
	}
	if e.Taken {
		sh.Inputs |= abi.InputsTaken
	}
	if e.Crashes {
		sh.Inputs |= abi.InputsCrashes
	}
	if e.States {
		sh.Inputs |= abi.InputsStates
	}
	if e.Published {
		sh.Inputs |= abi.InputsPublished
	}
	m.HostsLength = uint64(copy(m.Hosts[:], hosts))
	return e.describeAddresses(m)
}

// describeAddresses puts the addresses of the machine where the worker looks for them.
func (e Machine) describeAddresses(sh *abi.SharedMachine) error {
	if n := len(e.Addresses); n > abi.MaxAddresses {
		return fmt.Errorf("the program has %d IP addresses: %d is the limit", n, abi.MaxAddresses)
	}
	for i, text := range e.Addresses {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("%.64q is no IP address that the program has: write one as 10.0.0.1", text)
		}
		sh.Address[i] = a.As16()
	}
	sh.Addresses = uint64(len(e.Addresses))
	if sh.FirstPort, sh.Ports = uint64(e.FirstPort), uint64(e.Ports); e.Ports == 0 {
		sh.FirstPort, sh.Ports = abi.FirstPort, abi.PortCount
	}
	if e.FirstPort == 0 && e.Ports != 0 || e.Ports < 0 || sh.FirstPort+sh.Ports > 1<<16 {
		return fmt.Errorf("sockets get %d ports from %d on: there are none such", e.Ports, e.FirstPort)
	}
	return nil
}
