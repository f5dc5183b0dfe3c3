// Package register is a register that is replicated on several servers, with one writer (Attiya,
// Bar-Noy, Dolev: "Sharing Memory Robustly in Message-Passing Systems", JACM 1995). It is
// linearizable.
package register

import (
	"fmt"

	"github.com/tandem-mc/tandem/protocol"
	"github.com/tandem-mc/tandem/protocol/linearizable"
)

// Stored is what a server has, and what clients send. The writer numbers its values from 1.
type Stored struct{ Number, Value int }

// newer returns the one with the higher number.
func newer(a, b Stored) Stored {
	if a.Number > b.Number {
		return a
	}
	return b
}

// Phase is one of an operation. A read asks, and then stores; a write stores only. Answers to
// another phase are late.
type Phase struct{ Client, Number int }

// The messages.
type (
	Ask struct{ Phase Phase }
	// Have answers to Ask.
	Have struct {
		Phase  Phase
		Stored Stored
	}
	Store struct {
		Phase  Phase
		Stored Stored
	}
	// Done answers to Store.
	Done struct{ Phase Phase }
)

// Server keeps a value.
type Server struct{ Stored Stored }

// Receive answers.
func (s *Server) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Ask:
		env.Send(from, Have{m.Phase, s.Stored})
	case Store:
		s.Stored = newer(s.Stored, m.Stored)
		env.Send(from, Done{m.Phase})
	}
}

// The operations.
type (
	Read  struct{}
	Write struct{ Value int }
)

func (Read) String() string    { return "read" }
func (w Write) String() string { return fmt.Sprint("write ", w.Value) }

// Begin is the action that a client begins its next operation.
type Begin struct{ Client int }

// Clients is all clients in one node, so that their calls and returns have one order.
type Clients struct {
	List    []Client
	History linearizable.History
	// NoWriteBack is a bug: reads do not store what they return.
	NoWriteBack bool
}

// Client does one operation after the other.
type Client struct {
	Operations []any // of which the first is under way if Busy
	Busy       bool
	Phase      Phase
	IsStoring  bool
	Answers    int
	Written    int    // values
	Latest     Stored // that has come in this operation, or is stored
}

// Actions are to begin operations.
func (c *Clients) Actions() (list []any) {
	for i, client := range c.List {
		if !client.Busy && len(client.Operations) > 0 {
			list = append(list, Begin{i})
		}
	}
	return list
}

// Act begins one.
func (c *Clients) Act(env *protocol.Env, action any) {
	i := action.(Begin).Client
	client := &c.List[i]
	client.Busy, client.Latest = true, Stored{}
	c.History.Call(i, client.Operations[0])
	if write, ok := client.Operations[0].(Write); ok {
		client.Written++
		client.Latest = Stored{client.Written, write.Value}
		client.store(env)
		return
	}
	client.next(false)
	env.Broadcast(Ask{client.Phase})
}

// next begins a phase.
func (c *Client) next(isStoring bool) {
	c.Phase.Number++
	c.IsStoring, c.Answers = isStoring, 0
}

// store begins to store the latest value.
func (c *Client) store(env *protocol.Env) {
	c.next(true)
	env.Broadcast(Store{c.Phase, c.Latest})
}

// Receive counts answers.
func (c *Clients) Receive(env *protocol.Env, _ protocol.ID, message any) {
	switch m := message.(type) {
	case Have:
		client := &c.List[m.Phase.Client]
		if m.Phase == client.Phase && !client.IsStoring {
			client.Latest = newer(client.Latest, m.Stored)
			c.answered(env, m.Phase.Client)
		}
	case Done:
		client := &c.List[m.Phase.Client]
		if m.Phase == client.Phase && client.IsStoring {
			c.answered(env, m.Phase.Client)
		}
	}
}

// answered ends a phase when a majority of the servers has answered.
func (c *Clients) answered(env *protocol.Env, i int) {
	client := &c.List[i]
	servers := env.Nodes() - 1
	if client.Answers++; client.Answers <= servers/2 {
		return
	}
	if !client.IsStoring && !c.NoWriteBack {
		client.store(env)
		return
	}
	var output any
	if _, ok := client.Operations[0].(Read); ok {
		output = client.Latest.Value
	}
	c.History.Return(i, output)
	client.Operations, client.Busy = client.Operations[1:], false
	client.next(false) // answers that come now are late
}

// Summary is the history in words, and how many answers each client has.
func (c *Clients) Summary() any {
	s := struct {
		History map[int]string
		Answers []int
	}{History: map[int]string{}}
	for i, e := range c.History.Events {
		verb := "calls"
		if e.IsReturn {
			verb = "returns"
		}
		s.History[i] = fmt.Sprintf("client %d %s %+v", e.Client, verb, e.Value)
	}
	for _, client := range c.List {
		s.Answers = append(s.Answers, client.Answers)
	}
	return s
}

// object is a register.
var object = linearizable.Object{Init: 0, Apply: func(state, input any) (next, output any) {
	if write, ok := input.(Write); ok {
		return write.Value, nil
	}
	return state, state
}}

// Model has so many servers, and a client for each list of operations. One of them may write.
func Model(servers int, operations ...[]any) *protocol.Model {
	clients := &Clients{}
	for i, list := range operations {
		clients.List = append(clients.List, Client{Operations: list, Phase: Phase{Client: i}})
	}
	m := &protocol.Model{
		Nodes: []protocol.Node{clients}, Names: []string{"clients"},
		Properties: []protocol.Property{
			linearizable.Always("linearizable", object, history),
			protocol.Eventually("all operations end", left, func(left []int) bool { return left[0] == 0 }),
		},
	}
	for i := range servers {
		m.Nodes = append(m.Nodes, &Server{})
		m.Names = append(m.Names, fmt.Sprint("server ", i+1))
	}
	return m
}

// history is the view of the property.
func history(_ protocol.ID, node protocol.Node) (h linearizable.History) {
	if c, ok := node.(*Clients); ok {
		h = c.History
	}
	return h
}

// left is how many operations have not ended.
func left(_ protocol.ID, node protocol.Node) (n int) {
	if c, ok := node.(*Clients); ok {
		for _, client := range c.List {
			n += len(client.Operations)
		}
	}
	return n
}
