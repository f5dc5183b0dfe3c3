// Package recorded writes what nodes have done to each other as a file has it, and reads that.
//
// A file has the events of all nodes in one order that is possible. What follows from that order is
// not in it: names of events, hashes of what was sent, how often the clock has advanced. These are
// made anew when it is read.
package recorded

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/check/internal/nodes/places"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Events are the events of a global skeleton as a file has them.
func Events(g skeleton.Global, net *network.Nodes) (list []report.NodeEvent) {
	numbers := map[skeleton.Name]int{}
	for i, p := range course.Order(net, g) {
		e := &g[p.Node].Events[p.At]
		d := network.Did(e)
		numbers[e.Name] = i + 1
		list = append(list, report.NodeEvent{
			Node: p.Node + 1, Kind: d.Kind.String(), Conn: d.Conn, Address: d.Address, Data: net.Data[d],
			Taken: d.Taken, End: d.End, Failed: d.Failed, Aborts: d.Aborts, Late: d.Late, Lost: d.Lost,
			Violates: d.Violates, At: d.From, Fate: d.Fate, Time: d.Time, Own: d.Own, Paused: int(d.Paused),
			To: max(e.To, skeleton.Nobody) + 1, From: numbers[e.From],
		})
	}
	return list
}

// SetComes notes when events come to a node, by the timing of each.
func SetComes(list []report.NodeEvent, of []pace.Timing) {
	count := map[int]int{}
	for i := range list {
		e := &list[i]
		count[e.Node-1]++
		name := skeleton.Name{Component: e.Node - 1, N: count[e.Node-1]}
		switch {
		case e.To > len(of): // peers react at once
		case e.To > 0:
			e.Comes = of[e.To-1][name]
		case e.Kind == model.Broken.String(), e.Kind == model.Crashed.String():
			e.Comes = of[e.Node-1][name]
		}
	}
}

// TimingOf is the inverse of SetComes.
func TimingOf(list []report.NodeEvent, nodes int) []pace.Timing {
	of, count := make([]pace.Timing, nodes), map[int]int{}
	for c := range of {
		of[c] = pace.Timing{}
	}
	for i := range list {
		e := &list[i]
		count[e.Node-1]++
		if e.Comes > 0 {
			to := e.Node
			if e.To > 0 {
				to = e.To
			}
			of[to-1][skeleton.Name{Component: e.Node - 1, N: count[e.Node-1]}] = e.Comes
		}
	}
	return of
}

// kinds are those of events, by their names in files, which are those of report.NodeEventKinds.
var kinds = map[string]model.Kind{"connect": model.Connect, "listen": model.Listen,
	"accept": model.Accept, "send": model.Send, "receive": model.Receive, "shutdown": model.Shutdown,
	"close": model.Close, "reset": model.Broken, "pass": model.Pass, "crash": model.Crashed,
	"restart": model.Restarted, "publish": model.Publish}

// Skeleton is the inverse of Events. Hashes are made anew, of what the file has. Whatever
// a file has that nodes do not do shows when they are run.
func Skeleton(rec *report.NodesRecording, net *network.Nodes) (skeleton.Global, map[network.Event][]byte) {
	g := make(skeleton.Global, rec.Components())
	data := map[network.Event][]byte{}
	type stream struct {
		node int
		conn string
	}
	sent, taken, open := map[stream]network.Hash{}, map[stream]int{}, map[stream]bool{}
	listens := map[int][]string{} // by node
	sockets := map[string]bool{}  // for datagrams
	names := make([]skeleton.Name, len(rec.Events))
	for i := range rec.Events {
		r := &rec.Events[i]
		c := r.Node - 1
		at := stream{c, r.Conn}
		label := network.Event{Kind: kinds[r.Kind], Conn: r.Conn, Address: r.Address, Taken: r.Taken,
			End: r.End, Failed: r.Failed, Aborts: r.Aborts, Late: r.Late, Lost: r.Lost, Violates: r.Violates,
			From: r.At, Fate: r.Fate, Time: r.Time, Own: r.Own,
			Paused: network.Paused(r.Paused)}
		switch label.Kind {
		case model.Connect, model.Accept, model.Listen:
			open[at] = true
		case model.Receive:
			taken[at] = max(taken[at], r.Taken)
		case model.Publish:
			label.Sent.Add(r.Data)
			data[label] = r.Data
		case model.Send, model.Shutdown, model.Close:
			h := sent[at]
			h.Add(append([]byte(r.Kind), r.Data...))
			label.Sent = h
			if r.Conn != "" { // each listener begins anew
				sent[at] = h
			}
			if label.Kind == model.Close && r.Conn != "" {
				label.Taken, label.Unaccepted = taken[at], !open[at]
			}
			data[label] = r.Data
		}
		e := skeleton.Event{Label: label, To: r.To - 1}
		if label.Kind == model.Listen && r.Conn != "" {
			sockets[r.Conn] = true
		}
		again := label.Kind == model.Close || net.ListensAgain(c, listens[c], r.Address)
		isOfSocket := sockets[r.Conn] && (label.Kind == model.Listen || label.Kind == model.Close)
		if network.IsDoor(&e) && again || isOfSocket && !rec.Walk {
			e.To = skeleton.Everybody // as in an environment
		}
		if label.Kind == model.Listen && r.Conn == "" {
			listens[c] = append(listens[c], r.Address)
		}
		e = network.InOrder(e, c, len(g[c].Events)+1)
		if label.Kind == model.Pass {
			e.Tick = 1 + network.Ticks(g[c].Events)
		}
		if r.From > 0 {
			e.From = names[r.From-1]
			e.Got = g[e.From.Component].Events[e.From.N-1].Label
		}
		names[i] = e.Name
		g[c].Events = append(g[c].Events, e)
	}
	return g, data
}

// Net is what the nodes of a file know of each other, but for what they send.
func Net(rec *report.NodesRecording) (*network.Nodes, error) {
	net := &network.Nodes{Ordered: slices.Repeat([]bool{true}, rec.Components()),
		Parted: partitionOf(rec.Partition)}
	var given []places.Given
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		net.Names = append(net.Names, n.Name)
		given = append(given, places.Given{Name: n.Name, Listen: n.Listen, Own: n.World.Addresses})
	}
	held := map[string]bool{}
	for i := range rec.Events {
		if e := &rec.Events[i]; e.Kind == model.Publish.String() && e.End {
			held[e.Address] = true
		}
	}
	// A name that no node holds when it ends makes no difference.
	net.Exclusive = func(name string) bool { return held[name] }
	if rec.Peers != "" {
		there := map[string]bool{}
		for i := range rec.Events {
			// They have closed a listener where a connect was refused.
			if e := &rec.Events[i]; e.To > len(rec.Nodes) || e.Node > len(rec.Nodes) {
				there[e.Address] = true
			}
		}
		net.Names = append(net.Names, rec.Peers)
		net.Beside = func(address string) bool { return there[address] }
	}
	var err error
	net.Places, err = places.New(given)
	return net, err
}

// Node is a node as a file has it, with what was chosen in each of its lives, and the schedules
// that these followed. What has come of it is left out.
func Node(node given.Node, o sut.Options, chosen [][]report.Chosen, lives []sut.Schedule,
) (n report.NodeRecording) {
	n.Name, n.Listen, n.Draws, n.Schedule = node.Name, node.Listen, lives[0].Draws, chosen[0]
	n.Program = report.Program{Package: node.Package, Args: o.Args, Env: o.Env, Directory: o.Dir,
		World: o.Environment, Preemptible: node.Program.Open, Races: node.Program.Races,
		Tags: node.Program.Tags, GoVersion: node.Program.Version, Build: node.Program.Hash}
	for i, schedule := range chosen[1:] {
		n.Later = append(n.Later, report.NodeLife{Draws: lives[i+1].Draws, Schedule: schedule})
	}
	return n
}

// Options are those of the worker of a node.
func Options(n *report.NodeRecording) sut.Options {
	return sut.Options{Args: n.Args, Env: n.Env, Dir: n.Directory, Environment: n.World}
}

// Partition is a partition as a file has it; nil: there is none.
func Partition(p *network.Partition) *report.NodesPartition {
	if p == nil {
		return nil
	}
	r := &report.NodesPartition{From: p.From, Until: p.Until, Then: Partition(p.Then)}
	for _, l := range p.Links {
		r.Links = append(r.Links, [2]int{l[0] + 1, l[1] + 1})
	}
	return r
}

// partitionOf is the inverse of Partition.
func partitionOf(r *report.NodesPartition) *network.Partition {
	if r == nil {
		return nil
	}
	p := &network.Partition{From: r.From, Until: r.Until, Then: partitionOf(r.Then)}
	for _, l := range r.Links {
		p.Links = append(p.Links, [2]int{l[0] - 1, l[1] - 1})
	}
	return p
}

// Actions is the schedule that is recorded.
func Actions(list []report.Chosen) (prefix []model.Action) {
	for _, c := range list {
		prefix = append(prefix, model.Action{Goroutine: model.GoroutineID(c.Goroutine), Choice: c.Choice})
	}
	return prefix
}

// Now is what a program does when it is run again: its hash, how it ends, and the hash of its log.
type Now struct{ Build, Outcome, EventLog string }

// Compare tells in what the same program does something else than what is recorded; nil: in
// nothing, or it is another program. The hash is of every event, addresses included. What others do
// plays no part, since each node gets what is recorded that they have sent.
func (now Now) Compare(n *report.NodeRecording) error {
	switch {
	case now.Build != n.Build:
	case now.Outcome != n.Outcome:
		return fmt.Errorf("node %s ended with %q, recorded is %q: check the nodes again", n.Name,
			now.Outcome, n.Outcome)
	case now.EventLog != n.EventLog:
		return fmt.Errorf("node %s: the event log differs from the one recorded: check the nodes again",
			n.Name)
	}
	return nil
}
