package network

import (
	"cmp"
	"strings"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Circle says which nodes listen, and are never connected to, or wait at a socket to which nothing
// has come. One of them is a server without clients. Several may wait for each other.
func Circle(g skeleton.Global, names []string) string {
	var waiting []string
	for c := range g {
		listens, waits, accepted, again := false, false, false, false
		for i := range g[c].Events {
			switch d := Did(&g[c].Events[i]); {
			case d.Kind == model.Listen && d.Conn != "":
				waits = g[c].Waits != nil
			case d.Kind == model.Listen:
				listens = !again
			case d.Kind == model.Accept:
				listens, accepted = false, true
			case d.Kind == model.Crashed: // who has had its clients need not have others
				again = accepted
			case isOfDatagrams(&g[c].Events[i]):
				waits = false
			}
		}
		if listens || waits {
			waiting = append(waiting, names[c])
		}
	}
	// A server may wait alone: it is not known who else there is to come.
	if len(waiting) < 2 {
		return ""
	}
	last := len(waiting) - 1
	return "nodes " + strings.Join(waiting[:last], ", ") + " and " + waiting[last] +
		" listen, and nobody connects or sends to them: they may wait for each other"
}

// isOfDatagrams says whether an event closes a datagram socket, or reads from one.
func isOfDatagrams(e *skeleton.Event) bool {
	got, _ := e.Got.(Event)
	return e.To == skeleton.Everybody && Did(e).Conn != "" && Did(e).Kind == model.Close ||
		Did(e).Kind == model.Receive && got.Kind == model.Send && got.Address != ""
}

// Limits says why it is not known that the nodes hold, though no execution has a violation; empty:
// there is no such reason.
func Limits(system *skeleton.System, net *Nodes) string {
	realised := 0 // skeletons that executions have
	for _, s := range system.Skeletons() {
		// A node goes on where others have it end: no execution has this skeleton.
		if !s.Possible() {
			continue
		}
		realised++
		if Tick(s.Global, net) != nil {
			return "no execution was found that goes on when the clock advances"
		}
		if reason := Circle(s.Global, net.Names); reason != "" && net.IsWhole(s.Global) {
			return reason
		}
	}
	// Every system has an execution. Without one, a node did not do again
	// what it had done.
	if realised == 0 {
		return "no execution of all nodes together was found"
	}
	return ""
}

// Count adds what was explored of a system to what is known of other ones, and says how often the
// clock advances at most. Before the network has healed, an execution is none of its own: it is one
// with an earlier end.
func Count(system *skeleton.System, net *Nodes, counts skeleton.Counts, traces [][]int) (
	skeleton.Counts, [][]int, int) {
	advances := 0
	counted := map[string]bool{} // items
	for _, of := range system.Skeletons() {
		if !of.Possible() {
			continue
		}
		advances = max(advances, Advances(of.Global))
		if !net.IsWhole(of.Global) {
			continue
		}
		for i, c := range of.Components[:net.Programs()] { // peers have one execution in each
			if explored := cmp.Or(c.Like, of.Items[i]); !counted[explored] {
				counted[explored] = true
				counts.LocalTraces += c.Traces
			}
		}
		if of.Inner {
			continue // it is counted with that which looks the same from outside of groups
		}
		each := of.Each
		if net.Beside != nil { // the peers come last, and are in no group
			each = each[:len(each)-1]
		}
		traces = append(traces, each)
		counts.Skeletons, counts.GlobalTraces = counts.Skeletons+1, counts.GlobalTraces+of.Traces()
	}
	counts.Branches += system.Counts().Branches
	return counts, traces, advances
}
