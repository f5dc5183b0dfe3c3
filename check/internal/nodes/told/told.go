// Package told says in words what several programs do to each other, and what the network between
// them does. Reports and errors have these words; what reads them in files has kinds of events.
package told

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
)

// NotInTime is why a violation that was found was not run again.
const NotInTime = "the time was over before"

// Steps are the events of all nodes, in an order that is possible. An advance of the clock is one
// step. Of advances with nothing in between, only the last one is told.
func Steps(net *network.Nodes, g skeleton.Global) (list []report.NodeStep) {
	ticks := 0
	arrive, pausing := arrivals(net, g), pauses(net, g)
	for _, p := range course.Order(net, g) {
		e := &g[p.Node].Events[p.At]
		if e.Tick == 0 && goesOn(g, p) {
			list = append(list, resumed(net, p.Node))
		}
		switch {
		case e.Tick > ticks:
			ticks = e.Tick
			now := network.Did(e).Time
			list = append(list, pausing[ticks]...)
			list = append(list, partsBefore(net, ticks)...)
			list = advance(list, now)
			list = append(list, healsAfter(net, ticks)...)
			list = append(list, arrive[ticks]...)
		case e.Tick == 0:
			d := network.Did(e)
			list = append(list, report.NodeStep{Node: net.Names[p.Node], What: Words(net, e),
				Kind: d.Kind.String(), Conn: d.Conn, Address: d.Address, Data: string(net.Data[d]),
				Taken: d.Taken})
		}
	}
	return list
}

// advance adds an advance of the clock. If nothing was done since the one before, only the last one
// stays: programs with tickers would fill pages with them.
func advance(list []report.NodeStep, now time.Duration) []report.NodeStep {
	if n := len(list); n > 0 && list[n-1].Kind == model.Pass.String() {
		list = list[:n-1]
	}
	return append(list, report.NodeStep{What: "the time is " + textutil.Seconds(now),
		Kind: model.Pass.String(), Time: now})
}

// pauses are the steps with which nodes run again after a pause, and are paused, by the number of
// the advance of the clock right before which that is. A node that does something before the next
// advance runs again right before that.
func pauses(net *network.Nodes, g skeleton.Global) map[int][]report.NodeStep {
	resume, pause := map[int][]report.NodeStep{}, map[int][]report.NodeStep{}
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			if e.Tick > 0 && goesOn(g, course.Place{Node: c, At: i}) {
				resume[e.Tick] = append(resume[e.Tick], resumed(net, c))
			}
			if network.Did(e).BeginsPause() {
				pause[e.Tick] = append(pause[e.Tick], report.NodeStep{Node: net.Names[c], Kind: "pause",
					What: "is paused"})
			}
		}
	}
	for tick, steps := range pause {
		resume[tick] = append(resume[tick], steps...)
	}
	return resume
}

// goesOn reports whether a node has run again after a pause, right before an event.
func goesOn(g skeleton.Global, p course.Place) bool {
	events := g[p.Node].Events
	return p.At > 0 && network.Did(&events[p.At-1]).Paused != network.Runs &&
		network.Did(&events[p.At]).Paused != network.GoesOn
}

func resumed(net *network.Nodes, node int) report.NodeStep {
	return report.NodeStep{Node: net.Names[node], Kind: "resume", What: "goes on"}
}

// shown is the beginning of data, quoted, and how many there are if that is not all.
func shown(data []byte) string {
	const columns = 40
	n := min(len(data), columns)
	for n > 0 && len(strconv.Quote(string(data[:n]))) > columns+len(`""`) {
		n--
	}
	text := strconv.Quote(string(data[:n]))
	if n == len(data) {
		return text
	}
	return fmt.Sprintf("%s... (%s)", text, textutil.CountOf(len(data), "byte"))
}

// fates say what becomes of a datagram.
var fates = map[string]string{datagram.Lost: ", which is lost", datagram.Late: ", which is late",
	datagram.Copied: ", a second time, by the network", datagram.Parted: ", which does not get through",
	datagram.Refused: ", and nobody is there"}

// late says that something arrives late; empty: it does not.
func late(d network.Event) string {
	if d.Late == 0 {
		return ""
	}
	return ", which arrives late"
}

// arrivals are the steps with which there is what was late, by how often the clock has advanced.
func arrivals(net *network.Nodes, g skeleton.Global) map[int][]report.NodeStep {
	steps := map[int][]report.NodeStep{}
	for c := range g {
		ticks := 0
		for i := range g[c].Events {
			e := &g[c].Events[i]
			d := network.Did(e)
			if ticks = max(ticks, e.Tick); d.Late <= 0 {
				continue
			}
			step := report.NodeStep{Node: net.Names[e.To], Kind: "arrive", Conn: d.Conn,
				What: "what was late on " + d.Conn + " is there"}
			if due := ticks + d.Late; !slices.Contains(steps[due], step) {
				steps[due] = append(steps[due], step)
			}
		}
	}
	return steps
}

// Words says what an event is. Data are cut, and may be of any kind: whoever prints them
// quotes what is not printable.
func Words(net *network.Nodes, e *skeleton.Event) string {
	d := network.Did(e)
	switch d.Kind {
	case model.Send:
		if d.Address != "" {
			return fmt.Sprintf("sends on %s to %s: %s%s", d.Conn, d.Address, shown(net.Data[d]),
				fates[d.Fate])
		}
		return fmt.Sprintf("sends on %s: %s%s", d.Conn, shown(net.Data[d]), late(d))
	case model.Receive:
		if d.End {
			return "finds the end of " + d.Conn
		}
		if sent, ok := e.Got.(network.Event); ok && sent.Address != "" {
			return fmt.Sprintf("receives on %s from %s: %s", d.Conn, sent.From, shown(net.Data[sent]))
		}
		return fmt.Sprintf("receives on %s, up to byte %d", d.Conn, d.Taken)
	case model.Connect:
		if d.Failed {
			return fmt.Sprintf("is refused as %s at %s", d.Conn, d.Address)
		}
		return fmt.Sprintf("connects as %s to %s", d.Conn, d.Address)
	case model.Publish:
		if d.End {
			return "lets go of " + d.Address + ", since it ends"
		}
		return fmt.Sprintf("publishes %s: %s", d.Address, shown(net.Data[d]))
	case model.Listen:
		if d.Conn != "" {
			return fmt.Sprintf("opens %s at %s", d.Conn, d.Address)
		}
		return "listens at " + d.Address
	case model.Shutdown:
		return "shuts down " + d.Conn + late(d)
	case model.Close:
		switch {
		case d.Failed && e.To == skeleton.Nobody:
			return "gets nothing through " + d.Conn + " any more, a fault of the network"
		case d.Failed:
			return "loses " + d.Conn + ", a fault of the network" + late(d)
		}
		return "closes " + d.Conn + d.Address + late(d)
	case model.Broken:
		return "finds " + d.Conn + " reset by " + net.Names[e.From.Component]
	case model.Crashed:
		switch {
		case d.Lost == 1:
			return "crashes, and loses the last change of its disk that was not synced"
		case d.Lost > 1:
			return fmt.Sprintf("crashes, and loses the last %s of its disk that were not synced",
				textutil.CountOf(d.Lost, "change"))
		}
		return "crashes"
	case model.Restarted:
		return "runs again"
	case model.Pass:
		return "has the time " + textutil.Seconds(d.Time)
	}
	return d.Kind.String() + "s " + d.Conn + d.Address
}

// partsBefore are the steps in which the network is parted, if it is before an advance of the
// clock.
func partsBefore(net *network.Nodes, ticks int) []report.NodeStep {
	for _, p := range net.Parted.All() {
		if ticks == p.From+1 {
			return linkSteps(net, p, "part", "is parted from ")
		}
	}
	return nil
}

// healsAfter are the steps in which it heals.
func healsAfter(net *network.Nodes, ticks int) []report.NodeStep {
	for _, p := range net.Parted.All() {
		if ticks == p.Until {
			return linkSteps(net, p, "heal", "reaches again ")
		}
	}
	return nil
}

// linkSteps has a step for each node whose links are parted, or heal.
func linkSteps(net *network.Nodes, p *network.Partition, kind, what string) (list []report.NodeStep) {
	for node, name := range net.Names {
		var others []string
		for other := range net.Names {
			if other != node && p.Parts(node, other) {
				others = append(others, net.Names[other])
			}
		}
		if len(others) > 0 {
			list = append(list, report.NodeStep{Node: name, Kind: kind,
				What: what + strings.Join(others, ", ")})
		}
	}
	return list
}

// Changed says which nodes have changed, for an error that may be because of that: such as a hang,
// or a worker that has ended.
func Changed(changed []string) string {
	if len(changed) == 0 {
		return ""
	}
	return "; since then changed: node " + strings.Join(changed, ", node ")
}
