package nodes

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
)

// place is an event of a global skeleton: the node, and the place in its list. A file has events in
// the order of these, so the lanes of a report and the turns of a replay are the same.
type place struct{ node, at int }

// order puts the events of all nodes into an order that is possible: a node goes on until it takes
// what was not sent yet. So there are few switches from lane to lane. Advances of the clock, of all
// nodes that are still there, are one after the other.
func order(g skeleton.Global) (list []place) {
	at := make([]int, len(g))
	for progress := true; progress; {
		progress = false
		ticks := false
		for c := range g {
			for ; at[c] < len(g[c].Events); at[c]++ {
				e := &g[c].Events[at[c]]
				if e.From.N > at[e.From.Component] && e.From.N > 0 {
					break
				}
				if e.Tick > 0 {
					ticks = true
					break
				}
				list = append(list, place{c, at[c]})
				progress = true
			}
		}
		if progress || !ticks {
			continue
		}
		progress = true
		for c := range g {
			if at[c] < len(g[c].Events) && g[c].Events[at[c]].Tick > 0 {
				list = append(list, place{c, at[c]})
				at[c]++
			}
		}
	}
	return list
}

// steps are the events of all nodes, in an order that is possible. An advance of the clock is one
// step.
func steps(net *network, g skeleton.Global) (list []report.NodeStep) {
	ticks := 0
	for _, p := range order(g) {
		e := &g[p.node].Events[p.at]
		switch {
		case e.Tick > ticks:
			ticks = e.Tick
			now := did(e).Time
			list = append(list, report.NodeStep{What: "the time is " + clockText(now),
				Kind: model.Pass.String(), Time: now})
		case e.Tick == 0:
			d := did(e)
			list = append(list, report.NodeStep{Node: net.names[p.node], What: words(net, e),
				Kind: d.Kind.String(), Conn: d.Conn, Address: d.Address, Data: string(net.data[d]),
				Taken: d.Taken})
		}
	}
	return list
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

// clockText is what the common clock shows.
func clockText(now time.Duration) string {
	return strconv.FormatFloat(now.Seconds(), 'f', -1, 64) + " s"
}

// words says what an event is. Data are cut, and may be of any kind: whoever prints the words
// quotes what is not printable.
func words(net *network, e *skeleton.Event) string {
	d := did(e)
	switch d.Kind {
	case model.Send:
		return fmt.Sprintf("sends on %s: %s", d.Conn, shown(net.data[d]))
	case model.Receive:
		if d.End {
			return "finds the end of " + d.Conn
		}
		return fmt.Sprintf("receives on %s, up to byte %d", d.Conn, d.Taken)
	case model.Connect:
		if d.Failed {
			return fmt.Sprintf("is refused as %s at %s", d.Conn, d.Address)
		}
		return fmt.Sprintf("connects as %s to %s", d.Conn, d.Address)
	case model.Listen:
		return "listens at " + d.Address
	case model.Shutdown:
		return "shuts down " + d.Conn
	case model.Close:
		switch {
		case d.Failed && e.To == skeleton.Nobody:
			return "gets nothing through " + d.Conn + " any more, a fault of the network"
		case d.Failed:
			return "loses " + d.Conn + ", a fault of the network"
		}
	case model.Broken:
		return "finds " + d.Conn + " reset by " + net.names[e.From.Component]
	case model.Pass:
		return "has the time " + clockText(d.Time)
	}
	return d.Kind.String() + "s " + d.Conn + d.Address
}
