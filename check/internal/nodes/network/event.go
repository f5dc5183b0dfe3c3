// Package network is what the network between nodes can do: which events there are, and what may
// come to a node at another time than it did in a skeleton.
//
// All of it is found from skeletons alone. What a node makes of that is found by running it.
package network

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/places"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Event is what a node does that others can notice, or takes of what they have sent. It is the
// label of each event of a skeleton. Equal events of a node mean equal streams.
type Event struct {
	Kind model.Kind
	// Conn is a connection, with the name that it has at both ends; empty: it is about a listener.
	Conn string
	// Address is that of a Connect, a Listen, and the Close of a listener; of a Publish, the name.
	Address string
	// Sent is, of a Send, a Shutdown and a Close, the hash of all that was sent on the connection,
	// this included; of a Publish, that of the value.
	Sent Hash
	// Taken is, of a Receive and a Close, how many bytes of the connection were read by then. With
	// End a Receive has found the end of the stream instead, and a Broken comes after that.
	Taken int
	End   bool
	// Unaccepted says, of a Close, that the connection was never accepted, and Failed that the
	// network has closed it. A Connect with Failed is refused: the listener is closed.
	Unaccepted, Failed bool
	// Aborts says, of a Close across a partition, that something had come before the network was
	// parted and was not read: so it is a reset.
	Aborts bool
	// Lost is, of a Crashed, how many changes of the disk are lost at most.
	Lost int
	// Violates says, of a Publish, what is wrong with it; empty: nothing. One with End is made by
	// the end of the node, which holds the name no more.
	Violates string
	// From is, of a Connect, where the program has put its end of the connection; empty: nowhere.
	// Of a Send of a datagram, which has an Address, it is where that comes from, and Fate what has
	// become of it: one of the words of package datagram; empty: it arrives.
	From, Fate string
	// Late is, of a Send, a Shutdown and a Close on a slow connection, after how many advances of
	// the clock it arrives; 0: at once. In a walk it is Sometime.
	Late int
	// Time is, of a Pass, what the common clock shows then. Own says that a timer of the node is
	// due.
	Time time.Duration
	Own  bool
	// Paused says, of a Pass, that the node does not run then, and finds out later.
	Paused Paused
}

// Paused says of an advance of the clock whether the node is paused. The node finds out of all
// advances of a pause at once, when it runs again.
type Paused int

const (
	Runs Paused = iota
	// Begins is the first advance of a pause, after which the node finds what has come meanwhile.
	Begins
	// Fires is likewise the first one. After the pause, timers that were due meanwhile fire before
	// that.
	Fires
	// GoesOn is any other one.
	GoesOn
)

// BeginsPause says whether an advance of the clock is the first one of a pause.
func (e Event) BeginsPause() bool { return e.Paused == Begins || e.Paused == Fires }

// Key implements skeleton.Label.
func (e Event) Key() string {
	key := fmt.Sprintf("%d %q %q %x %d %t %t %t %d %t", e.Kind, e.Conn, e.Address, e.Sent, e.Taken, e.End,
		e.Unaccepted, e.Failed, e.Time, e.Own)
	if e.Aborts {
		key += " aborts"
	}
	if e.Lost > 0 {
		key += fmt.Sprint(" loses ", e.Lost)
	}
	if e.From != "" {
		key += " from " + e.From + " " + e.Fate
	}
	if e.Late != 0 {
		key += fmt.Sprint(" late ", e.Late)
	}
	if e.Paused != Runs {
		key += fmt.Sprint(" paused ", e.Paused)
	}
	if e.Violates != "" {
		key += fmt.Sprintf(" violates %q", e.Violates)
	}
	return key
}

// Did is what an event of a node is.
func Did(e *skeleton.Event) Event { return e.Label.(Event) }

// IsDatagram says whether an event is a datagram that is sent.
func IsDatagram(e *skeleton.Event) bool {
	d := Did(e)
	return d.Kind == model.Send && d.Address != ""
}

// Nodes is what nodes know of each other.
type Nodes struct {
	// Names are those of nodes, by their place in Config.Nodes, and Places is where they are.
	Names  []string
	Places *places.Places
	// Beside says of addresses whether real peers are there: they are one component, which no
	// worker runs, and whose name is the last one. nil: there are none.
	Beside func(address string) bool
	// Ordered are those nodes whose events are in one order, by their place.
	Ordered []bool
	// Parted is when nothing gets through between some of them; nil: never.
	Parted *Partition
	// Data is what was sent, by the event. Events have a hash of all that was sent before, too, so
	// none of them ever has other data.
	Data map[Event][]byte
	// Nobody are connects that were refused since no node has the address: who connects, and where.
	Nobody map[Stray]bool
	// Exclusive says of a name that nodes publish whether one of them holds it at a time; nil: none
	// is one.
	Exclusive func(name string) bool
	// Crashes is how often each node may crash, by its place, where crashes are explored; nil: none
	// may.
	Crashes []int
	// Down is how often the clock advances at most while a node is down after a crash.
	Down int
}

// CrashLimit is how often a node may crash, where that is explored.
func (n *Nodes) CrashLimit(node int) int {
	if node < len(n.Crashes) {
		return n.Crashes[node]
	}
	return 0
}

// To is the node to which a connect goes; it is 0 where nobody is.
func (n *Nodes) To(address string) int {
	node, _ := n.At(address)
	return node
}

// At is who is at an address: a node, or the peers.
func (n *Nodes) At(address string) (component int, found places.Found) {
	if n.Beside != nil && n.Beside(address) {
		return n.Programs(), places.Said
	}
	return n.Places.At(address)
}

// Programs is how many nodes there are.
func (n *Nodes) Programs() int {
	if n.Beside != nil {
		return len(n.Names) - 1
	}
	return len(n.Names)
}

// IsBeside says whether a component is real peers.
func (n *Nodes) IsBeside(component int) bool { return n.Beside != nil && component == n.Programs() }

// ListensAgain says whether others can find out that a node listens at an address now: it has had a
// listener there, or nobody said that it would have one.
func (n *Nodes) ListensAgain(node int, was []string, address string) bool {
	return !n.IsBeside(node) && n.Places.IsOwn(node, address) ||
		slices.ContainsFunc(was, func(earlier string) bool { return Overlap(earlier, address) })
}

// Stray is a connect to an address that no node has.
type Stray struct{ Node, Address string }

// StraysOf says in words which connects there were to addresses that no node has.
func StraysOf(nobody map[Stray]bool) (list []string) {
	for s := range nobody {
		list = append(list, fmt.Sprintf("node %s connects to %s, which is not in the listen of any node, "+
			"so it is refused: add it to that of the node that serves it", s.Node, s.Address))
	}
	slices.Sort(list)
	return list
}

// Unvisited says in words which nodes listen, and are reached by no other one in any of these
// executions: what they do with a connection is not covered.
func (n *Nodes) Unvisited(all []skeleton.Global) (list []string) {
	listens, accepts := make([]string, n.Programs()), make([]bool, n.Programs())
	for _, g := range all {
		for c := range listens {
			for i := range g[c].Events {
				switch d := Did(&g[c].Events[i]); d.Kind {
				case model.Listen:
					listens[c] = d.Address
				case model.Accept:
					accepts[c] = true
				}
			}
		}
	}
	for c, address := range listens {
		if address != "" && !accepts[c] {
			list = append(list, fmt.Sprintf("node %s listens at %s, and accepts no connection in any "+
				"execution: what it does with one is not covered", n.Names[c], address))
		}
	}
	return list
}

// Reaches says whether a listener takes connections to an address: its own one, or any with its
// port if it listens everywhere.
func Reaches(listener, address string) bool {
	text, onlySix := strings.CutPrefix(listener, "tcp6 ")
	l, err := netip.ParseAddrPort(text)
	if err != nil || !l.Addr().IsUnspecified() {
		return text == address
	}
	// That of IPv6 takes those of IPv4, too, unless the program does not want it to.
	takesBoth := l.Addr().Is6() && !onlySix
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Port() == l.Port() && (takesBoth || a.Addr().Is6() == l.Addr().Is6())
}

// Hash is of all that was sent on a connection.
type Hash [8]byte

// Add adds what is sent next.
func (h *Hash) Add(data []byte) {
	sum := sha256.Sum256(append(h[:], data...))
	copy(h[:], sum[:])
}
