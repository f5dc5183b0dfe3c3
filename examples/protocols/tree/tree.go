// Package tree is the protocol by which "Model Checking a Networked System Without the Network"
// (Guerraoui, Yabandeh; NSDI 2011) explains its search, in section 2: the root of a tree sends a
// message, which is passed on to all below it.
//
// One step is the call at the root, or the arrival of one message, with all that is passed on.
package tree

import (
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// Status is how far a node is.
type Status int

// The states of a node.
const (
	Waiting Status = iota
	Sent           // the root, or a node that has passed the message on
	Received
)

func (s Status) String() string { return [...]string{"waiting", "sent", "received"}[s] }

// The call at the root, and the message.
type (
	Send    struct{}
	Forward struct{}
)

// Node is one of the tree.
type Node struct {
	Root     bool
	Children []protocol.ID
	Status   Status
}

// Actions are to send, at the root.
func (n *Node) Actions() []any {
	if !n.Root || n.Status != Waiting {
		return nil
	}
	return []any{Send{}}
}

// Act sends the message.
func (n *Node) Act(env *protocol.Env, _ any) { n.pass(env) }

// Receive passes the message on.
func (n *Node) Receive(env *protocol.Env, _ protocol.ID, _ any) {
	if len(n.Children) == 0 {
		n.Status = Received
		return
	}
	n.pass(env)
}

func (n *Node) pass(env *protocol.Env) {
	n.Status = Sent
	for _, child := range n.Children {
		env.Send(child, Forward{})
	}
}

// Model has a node for each entry, which is the number of the node above it; that of the root,
// which is the first, does not count. Hasty is a leaf with a bug: it says that it has received the
// message at the start. Negative: there is none.
func Model(parents []int, hasty int) *protocol.Model {
	m := &protocol.Model{Properties: []protocol.Property{
		protocol.Always("nobody has received what the root has not sent", status, func(all []Status) bool {
			return all[0] == Sent || !slices.Contains(all, Received)
		}),
		protocol.Sometimes("all nodes receive it", status, func(all []Status) bool {
			return !slices.Contains(all, Waiting)
		}),
	}}
	nodes := make([]*Node, len(parents))
	for i := range parents {
		nodes[i] = &Node{Root: i == 0}
		if i > 0 {
			above := nodes[parents[i]]
			above.Children = append(above.Children, protocol.ID(i))
		}
		m.Nodes = append(m.Nodes, nodes[i])
	}
	if hasty >= 0 {
		nodes[hasty].Status = Received
	}
	return m
}

// status is the view of the properties.
func status(_ protocol.ID, node protocol.Node) Status { return node.(*Node).Status }
