// Package protocol checks protocols whose nodes are deterministic state machines, written in plain
// Go: an own Paxos, a lease, the core of a replicated log. It runs every behaviour within bounds,
// in go test, on the types of production. If something can go wrong, it shows a shortest run to it
// as a message sequence chart.
//
// A node is a value with a method Receive. What it keeps is its local state; the messages under way
// are the network. A handler runs once for each local state and event, and all searches walk what
// is remembered of it. For that the package turns states of nodes and messages into bytes and back,
// by reflection, unexported fields included.
//
// The ideas are those of "Model Checking a Networked System Without the Network" (Guerraoui,
// Yabandeh; NSDI 2011) and "Efficient Model Checking of Fault-Tolerant Distributed Protocols"
// (Bokor, Kinder, Serafini, Suri; DSN 2011).
//
// # How it is used
//
// A Model has the nodes, the network with its faults, and the properties. Test checks it in a test,
// and Check anywhere else. The example below is all of a first protocol.
//
// # What may happen
//
// Anything that the network, the timers and the application could do, in any order. Messages that
// are under way may arrive, as the Network has it. Timers that are set may fire. Actions may be
// done, and nodes may crash, as often as the Faults allow. Within a handler Env.Choose is a choice
// of the node's own. There is no time: what comes first is a matter of choice.
//
// # What a verdict means
//
// Holds is said of all runs of the model within its faults. It rests on two assumptions. Handlers
// are deterministic, of which a sample is tested. And their states have images, which is refused
// where it is not so. Unknown names the bound at which the search has ended.
//
// # How large a model may be
//
// States are few tens of bytes, and a processor walks through a million transitions in a second or
// so. The number of states grows with the number of messages that are under way at the same time.
// So let the application do little, and nodes forget what they need no more. Equal states are one.
//
// The package needs the standard library only, and runs wherever Go does. It is independent of the
// rest of Tandem. Package linearizable beside it needs Porcupine.
package protocol

import "strconv"

// ID is a node: its index in Model.Nodes.
type ID int

func (id ID) String() string { return strconv.Itoa(int(id)) }

// Node is one node of a protocol. It is a pointer to what the node keeps. Handlers run on copies of
// it, so they must not reach anything else that changes: no global variables, no channels, no
// goroutines, no clock. What a handler does may depend on nothing but the node and its arguments.
type Node interface {
	// Receive handles a message. It may keep the message, and change it.
	Receive(env *Env, from ID, message any)
}

// Starter is a node that does something at the start, and after each restart.
type Starter interface {
	Node
	Start(env *Env)
}

// Timed is a node with timers. A timer that was set (Env.SetTimer) may fire at any time, since the
// network may take any time. It is set no longer when it fires.
type Timed interface {
	Node
	Timeout(env *Env, timer any)
}

// Actor is a node that the application calls, or that does something by itself.
type Actor interface {
	Node
	// Actions lists what may be done in the present state. It changes nothing.
	Actions() []any
	// Act does one of them.
	Act(env *Env, action any)
}

// Restarter is a node that can crash. While it is down nothing arrives, and its timers are gone.
type Restarter interface {
	Node
	// Crash forgets what was not persisted.
	Crash()
}

// Quorate is a node that takes some messages as sets.
type Quorate interface {
	Node
	// Quorums lists the quorum transitions of the present state, 64 at most. It changes nothing. A
	// message that one of them waits for does not come to Receive in this state.
	Quorums() []Quorum
}

// Quorum is a transition that consumes a set of messages of different senders in one step. That is
// equal to counting them one by one, and has far fewer states (Bokor et al., section III).
type Quorum struct {
	// Name is for charts.
	Name string
	// Waits says whether a message may be a part of the set.
	Waits func(from ID, message any) bool
	// Size is how many messages are consumed. If it is zero, Enough decides, and all sets are
	// tried.
	Size int
	// Enough says whether exactly these messages are accepted. Nil: any set of the right size is.
	Enough func(set []Message) bool
	// Handle handles them. They are in the order of their senders.
	Handle func(env *Env, set []Message)
}

// Message is a message as a quorum transition sees it.
type Message struct {
	From ID
	Body any
}

// Summarizer is a node of which charts show less than all. It is for nodes with much inside, such
// as those of a library.
type Summarizer interface {
	Node
	// Summary is what a person wants to know of the node. Charts show what changes in it.
	Summary() any
}

// Stater is a node that images itself, which is faster than reflection.
type Stater interface {
	Node
	// AppendState appends all that the node keeps, in a form in which equal states are equal bytes.
	AppendState(data []byte) []byte
	// SetState is the reverse. It is called on a shallow copy of the node in the model, and keeps
	// no part of data.
	SetState(data []byte) error
}
