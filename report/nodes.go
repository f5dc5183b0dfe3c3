package report

import (
	"strings"
	"time"
)

// Node is one of several programs that were checked together.
type Node struct {
	Name    string
	Package string // as the configuration names it
	Args    []string
	Listen  string // the address at which others reach it; empty: nowhere
	// Group is the name of the nodes with which it is one component; empty: it is one by itself.
	Group string
}

// Together is what was checked, of several programs: the nodes, each with its package. It is not
// made printable yet.
func (r Run) Together() string {
	var nodes []string
	for _, n := range r.Nodes {
		nodes = append(nodes, n.Name+" ("+n.Package+")")
	}
	return "nodes " + strings.Join(nodes, ", ")
}

// NodeStep is something that a node does and others can notice, or that it takes from others.
// Without a node it is about all of them: the common clock advances.
type NodeStep struct {
	Node string
	What string // in words
	// Kind is one of NodeEventKinds; pass is that of an advance of the clock. Or it is part or
	// heal: from then on nothing gets through to other nodes, and then it does again. Or it is
	// arrive: from then on there is what was late on a slow connection. Or it is pause or resume:
	// in between the node does not run.
	Kind    string
	Conn    string        // the same at both ends; empty: it is about none
	Address string        // of a connect, a listen, and the close of a listener; what is published
	Data    string        // bytes that are sent, or the value that is published
	Taken   int           // bytes of the connection that were read by then
	Time    time.Duration // what the clock shows, when it has advanced
}

// NodesCounts says how much of several programs was explored.
type NodesCounts struct {
	// Skeletons is in how many ways the nodes talk to each other. Local is how many executions of
	// single nodes there are in these, and Global how many of all together they stand for.
	Skeletons, Local int
	Global           float64
	// Traces are, of each skeleton, how many executions there are of each component in it: of each
	// node, or of a group of them. Their product is how many of all nodes together that stands for.
	Traces [][]int
}
