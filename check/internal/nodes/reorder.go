package nodes

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// reorder lists the branches that are the network's: connections come to a listener in another
// order, or less has arrived when a node reads, or more. The node takes what comes, so nobody has
// to be run to know that it can.
func (x *explorer) reorder(item skeleton.Item) (list []skeleton.Branch) {
	script := item.Local.Events
	taken := map[string]int{} // bytes of each connection, before the event
	ticks := 0
	for k := range script {
		e := script[k]
		ticks = max(ticks, e.Tick)
		other := func(label Event, send *skeleton.Event) {
			event := e
			event.Label, event.From, event.Got = label, send.Name, send.Label
			list = append(list,
				skeleton.Branch{Component: item.Component, Before: script[:k], Event: &event})
		}
		now := did(&e)
		switch now.Kind {
		// Whoever has connected by then may be the next.
		case model.Accept:
			address := e.Got.(Event).Address
			for i := range item.Arrivals {
				a := &item.Arrivals[i]
				if sent := did(&a.Send); sent.Kind == model.Connect && sent.Address == address &&
					a.Send.Name != e.From && happened(a.After, k) && !takes(script[:k], a.Send.Name) &&
					x.mayBeNext(item, a, k) {
					other(Event{Kind: model.Accept, Conn: sent.Conn}, &a.Send)
				}
			}
		// Each send that the read takes may have been the last one that had arrived. And what the
		// other node can have sent by then may have arrived, too: who reads little cannot take it.
		case model.Receive:
			if now.End {
				continue
			}
			end, sends := 0, x.stream(item.Arrivals, now.Conn)
			for i, a := range sends {
				end += len(x.net.data[did(&a.Send)])
				// What was sent before the clock advanced last is there.
				there := i+1 < len(sends) && epoch(script, sends[i+1]) < ticks
				if end > taken[now.Conn] && end != now.Taken && happened(a.After, k) && !there {
					other(Event{Kind: model.Receive, Conn: now.Conn, Taken: end}, &a.Send)
				}
			}
			taken[now.Conn] = now.Taken
		}
	}
	return list
}

// epoch is how often the clock had advanced for a node, of the given events, before something was
// sent to it.
func epoch(script []skeleton.Event, a *skeleton.Arrival) (ticks int) {
	for _, n := range a.After {
		ticks = max(ticks, count(script[:min(n.N, len(script))]))
	}
	return ticks
}

// mayBeNext says whether a connection may be accepted as the k-th event: one that was made before
// the clock has advanced is before those after that.
func (x *explorer) mayBeNext(item skeleton.Item, a *skeleton.Arrival, k int) bool {
	script := item.Local.Events
	for i := range item.Arrivals {
		b := &item.Arrivals[i]
		if did(&b.Send).Kind == model.Connect && did(&b.Send).Address == did(&a.Send).Address &&
			epoch(script, b) < epoch(script, a) && !takes(script[:k], b.Send.Name) {
			return false
		}
	}
	return true
}

// happened says whether all these events are among the first k.
func happened(after []skeleton.Name, k int) bool {
	return !slices.ContainsFunc(after, func(n skeleton.Name) bool { return n.N > k })
}

// takes says whether one of some events takes what was sent. A connection is accepted once, so a
// branch must not accept it again.
func takes(events []skeleton.Event, sent skeleton.Name) bool {
	return slices.ContainsFunc(events, func(e skeleton.Event) bool { return e.From == sent })
}

// stream lists the sends on a connection to a node, in order.
func (x *explorer) stream(arrivals []skeleton.Arrival, id string) (sends []*skeleton.Arrival) {
	for i := range arrivals {
		if sent := did(&arrivals[i].Send); sent.Kind == model.Send && sent.Conn == id {
			sends = append(sends, &arrivals[i])
		}
	}
	slices.SortFunc(sends, func(a, b *skeleton.Arrival) int { return a.Send.N - b.Send.N })
	return sends
}

// judge notes a violation. Only an execution that has made all events of its skeleton is judged:
// then what has arrived is all that ever does. A deadlock is one if confirm says so.
func (x *explorer) judge(item skeleton.Item, log *sut.Log, outcome model.Outcome) {
	if !outcome.Violation() || x.result.Violation != nil || x.stuck[item.Key] != nil {
		return
	}
	v := &Violation{Node: x.net.names[item.Component], Outcome: outcome}
	if shown := x.show(item, log); shown != nil {
		v.Counterexample = narrate.Counterexample(x.config.Nodes[item.Component].Program, shown, nil, nil)
	}
	if outcome == model.Deadlock || outcome == model.Livelock {
		if x.stuck[item.Key] == nil {
			x.stuck[item.Key] = v
		}
		return
	}
	for _, s := range x.system.Skeletons() {
		if slices.EqualFunc(s.Global[item.Component].Events, item.Local.Events,
			func(a, b skeleton.Event) bool { return a.Equal(&b) }) {
			v.Events = x.steps(s.Global)
			break
		}
	}
	x.result.Violation = v
}

// show runs a violation once more, with everything noted that people want to see; nil: it could not
// be run.
//
// The search has run it without what reports need, such as the stacks of a data race, since noting
// that costs time.
func (x *explorer) show(item skeleton.Item, log *sut.Log) *sut.Log {
	s := sut.Schedule{Prefix: choices(log.Events), Show: &sut.Show{Watch: log.Race.First()}}
	n := newEnvironment(x.net, item.Component, item.Local.Events, item.Arrivals)
	shown, err := x.workers[item.Component].Run(s, n)
	if err != nil {
		return nil
	}
	return shown
}

// steps puts the events of all nodes into an order that is possible: a node goes on until it takes
// what was not sent yet. So there are few switches from lane to lane.
func (x *explorer) steps(g skeleton.Global) (list []Step) {
	at := make([]int, len(g))
	for progress := true; progress; {
		progress = false
		now := -1 * time.Nanosecond
		for c := range g {
			for ; at[c] < len(g[c].Events); at[c]++ {
				e := &g[c].Events[at[c]]
				if e.From.N > at[e.From.Component] && e.From.N > 0 {
					break
				}
				if e.Tick > 0 {
					now = did(e).Time
					break
				}
				list = append(list, Step{x.net.names[c], x.words(e)})
				progress = true
			}
		}
		// All that still are there are at the next advance of the clock.
		if !progress && now >= 0 {
			seconds := strconv.FormatFloat(now.Seconds(), 'f', -1, 64)
			list, progress = append(list, Step{What: "the time is " + seconds + " s"}), true
			for c := range g {
				if at[c] < len(g[c].Events) && g[c].Events[at[c]].Tick > 0 {
					at[c]++
				}
			}
		}
	}
	return list
}

// words says what an event is. Data are cut, and may be of any kind: whoever prints the words
// quotes what is not printable.
func (x *explorer) words(e *skeleton.Event) string {
	d := did(e)
	switch d.Kind {
	case model.Send:
		return fmt.Sprintf("sends on %s: %.80q", d.Conn, x.net.data[d])
	case model.Receive:
		if d.End {
			return "finds the end of " + d.Conn
		}
		return fmt.Sprintf("receives on %s, up to byte %d", d.Conn, d.Taken)
	case model.Connect:
		return fmt.Sprintf("connects as %s to %s", d.Conn, d.Address)
	case model.Listen:
		return "listens at " + d.Address
	case model.Shutdown:
		return "shuts down " + d.Conn
	}
	return d.Kind.String() + "s " + d.Conn + d.Address
}

// neverListens is the error of a node that is connected to and does not listen.
func (x *explorer) neverListens(g skeleton.Global) error {
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			address := did(e).Address
			if did(e).Kind == model.Connect && !slices.ContainsFunc(g[e.To].Events,
				func(l skeleton.Event) bool {
					return did(&l).Kind == model.Listen && reaches(did(&l).Address, address)
				}) {
				return fmt.Errorf("node %s never listens at %s, where node %s connects to it: have it "+
					"listen there, or give it the address at which it does",
					x.net.names[e.To], address, x.net.names[c])
			}
		}
	}
	return nil
}
