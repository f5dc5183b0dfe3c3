package nodes

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// limits says why it is not known that the nodes hold, though no execution has a violation: real
// nodes could do what the network here does not do; empty: there is no such reason.
func (x *explorer) limits() string {
	realised := 0 // skeletons that executions have
	for _, s := range x.system.Skeletons() {
		// A node goes on where others have it end: no execution has this skeleton.
		if !s.Possible() {
			continue
		}
		realised++
		if tick(s.Global) != nil {
			return "no execution was found that goes on when the clock advances"
		}
		if reason := x.reset(s.Global); reason != "" {
			return reason
		}
		if reason := x.circle(s.Global); reason != "" {
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

// reset says which connection is closed before all was read that the other node sends. A real
// network resets it (RFC 9293, section 3.10.7.1): a write can then fail, and what has arrived is
// lost. If all was read before, the other one cannot have sent it after the close.
func (x *explorer) reset(g skeleton.Global) string {
	for c := range g {
		// By connection: whether the node closes it, and how many bytes it reads. Events are in one
		// order, and nothing is read after the close.
		closed, taken := map[string]bool{}, map[string]int{}
		for i := range g[c].Events {
			e := did(&g[c].Events[i])
			closed[e.Conn] = closed[e.Conn] || e.Kind == model.Close
			taken[e.Conn] = max(taken[e.Conn], e.Taken)
		}
		for _, a := range g.Arrivals(c) {
			sent := did(&a.Send)
			id := sent.Conn
			taken[id] -= len(x.net.data[sent])
			if sent.Kind == model.Send && closed[id] && taken[id] < 0 {
				return fmt.Sprintf("node %s can close connection %s before it has read all that "+
					"node %s sends: a real write or read can then fail, and nodes do not have that yet",
					x.net.names[c], id, x.net.names[a.Send.Component])
			}
		}
	}
	return ""
}

// circle says which nodes listen, and are never connected to. One of them is a server without
// clients. Several may wait for each other.
func (x *explorer) circle(g skeleton.Global) string {
	var waiting []string
	for c := range g {
		listens := false
		for i := range g[c].Events {
			switch did(&g[c].Events[i]).Kind {
			case model.Listen:
				listens = true
			case model.Accept:
				listens = false
			}
		}
		if listens {
			waiting = append(waiting, x.net.names[c])
		}
	}
	// A server may wait alone: it is not known who else there is to come.
	if len(waiting) < 2 {
		return ""
	}
	last := len(waiting) - 1
	return "nodes " + strings.Join(waiting[:last], ", ") + " and " + waiting[last] +
		" listen, and nobody connects to them: they may wait for each other"
}
