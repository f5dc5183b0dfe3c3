package peers

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/peers/image"
	"github.com/tandem-mc/tandem/proxy"
	"golang.org/x/sys/unix"
)

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
	// Image is the container image that has the files of the peer, in the place of the machine's.
	// Its lists of users and groups are those of the peer then. The zero value: none.
	Image image.Reference `json:",omitzero"`
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

// OfImage is a peer with the program and the files of an image. Arguments take the place of those
// that the image has, unless they are nil.
func OfImage(name string, d image.Description, arguments []string) Peer {
	return Peer{Name: name, Image: d.Reference, Command: d.Command(arguments), Env: d.Env,
		Directory: d.Directory, User: d.User, Group: d.Group}
}

// Process is a peer that has been started.
type Process struct {
	Peer
	PID int // in the group's pid namespace: the same before and after a restore
	// Host is the pid as this process sees it, which a restore changes. With 0 it is looked for
	// among all children of the proxy.
	Host int
}

// IsClient reports whether the peer is started when the system under test listens.
func (p Peer) IsClient() bool { return p.After != "" }

// IsChosen reports whether the behaviour of the peer, or its clock, is chosen.
func (p Peer) IsChosen() bool { return p.Choices > 0 || p.VirtualClock }

// Waits reports whether the peer is a client that waits for the system under test to listen at this
// address. A description that cannot be read waits for nothing; Validate says so.
func (p Peer) Waits(at proxy.Address) bool {
	n, err := parseAfter(p.After)
	if err != nil || n.IsUnix() != at.Network.IsUnix() {
		return false
	}
	if n.IsUnix() {
		return n.path == at.Path
	}
	return n.Network == at.Network && n.port == at.At.Port()
}

// WaitsFor is the port on which the system under test has to listen before the client is started.
// For one that waits for a Unix socket, waits is false.
func (p Peer) WaitsFor() (port uint16, waits bool) {
	n, err := parseAfter(p.After)
	return n.port, err == nil && !n.IsUnix()
}

// Awaited says, in words, where the system under test has to listen before the client is started.
func (p Peer) Awaited() string {
	switch e, _ := parseAfter(p.After); {
	case e.IsUnix():
		return "at " + proxy.Address{Network: proxy.Unix, Path: e.path}.String()
	case e.Network == proxy.UDP:
		return fmt.Sprintf("on port %d of UDP", e.port)
	default:
		return fmt.Sprintf("on port %d", e.port)
	}
}

// event is what a client waits for: that the system under test listens.
type event struct {
	proxy.Network
	port uint16
	path string
}

// parseAfter reads listen and a port, or a network and a port or path. The error shows what could
// be written instead.
func parseAfter(text string) (event, error) {
	wrong := fmt.Errorf(
		"after %.64q is not listen and a port: write one such as listen 8080, listen udp:53 or "+
			"listen unix:/path", text)
	word, what, ok := strings.Cut(text, " ")
	if !ok || word != "listen" {
		return event{}, wrong
	}
	if path, isUnix := strings.CutPrefix(what, "unix:"); isUnix {
		a, err := proxy.ParseAddress("unix:" + strings.ReplaceAll(path, Scratch, ScratchDirectory))
		if err != nil {
			return event{}, fmt.Errorf("after %.64q: %w", text, err)
		}
		return event{Network: proxy.Unix, path: a.Path}, nil
	}
	e := event{}
	if port, isUDP := strings.CutPrefix(what, "udp:"); isUDP {
		e.Network, what = proxy.UDP, port
	}
	n, err := numberAfter("listen "+what, "listen", 1<<16-1)
	if err != nil || n == 0 {
		return event{}, wrong
	}
	e.port = uint16(n)
	return e, nil
}

// Contradicts says how the end of a client, with this status, differs from what is expected of it.
// It is empty if it does not differ. A client that a signal has ended differs from each status.
func (p Peer) Contradicts(status unix.WaitStatus) string {
	if p.Expect == "" {
		return ""
	}
	want, err := numberAfter(p.Expect, "exit", 255)
	if err == nil && status.Exited() && status.ExitStatus() == want {
		return ""
	}
	return fmt.Sprintf("peer %s %s, and %s is expected", p.Name, Outcome(status), p.Expect)
}

// Outcome says how a process has ended.
func Outcome(status unix.WaitStatus) string {
	if status.Signaled() {
		return fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("exited with status %d", status.ExitStatus())
}

// numberAfter reads a word and a number up to limit. Blanks in between may be several. A sign is
// not allowed.
func numberAfter(text, word string, limit int) (int, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 || fields[0] != word {
		return 0, fmt.Errorf("%q is not %s and a number: write it so", text, word)
	}
	n, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil || int(n) > limit {
		return 0, fmt.Errorf("%q is no number from 0 to %d: give one", fields[1], limit)
	}
	return int(n), nil
}

// Addresses are the addresses in Listen. The error shows how to write it. All of them are on
// loopback, and have a port or a path.
func (p Peer) Addresses() ([]proxy.Address, error) {
	var all []proxy.Address
	for _, text := range strings.Fields(p.Listen) {
		a, err := proxy.ParseAddress(strings.ReplaceAll(text, Scratch, ScratchDirectory))
		if err != nil {
			return nil, fmt.Errorf("listen %q: %w: write 127.0.0.1:2222, [::1]:80, udp:127.0.0.1:53 or "+
				"unix:{scratch}/socket", text, err)
		}
		if err := canListen(a); err != nil {
			return nil, fmt.Errorf("listen %q: %w", text, err)
		}
		// Addresses are compared as texts: a second way to write one would look like a second
		// address.
		if shortest := written(a); !a.Network.IsUnix() && shortest != text {
			return nil, fmt.Errorf("write listen %q as %s", text, shortest)
		}
		all = append(all, a)
	}
	return all, nil
}

// written is an address as it is written in Listen.
func written(a proxy.Address) string {
	return strings.Replace(a.String(), " ", ":", 1)
}

// canListen says why nobody in a group can listen at an address.
func canListen(a proxy.Address) error {
	switch {
	case a.Network.IsUnix():
		return nil
	case a.OnlySix:
		return errors.New("leave the 6 out, since the address is one of IPv6")
	case a.At.Port() == 0:
		return errors.New("there is no port: give one, such as 127.0.0.1:8080")
	case !a.At.Addr().IsLoopback() && !a.At.Addr().IsUnspecified():
		return errors.New("a group has no network but loopback: use an address of 127.0.0.0/8, or ::1")
	}
	return nil
}
