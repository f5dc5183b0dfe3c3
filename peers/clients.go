package peers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/proxy"
)

// IsClient reports whether the peer is started when the system under test listens.
func (p Peer) IsClient() bool { return p.After != "" }

// Waits reports whether the peer is a client that waits for the system under test to listen at an address.
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

// WaitsFor is the port that a client waits for the system under test to listen on.
func (p Peer) WaitsFor() (port uint16, waits bool) {
	n, err := parseAfter(p.After)
	return n.port, err == nil && !n.IsUnix()
}

// Awaited says where a client waits for the system under test to listen.
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

// parseAfter reads listen and a port, or a network and a port or path.
func parseAfter(text string) (event, error) {
	wrong := fmt.Errorf("after %.64q is not listen and a port, such as listen 8080, listen udp:53 or listen unix:/path", text)
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

// Contradicts says how the end of a client, whose status this is, differs from what is expected of
// it; it is empty if it does not.
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

// validateClient checks what only clients have.
func (p Peer) validateClient() error {
	if !p.IsClient() {
		if p.Expect != "" {
			return errors.New("only a client is expected to end: say after what it is started, such as after: listen 8080")
		}
		return nil
	}
	if _, err := parseAfter(p.After); err != nil {
		return err
	}
	if _, err := numberAfter(p.Expect, "exit", 255); p.Expect != "" && err != nil {
		return fmt.Errorf("expect %.64q is not exit and a status, such as exit 0", p.Expect)
	}
	if p.Listen != "" {
		return fmt.Errorf("it listens at %s, and is to be started after %s: one of the two", p.Listen, p.After)
	}
	return nil
}

// numberAfter reads a word and a number up to limit.
func numberAfter(text, word string, limit int) (int, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 || fields[0] != word {
		return 0, fmt.Errorf("%q is not %s and a number", text, word)
	}
	n, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil || int(n) > limit {
		return 0, fmt.Errorf("%q is no number from 0 to %d", fields[1], limit)
	}
	return int(n), nil
}

// Clients is how many of the peers are started when the system under test listens.
func (g Group) Clients() int {
	n := 0
	for _, p := range g.Peers {
		if p.IsClient() {
			n++
		}
	}
	return n
}

// orders is the number of orders in which the clients may connect, if any may be; it stops where
// it is more than MaxChoices.
func (g Group) orders() int {
	n := 1
	for k := 2; g.AnyArrival && k <= g.Clients() && n <= MaxChoices; k++ {
		n *= k
	}
	return n
}

// Arrivals are the clients, by index, in the order in which those that wait for the same port are
// started: Arrival is its number among all orders, 0 that of Peers.
func (g Group) Arrivals() []int {
	var waiting, order []int
	for i, p := range g.Peers {
		if p.IsClient() {
			waiting = append(waiting, i)
		}
	}
	for n := g.Arrival; len(waiting) > 0; {
		k := n % len(waiting)
		n /= len(waiting)
		order, waiting = append(order, waiting[k]), slices.Delete(waiting, k, k+1)
	}
	return order
}

// Ending says that a client has ended.
type Ending struct {
	Peer   int // its index in the group
	Status unix.WaitStatus
}

// Ended lists the clients that have ended, in their order. One that had ended at a checkpoint may be
// missing after a restore.
func (w *Watch) Ended() ([]Ending, error) {
	var all []Ending
	for i, pid := range w.hosts {
		if pid == 0 || !w.peers[i].IsClient() {
			continue
		}
		s, err := w.proc.stat(pid)
		if err != nil {
			return nil, w.asDeath(err)
		}
		if s.ended() {
			all = append(all, Ending{i, s.status})
		}
	}
	return all, nil
}

// Started has the watch look for clients that were started since.
func (w *Watch) Started() error { return w.findPeers() }
