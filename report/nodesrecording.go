package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/internal/textutil"
)

// NodesRecording is a counterexample of several programs as a file: what each node was, its
// schedule, and all that nodes did to each other, in the order in which they do it again. The file
// is made like that of a Recording:
//
//	{"tandem_recording":3,"violated":1,"directory":"/src/examples/nodes/counter"}
//	{"node":{"name":"server","listen":"127.0.0.1:7100","package":"./server",...}}
//	{"choose":{"goroutine":"1","choice":0}}
//	{"node":{"name":"client","package":"./client",...}}
//	{"choose":{"goroutine":"1","choice":0}}
//	{"event":{"node":1,"kind":"listen","addr":"127.0.0.1:7100"}}
//	{"event":{"node":2,"kind":"connect","conn":"client#1","addr":"127.0.0.1:7100","to":1}}
//	{"event":{"node":1,"kind":"accept","conn":"client#1","from":2}}
//	{"sha256":"2c26b46b..."}
//
// Choices are those of the node above them. After a line such as {"again":7} they are those of its
// next life. If the network is parted, the first line says when:
//
//	"partition":{"links":[[1,2]],"from":0,"until":2,"then":{"links":[[1,2]],"from":4,"until":5}}
type NodesRecording struct {
	// Directory is the one from which packages are seen: that of the configuration.
	Directory string
	// Violated is the number of the node that has the violation. Nodes are numbered from 1 on.
	Violated int
	Nodes    []NodeRecording
	Events   []NodeEvent
	// Partition is when nothing gets through between some nodes; nil: never.
	Partition *NodesPartition
	// Walk says that events have the time at which they come.
	Walk bool
	// Apart says that the violation is a data race, and that the order of the events does not order
	// the accesses to memory between them.
	Apart bool
	// Peers is the name of real peers beside the nodes; empty: there are none. Their events have
	// the number after the last node.
	Peers string
}

// Components is how many there are that have events: the nodes, and all peers together.
func (r *NodesRecording) Components() int {
	if r.Peers != "" {
		return len(r.Nodes) + 1
	}
	return len(r.Nodes)
}

// NodesPartition is a time in which nothing gets through between some nodes.
type NodesPartition struct {
	// Links are the pairs of nodes between which that is so, by their numbers.
	Links [][2]int `json:"links"`
	// It begins when the clock has advanced From times, and ends when it advances for the Until-th
	// time.
	From  int `json:"from"`
	Until int `json:"until"`
	// Then is the next one, which begins later than this one ends; nil: there is none.
	Then *NodesPartition `json:"then,omitempty"`
}

// NodeRecording is one of the nodes.
type NodeRecording struct {
	NodeHeader
	Schedule []Chosen
	// Later are its lives after a crash, in order.
	Later []NodeLife
}

// NodeLife is what a node does after it has crashed, and runs again.
type NodeLife struct {
	Draws    uint64 // as in NodeHeader
	Schedule []Chosen
}

// NodeHeader is what a node was, and what the replay of it has to show.
type NodeHeader struct {
	Name   string `json:"name"`
	Listen string `json:"listen,omitempty"` // where others reach it
	// Draws says which random numbers the program gets.
	Draws uint64 `json:"draws,omitempty"`
	Program
	Expectation
}

// NodeEvent is something that a node does to others, or takes from them.
type NodeEvent struct {
	Node int `json:"node"` // its number
	// Kind is one of NodeEventKinds.
	Kind string `json:"kind"`
	Conn string `json:"conn,omitempty"` // the same at both ends
	// Address is that of a connect, a listen, and the close of a listener; of a publish, the name.
	Address string `json:"addr,omitempty"`
	// At is, of a connect, where the program has put its end; empty: nowhere. Of a datagram that is
	// sent it is where that comes from, and Fate is one of NodeEventFates; empty: it arrives.
	At   string `json:"at,omitempty"`
	Fate string `json:"fate,omitempty"`
	Data []byte `json:"data,omitempty"` // that is sent, or published
	// Taken is how many bytes of the connection were read by then. With End a receive has found the
	// end of the stream instead, and a reset comes after that. A publish with End is made by the
	// end of the node, which holds the name no more.
	Taken int  `json:"taken,omitempty"`
	End   bool `json:"end,omitempty"`
	// Failed says that the network has closed the connection.
	Failed bool `json:"failed,omitempty"`
	// Aborts says, of a close, that the network was parted, and something had come before that
	// which was not read.
	Aborts bool `json:"aborts,omitempty"`
	// Late is, of what is sent on a slow connection, after how many advances of the clock it
	// arrives. In a walk it is -1: Comes says when.
	Late int `json:"late,omitempty"`
	// Lost is how many changes of the disk a crash loses at most: the last that are not durable.
	Lost int `json:"lost,omitempty"`
	// Violates says, of a publish, what is wrong with it.
	Violates string `json:"violates,omitempty"`
	// Time is what the common clock shows when it has advanced, and Own says that a timer of the
	// node itself is due then.
	Time time.Duration `json:"time,omitempty"`
	Own  bool          `json:"own,omitempty"`
	// Paused says, of an advance of the clock, that the node does not run then: 1 or 2 where a
	// pause begins, and 3 where it goes on. After 2, timers fire before what has come is there.
	Paused int `json:"paused,omitempty"`
	// To is the number of the node that is to receive it; 0: nobody is.
	To int `json:"to,omitempty"`
	// From is the number of the event that it takes something of, in the order of the file and from
	// 1 on; 0: it takes nothing.
	From int `json:"from,omitempty"`
	// Comes is, of a walk, when it comes to node To, and a reset or a crash to its own node. It
	// counts the inputs of that and the advances of the clock by then, two for each. 0: it does not
	// come. Of an exploration, only crashes have it.
	Comes int `json:"comes,omitempty"`
}

// NodeEventKinds are the kinds of events. Names are part of the format.
var NodeEventKinds = []string{"connect", "listen", "accept", "send", "receive", "shutdown", "close", "reset",
	"pass", "crash", "restart", "publish"}

// NodeEventFates are what becomes of datagrams. A copy is one that the network makes of the one
// before. Names are part of the format.
var NodeEventFates = []string{"lost", "late", "copy", "parted", "refused"}

// versionNodes is the format of recordings of several programs.
const versionNodes = 3

// mostNodes bounds how many nodes a recording has.
const mostNodes = 64

// nodesHeader is the first line.
type nodesHeader struct {
	Version   int             `json:"tandem_recording"`
	Violated  int             `json:"violated"`
	Directory string          `json:"directory,omitempty"`
	Partition *NodesPartition `json:"partition,omitempty"`
	Walk      bool            `json:"walk,omitempty"`
	Apart     bool            `json:"apart,omitempty"`
	Peers     string          `json:"peers,omitempty"`
}

// nodesPart is a line of the file: exactly one of its fields is set.
type nodesPart struct {
	Node   *NodeHeader `json:"node,omitempty"`
	Choose *Chosen     `json:"choose,omitempty"`
	// Again is the number for the random numbers of the next life of the node above it.
	Again *uint64    `json:"again,omitempty"`
	Event *NodeEvent `json:"event,omitempty"`
}

// SaveNodes writes a recording as Save does.
func SaveNodes(path string, r *NodesRecording) error {
	return save(path, r.validate, r.encode)
}

// LoadAny reads a recording of one program, or of several: the other result is nil. Errors are as
// those of Load.
func LoadAny(path string) (one *Recording, several *NodesRecording, err error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, nil, fmt.Errorf("load recording: %w", err)
	}
	body, format, err := checkFrame(text)
	switch {
	case err != nil:
	case format == versionNodes:
		several, err = decodeNodes(body)
	default:
		one, err = decodeBody(body)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("load recording %s: %w; name another file, or make it again by a "+
			"check", path, err)
	}
	return one, several, nil
}

// Names are those of its nodes.
func (r *NodesRecording) Names() (list []string) {
	for i := range r.Nodes {
		list = append(list, r.Nodes[i].Name)
	}
	return list
}

// SameNodes reports whether two recordings are of the same programs, seen from the same directory,
// built with the same tags and run in the same way.
func (r *NodesRecording) SameNodes(other *NodesRecording) bool {
	return r.Directory == other.Directory &&
		slices.EqualFunc(r.Nodes, other.Nodes, func(a, b NodeRecording) bool {
			return a.Name == b.Name && a.Listen == b.Listen && a.SameProgram(&b.Program)
		})
}

// SameProgram reports whether two recordings are of the same program, built with the same tags, and
// run in the same way: with the same arguments and environment, with peers or without.
func (p *Program) SameProgram(other *Program) bool {
	return p.Package == other.Package && p.Directory == other.Directory && p.Tests == other.Tests &&
		slices.Equal(p.Args, other.Args) && slices.Equal(p.Tags, other.Tags) &&
		slices.Equal(p.Env, other.Env) && p.Peers == other.Peers
}

// encode is the text of a file.
func (r *NodesRecording) encode() ([]byte, error) {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	err := lines.Encode(nodesHeader{versionNodes, r.Violated, r.Directory, r.Partition, r.Walk, r.Apart,
		r.Peers})
	for i := range r.Nodes {
		node := &r.Nodes[i]
		err = errors.Join(err, lines.Encode(nodesPart{Node: &node.NodeHeader}))
		for j := range node.Schedule {
			err = errors.Join(err, lines.Encode(nodesPart{Choose: &node.Schedule[j]}))
		}
		for j := range node.Later {
			life := &node.Later[j]
			err = errors.Join(err, lines.Encode(nodesPart{Again: &life.Draws}))
			for k := range life.Schedule {
				err = errors.Join(err, lines.Encode(nodesPart{Choose: &life.Schedule[k]}))
			}
		}
	}
	for i := range r.Events {
		err = errors.Join(err, lines.Encode(nodesPart{Event: &r.Events[i]}))
	}
	return sealed(&text, err)
}

// decodeNodes reads what checkFrame has left of a file. An error names the line.
func decodeNodes(body []byte) (*NodesRecording, error) {
	lines := bufio.NewReader(bytes.NewReader(body))
	var first nodesHeader
	if err := decodeLine(lines, &first); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	r := &NodesRecording{Violated: first.Violated, Directory: first.Directory,
		Partition: first.Partition, Walk: first.Walk, Apart: first.Apart, Peers: first.Peers}
	for number := 2; ; number++ {
		var p nodesPart
		err := decodeLine(lines, &p)
		if err == io.EOF {
			return r, r.validate()
		}
		if err == nil {
			err = r.add(p)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// add takes over what a line holds.
func (r *NodesRecording) add(p nodesPart) error {
	switch {
	case p == nodesPart{Node: p.Node} && p.Node != nil:
		r.Nodes = append(r.Nodes, NodeRecording{NodeHeader: *p.Node})
	case p == nodesPart{Choose: p.Choose} && p.Choose != nil:
		if len(r.Nodes) == 0 {
			return errors.New("a choice of no node: want the node before")
		}
		last := &r.Nodes[len(r.Nodes)-1]
		if n := len(last.Later); n > 0 {
			last.Later[n-1].Schedule = append(last.Later[n-1].Schedule, *p.Choose)
		} else {
			last.Schedule = append(last.Schedule, *p.Choose)
		}
	case p == nodesPart{Again: p.Again} && p.Again != nil:
		if len(r.Nodes) == 0 {
			return errors.New("no node runs again: want the node before")
		}
		last := &r.Nodes[len(r.Nodes)-1]
		last.Later = append(last.Later, NodeLife{Draws: *p.Again})
	case p == nodesPart{Event: p.Event} && p.Event != nil:
		r.Events = append(r.Events, *p.Event)
	default:
		return errors.New("want exactly one of node, choose and event")
	}
	return nil
}

// validate checks what the types leave open, in recordings that are read or written.
func (r *NodesRecording) validate() error {
	if n := len(r.Nodes); n < 2 || n > mostNodes || r.Violated < 1 || r.Violated > n {
		return fmt.Errorf("%s, and number %d has the violation: want 2 to %d nodes, and one of them",
			textutil.CountOf(n, "node"), r.Violated, mostNodes)
	}
	names := map[string]bool{r.Peers: true}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Name == "" || names[n.Name] {
			return fmt.Errorf("node %d has the name %q: want one of its own", i+1, n.Name)
		}
		names[n.Name] = true
		for _, life := range append([]NodeLife{{Schedule: n.Schedule}}, n.Later...) {
			one := Recording{Program: n.Program, Schedule: life.Schedule, Expect: n.Expectation}
			if err := one.validateFile(); err != nil {
				return fmt.Errorf("node %s: %w", n.Name, err)
			}
		}
	}
	if err := r.Partition.validate(len(r.Nodes)); err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	for i := range r.Events {
		if err := r.validateEvent(i); err != nil {
			return fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	if err := r.validatePauses(); err != nil {
		return err
	}
	return r.validateLives()
}

// validateLives checks that nodes crash and run again in turns, and have a schedule for each life.
func (r *NodesRecording) validateLives() error {
	down, restarts := make([]bool, r.Components()), make([]int, r.Components())
	for i := range r.Events {
		e := &r.Events[i]
		n := e.Node - 1
		switch e.Kind {
		case "crash", "restart":
			if down[n] == (e.Kind == "crash") {
				return fmt.Errorf("event %d: %s of node %d, want a crash and a restart in turns", i+1, e.Kind,
					e.Node)
			}
			if down[n] = !down[n]; !down[n] {
				restarts[n]++
			}
		case "close", "pass": // what it had open is closed
		default:
			if down[n] {
				return fmt.Errorf("event %d: %s of node %d, which has crashed: want a restart before", i+1,
					e.Kind, e.Node)
			}
		}
	}
	for n := range r.Nodes {
		if lives := len(r.Nodes[n].Later); lives != restarts[n] {
			return fmt.Errorf("node %s runs again %s, and has %s for that: want as many", r.Nodes[n].Name,
				textutil.CountOf(restarts[n], "time"), textutil.CountOf(lives, "schedule"))
		}
	}
	return nil
}

// validate checks the partition of so many nodes.
func (p *NodesPartition) validate(nodes int) error {
	if p == nil {
		return nil
	}
	if p.From < 0 || p.Until <= p.From || len(p.Links) == 0 {
		return fmt.Errorf("%s from %d until %d: want some, and a later end", textutil.CountOf(len(p.Links),
			"link"), p.From, p.Until)
	}
	for _, l := range p.Links {
		if l[0] < 1 || l[0] >= l[1] || l[1] > nodes {
			return fmt.Errorf("between node %d and node %d, and there are %d: want the smaller one first",
				l[0], l[1], nodes)
		}
	}
	if p.Then != nil && p.Then.From <= p.Until {
		return fmt.Errorf("one begins at %d, and the one before it ends at %d: want a later one",
			p.Then.From, p.Until)
	}
	return p.Then.validate(nodes)
}

// validateEvent checks the event at a place of the list.
func (r *NodesRecording) validateEvent(i int) error {
	e := &r.Events[i]
	if !slices.Contains(NodeEventKinds, e.Kind) {
		return fmt.Errorf("kind %q, want one of %q", e.Kind, NodeEventKinds)
	}
	if n := r.Components(); e.Node < 1 || e.Node > n || e.To < 0 || e.To > n || e.To == e.Node {
		return fmt.Errorf("of node %d to node %d, and there are %d", e.Node, e.To, n)
	}
	if e.From < 0 || e.From > i || e.Taken < 0 || e.Time < 0 || e.Comes < 0 {
		return fmt.Errorf("of event %d, with %d bytes at %v: want an earlier event, and nothing negative",
			e.From, e.Taken, e.Time)
	}
	if err := r.validateFrom(e); err != nil {
		return err
	}
	if len(e.Data) > 0 && e.Kind != "send" && e.Kind != "publish" || e.Kind == "pass" && e.Time == 0 {
		return fmt.Errorf("%s with %d bytes at %v: only send and publish have some, and pass has a time",
			e.Kind, len(e.Data), e.Time)
	}
	if e.Violates != "" && e.Kind != "publish" || e.Kind == "publish" && (e.To > 0 || e.Address == "") {
		return fmt.Errorf("%s of %q to node %d, which violates %.64q: only a publish can do that, which has "+
			"a name, and nobody receives it", e.Kind, e.Address, e.To, e.Violates)
	}
	if e.Kind == "publish" && e.End && (e.Violates != "" || len(e.Data) > 0) {
		return fmt.Errorf("publish of %q at the end of a node, with %d bytes, which violates %.64q: want "+
			"nothing", e.Address, len(e.Data), e.Violates)
	}
	if (e.Kind == "crash" || e.Kind == "restart" || e.Kind == "pass") && e.To > 0 || e.Lost < 0 ||
		e.Lost > 0 && e.Kind != "crash" {
		return fmt.Errorf("%s to node %d, which loses %d changes: nobody receives it, and only a crash "+
			"loses some", e.Kind, e.To, e.Lost)
	}
	if e.At != "" && e.Kind != "connect" && (e.Kind != "send" || e.Address == "") {
		return fmt.Errorf("%s from %.64q: only a connect or a datagram is from somewhere", e.Kind, e.At)
	}
	arrives := e.Fate == "" || e.Fate == "late" || e.Fate == "copy"
	if e.Fate != "" && (!slices.Contains(NodeEventFates, e.Fate) || e.At == "" || e.Kind != "send") ||
		!arrives && e.To > 0 {
		return fmt.Errorf("%s to node %d, which is %.64q: only a datagram is one of %q, and who gets it",
			e.Kind, e.To, e.Fate, NodeEventFates)
	}
	streams := (e.Kind == "send" || e.Kind == "shutdown" || e.Kind == "close") && e.Conn != "" &&
		e.Address == "" && e.To > 0
	if e.Late < 0 && (e.Late < -1 || !r.Walk) || e.Late != 0 && !streams {
		return fmt.Errorf("%s to node %d, %d advances of the clock late: only what is sent on a connection "+
			"is late, and only in a walk by -1", e.Kind, e.To, e.Late)
	}
	if e.Failed && e.Kind != "close" && e.Kind != "connect" {
		return fmt.Errorf("%s that the network does: only a close or a connect can be that", e.Kind)
	}
	return nil
}

// validateFrom checks what an event takes something of.
func (r *NodesRecording) validateFrom(e *NodeEvent) error {
	var from NodeEvent // none
	if e.From > 0 {
		from = r.Events[e.From-1]
	}
	if e.Kind == "connect" {
		// A connect takes something of a listener that was closed, or was there again. If it takes
		// nothing, it comes before all of these.
		want := map[bool]string{true: "close", false: "listen"}[e.Failed]
		if e.From > 0 && (from.Kind != want || from.Conn != "" || from.Node == e.Node) ||
			e.Failed && e.To > 0 {
			return fmt.Errorf("a connect of event %d to node %d, refused: %t; want the %s of a listener",
				e.From, e.To, e.Failed, want)
		}
		return nil
	}
	if e.Kind == "publish" {
		// What is wrong with it is what another node has published.
		if e.From > 0 && (from.Kind != "publish" || from.Address != e.Address || e.Violates == "") {
			return fmt.Errorf("publish of event %d: want another publish of %q, because of which it is "+
				"wrong", e.From, e.Address)
		}
		return nil
	}
	if e.Kind == "send" && e.Address != "" {
		// A datagram takes something of a socket that was opened or closed by then.
		isOfSocket := from.Conn != "" && (from.Kind == "listen" || from.Kind == "close")
		if e.From > 0 && (!isOfSocket || from.Node == e.Node) {
			return fmt.Errorf("datagram of event %d: want the listen or close of a socket of another node",
				e.From)
		}
		return nil
	}
	takes := e.Kind == "accept" || e.Kind == "receive" || e.Kind == "reset" ||
		e.Kind == "close" && from.Kind == "connect" // that nobody has accepted
	if takes != (e.From > 0) || takes && from.To != e.Node {
		return fmt.Errorf("%s of event %d: only accept, receive and reset are of an event, which is to "+
			"the node", e.Kind, e.From)
	}
	return nil
}
