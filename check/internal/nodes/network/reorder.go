package network

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Reorder lists the branches that are the network's: connections come to a listener in another
// order, or less has arrived when a node reads, or more. The node takes what comes, so nobody has
// to be run to know that it can.
func Reorder(net *Nodes, item skeleton.Item) (list []skeleton.Branch) {
	script := item.Local.Events
	taken := map[string]int{} // bytes of each connection, before the event
	broken := map[string]bool{}
	for k := range script {
		e := script[k]
		// All that is independent of the event may have happened before it, and then more may have
		// arrived. What is in the Past of the event is the same, whatever it takes.
		before := NotAfter(script, &e)
		other := func(label Event, send *skeleton.Event) {
			event := e
			event.Label, event.From, event.Got = label, send.Name, send.Label
			list = append(list,
				skeleton.Branch{Component: item.Component, Before: before, Event: &event})
		}
		now := Did(&e)
		switch now.Kind {
		// Whoever has connected by then may be the next.
		case model.Accept:
			address := e.Got.(Event).Address
			again := listenOf(item.Arrivals, e.From)
			for i := range item.Arrivals {
				a := &item.Arrivals[i]
				if sent := Did(&a.Send); sent.Kind == model.Connect && sent.Address == address &&
					net.canCome(script, a, before) &&
					a.Send.From == again && a.Send.Name != e.From && Happened(a.After, before) &&
					!Takes(before, a.Send.Name) && mayBeNext(net, item, a, before) {
					other(Event{Kind: model.Accept, Conn: sent.Conn}, &a.Send)
				}
			}
		// Each send that the read takes may have been the last one that had arrived. And what the
		// other node can have sent by then may have arrived, too: who reads little cannot take it.
		case model.Broken:
			broken[now.Conn] = true
		case model.Receive:
			if now.End || broken[now.Conn] {
				continue // all that was sent is there
			}
			end, sends := 0, stream(item.Arrivals, now.Conn)
			for i, a := range sends {
				end += len(net.Data[Did(&a.Send)])
				// What was sent before the clock advanced last is there.
				there := i+1 < len(sends) && net.isThere(script, sends[i+1], before)
				if end > taken[now.Conn] && end != now.Taken && Happened(a.After, before) && !there &&
					net.canCome(script, a, before) {
					other(Event{Kind: model.Receive, Conn: now.Conn, Taken: end}, &a.Send)
				}
			}
			taken[now.Conn] = now.Taken
		}
	}
	return list
}

// mayBeNext says whether a connection may be accepted after some events. One that was made before
// the clock has advanced is before those after that, and one that a client has made before another
// one is before that.
func mayBeNext(net *Nodes, item skeleton.Item, a *skeleton.Arrival, before []skeleton.Event) bool {
	script := item.Local.Events
	for i := range item.Arrivals {
		b := &item.Arrivals[i]
		if Did(&b.Send).Kind == model.Connect && Did(&b.Send).Address == Did(&a.Send).Address &&
			(net.latestOf(script, b) < net.earliestOf(script, a) || skeleton.Precedes(&b.Send, &a.Send)) &&
			!Takes(before, b.Send.Name) {
			return false
		}
	}
	return true
}

// listenOf is the listen that a connect takes something from, if any.
func listenOf(arrivals []skeleton.Arrival, connect skeleton.Name) skeleton.Name {
	for i := range arrivals {
		if arrivals[i].Send.Name == connect {
			return arrivals[i].Send.From
		}
	}
	return skeleton.Name{}
}

// stream lists the sends on a connection to a node, in order.
func stream(arrivals []skeleton.Arrival, id string) (sends []*skeleton.Arrival) {
	for i := range arrivals {
		if sent := Did(&arrivals[i].Send); sent.Kind == model.Send && sent.Conn == id {
			sends = append(sends, &arrivals[i])
		}
	}
	slices.SortFunc(sends, func(a, b *skeleton.Arrival) int { return a.Send.N - b.Send.N })
	return sends
}
