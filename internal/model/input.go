package model

import (
	"fmt"
	"strconv"
	"time"
)

// Kind says what an input does. The numbers are those of files and of the shared memory.
type Kind uint8

// The inputs that a peer group can be given.
const (
	Connect  Kind = iota + 1 // open connection Conn to Addr
	Send                     // send Data, which is not empty, on Conn
	Shutdown                 // end the stream towards the peer (half close)
	Close                    // close both directions of a connection, or a listener
	Choose                   // start the group so that it behaves in way Conn: the first input
	Listen                   // accept what the group connects to Addr: Conn is the listener
	Pass                     // let time pass for the group: Conn is 0, see Input.Most
	Kinds                    // greater than all kinds
)

// What a program takes of what has arrived. Only the exploration of several programs is told; no
// peer group is.
const (
	Receive Kind = Kinds + iota // read Data on Conn; without Data, the end of the stream
	Accept                      // accept Conn, which was opened before
	Broken                      // Conn is reset by the other end: not an input, but noted among these
	// Disk changes what is on the program's disk, or makes changes durable: see Operation. It is
	// given before that is done.
	Disk
	Crashed   // the program has crashed: not an input, but noted among these
	Restarted // and runs again
	Publish   // from now on, Data is the value of Addr, for properties of several programs
)

var kindNames = [Kinds]string{
	Connect: "connect", Send: "send", Shutdown: "shutdown", Close: "close", Choose: "choose",
	Listen: "listen", Pass: "pass",
}

// String names the kind the way messages do.
func (k Kind) String() string {
	switch k {
	case Receive:
		return "receive"
	case Accept:
		return "accept"
	case Broken:
		return "reset"
	case Disk:
		return "disk"
	case Crashed:
		return "crash"
	case Restarted:
		return "restart"
	case Publish:
		return "publish"
	}
	if k < Kinds && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText names the kind the way files do.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText has written for a kind that there is.
func (k *Kind) UnmarshalText(text []byte) error {
	for kind := Connect; kind < Kinds; kind++ {
		if kindNames[kind] == string(text) {
			*k = kind
			return nil
		}
	}
	return fmt.Errorf("unknown kind of input %q", text)
}

// Input is one thing done to the peer group. Connections and listeners are numbered together, by
// their order in an execution: 0 is the first one, refused ones included. Close ends either.
type Input struct {
	Kind Kind   `json:"kind"`
	Conn int    `json:"conn"`           // Choose: the behaviour
	Addr string `json:"addr,omitempty"` // Connect and Listen; of a Publish, the name
	Data []byte `json:"data,omitempty"` // Send; of a Publish, the value
	// Behaviour is, of the first Connect or Listen of an execution, the way in which the peers
	// behave, from 0 on.
	Behaviour int `json:"behaviour,omitempty"`
	// Most is, of a Pass, how far time may go at most: to the next timer of the program. With 0
	// the program has none, and time goes to the first timer of the group that makes it do
	// something. With Once it goes to the timer that is due first, whenever that is, and no
	// further; the program's clock then stays as it is.
	Most time.Duration `json:"most,omitempty"`
	// Name is, of a Connect or Listen in connection scope, the same in all executions in which
	// the goroutine opens this connection. Each connection then has a tree of its own in the I/O
	// cache, which this name finds.
	Name string `json:"-"`
	// From is, of a Connect over TCP, where the program has put its end of the connection; empty:
	// nowhere. Only the exploration of several programs is told of it.
	From string `json:"-"`
	// Failed says, of a Close, that a fault of the network is why. Peers cannot tell. Silent says
	// that nothing gets through any more, this included. Only the exploration of several programs
	// is told of it.
	Failed, Silent bool `json:"-"`
	// Operation is, of a Disk, what is to be done, for people: "sync /var/db". Unsynced is, of any
	// input of a program that may crash, how many operations on its disk are not durable yet.
	Operation string `json:"-"`
	Unsynced  int    `json:"-"`
}

// Once is Input.Most of a Pass to the first timer of the peers.
const Once time.Duration = 1

// Opens says whether the input makes a connection or a listener.
func (in Input) Opens() bool { return in.Kind == Connect || in.Kind == Listen }

// String shows the input on one line; long data is cut short.
func (in Input) String() string {
	switch in.Kind {
	case Connect, Listen:
		return fmt.Sprintf("%s %d %s", in.Kind, in.Conn, in.Addr) + named(in.Name)
	case Send, Receive:
		return fmt.Sprintf("%s %d %s", in.Kind, in.Conn, quote(in.Data))
	case Disk:
		return in.Kind.String() + " " + in.Operation
	case Publish:
		return in.Kind.String() + " " + in.Addr + " " + quote(in.Data)
	case Pass:
		if in.Most > 0 {
			return fmt.Sprintf("%s %d at most %v", in.Kind, in.Conn, in.Most)
		}
		return fmt.Sprintf("%s %d", in.Kind, in.Conn)
	default:
		return fmt.Sprintf("%s %d", in.Kind, in.Conn)
	}
}

// named shows the name of a connection, if it has one.
func named(name string) string {
	if name == "" {
		return ""
	}
	return " as " + strconv.Quote(name)
}

// quote shows up to 40 bytes, and says how many there are if that is not all.
func quote(data []byte) string {
	const shown = 40
	if len(data) <= shown {
		return strconv.Quote(string(data))
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.Quote(string(data[:shown])), len(data))
}
