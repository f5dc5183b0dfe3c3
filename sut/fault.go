package sut

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// faults lists what can go wrong with a connection to a peer, by number: see faultRefused.
var faults = [abi.FaultCount]struct{ kind, on, text string }{
	abi.FaultRefused:                        {"refused", "connect", "refused"},
	abi.FaultUnanswered:                     {"silent", "connect", "no answer"},
	abi.FaultsOfRead + abi.FaultReset - 1:   {"reset", "read", "reset"},
	abi.FaultsOfRead + abi.FaultEnd - 1:     {"end", "read", "end"},
	abi.FaultsOfRead + abi.FaultSilence - 1: {"silent", "read", "silence"},
	abi.FaultsBefore + abi.FaultReset - 1:   {"reset", "write", "reset before the peer sees it"},
	abi.FaultsBefore + abi.FaultEnd - 1:     {"end", "write", "end before the peer sees it"},
	abi.FaultsBefore + abi.FaultSilence - 1: {"silent", "write", "silence before the peer sees it"},
	abi.FaultsAfter + abi.FaultReset - 1:    {"reset", "write", "reset after the peer saw it"},
	abi.FaultsAfter + abi.FaultEnd - 1:      {"end", "write", "end after the peer saw it"},
	abi.FaultsAfter + abi.FaultSilence - 1:  {"silent", "write", "silence after the peer saw it"},

	abi.FaultsReceived + abi.DatagramLost - 1:    {"lost", "read", "the datagram that comes is lost"},
	abi.FaultsReceived + abi.DatagramDoubled - 1: {"duplicated", "read", "the datagram comes twice"},
	abi.FaultsReceived + abi.DatagramLate - 1: {"reordered", "read",
		"the datagram comes after the next one"},
	abi.FaultsSent + abi.DatagramLost - 1: {"lost", "write", "the datagram to the peer is lost"},
	abi.FaultsSent + abi.DatagramDoubled - 1: {"duplicated", "write",
		"the datagram to the peer arrives twice"},
	abi.FaultsSent + abi.DatagramLate - 1: {"reordered", "write", "the datagram arrives after the next one"},
}

// The words for faults of the network.
var (
	// FaultKinds are the kinds: a connect is refused; a connection is reset, or ends; the network
	// is silent, which means that a connect is not answered and that nothing gets through a
	// connection any more. A datagram over UDP is lost; it is duplicated; or it is reordered, which
	// means that it arrives after the next one that goes its way from or to the same socket, or, if
	// there is none, when nothing else can happen, not even that time passes.
	FaultKinds = []string{"refused", "reset", "end", "silent", "lost", "duplicated", "reordered"}
	// DefaultFaultKinds are those that happen where none is named. A client that sets no deadline
	// waits for ever when the network is silent, so that is left out.
	DefaultFaultKinds = []string{"refused", "reset", "end", "lost", "duplicated", "reordered"}
	// FaultOperations are the operations at which faults happen. Of datagrams, which way they go.
	FaultOperations = []string{"connect", "read", "write"}
)

// FaultPlace is an address at which a peer listens. Only Port counts if IP is unspecified.
type FaultPlace struct {
	IP   [16]byte `json:"ip,omitzero"` // an IPv4 address is mapped to IPv6
	Port uint16   `json:"port,omitempty"`
	// Datagrams says that it is a port of UDP, and not of TCP.
	Datagrams bool `json:"datagrams,omitempty"`
	// Path is that of a Unix socket: IP and Port are zero then. It begins with a zero byte if it is
	// abstract.
	Path string `json:"path,omitempty"`
}

// faultSet is the set of the faults that can happen, with bit i for fault i.
func (e Environment) faultSet() (set uint32, err error) {
	kinds, operations := e.FaultKinds, e.FaultOperations
	if len(kinds) == 0 {
		kinds = DefaultFaultKinds
	}
	if len(operations) == 0 {
		operations = FaultOperations
	}
	for i, f := range faults {
		if slices.Contains(kinds, f.kind) && slices.Contains(operations, f.on) {
			set |= 1 << i
		}
	}
	if set == 0 {
		err = fmt.Errorf("no fault of the kind %s can happen at a %s: name other kinds or operations",
			strings.Join(kinds, ", "), strings.Join(operations, ", "))
	}
	return set, err
}

// FaultWords says by what the network fails, and where, as the end of a sentence.
func (e Environment) FaultWords() string {
	kinds := e.FaultKinds
	if len(kinds) == 0 {
		kinds = DefaultFaultKinds
	}
	text := ", by " + strings.Join(kinds, ", ")
	if len(e.FaultOperations) > 0 {
		text += "; only at " + strings.Join(e.FaultOperations, ", ")
	}
	if len(e.FaultPeers) > 0 {
		text += "; only those of " + strings.Join(e.FaultPeers, ", ")
	}
	return text
}

// CheckFaults returns an error if the faults that are selected are none.
func (e Environment) CheckFaults() error {
	_, err := e.faultSet()
	return err
}

// describeFaults puts the faults that can happen where the worker looks for them.
func (e Environment) describeFaults(sh *abi.SharedEnvironment) error {
	set, err := e.faultSet()
	if err != nil {
		return err
	}
	sh.Faults, sh.FaultSet = uint64(max(e.Faults, 0)), uint64(set)
	sh.FaultsSomewhere, sh.FaultsOpened = uint64(flag(len(e.FaultPeers) > 0)), uint64(flag(e.FaultsOpened))
	if len(e.FaultPlaces) > abi.MaxFaultPlaces {
		return fmt.Errorf("connections to %d addresses of peers can fail, and %d is the limit: name "+
			"fewer peers",
			len(e.FaultPlaces), abi.MaxFaultPlaces)
	}
	sh.FaultPlaces = uint64(len(e.FaultPlaces))
	for i, p := range e.FaultPlaces {
		at := abi.FaultPlace{IP: p.IP, Port: uint64(p.Port), Datagrams: uint64(flag(p.Datagrams)),
			PathLength: uint64(len(p.Path))}
		if len(p.Path) > len(at.Path) {
			return fmt.Errorf("the path %q of a socket is longer than %d bytes", p.Path, len(at.Path))
		}
		copy(at.Path[:], p.Path)
		sh.FaultPlace[i] = at
	}
	return nil
}

// Fault says what an alternative of a NetworkFault is, by the Object of its event: that is the set
// of the faults that could happen there.
func Fault(alternative int, of uint64) string {
	if alternative == 0 {
		return "goes well"
	}
	for ; of != 0; of &= of - 1 {
		if alternative--; alternative == 0 {
			if i := bits.TrailingZeros64(of); i < len(faults) {
				return faults[i].text
			}
		}
	}
	return "a fault that is not known"
}
