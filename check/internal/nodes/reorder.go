package nodes

import (
	"fmt"
	"slices"

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
	broken := map[string]bool{}
	for k := range script {
		e := script[k]
		// All that is independent of the event may have happened before it, and then more may have
		// arrived. What is in the Past of the event is the same, whatever it takes.
		before := notAfter(script, &e)
		other := func(label Event, send *skeleton.Event) {
			event := e
			event.Label, event.From, event.Got = label, send.Name, send.Label
			list = append(list,
				skeleton.Branch{Component: item.Component, Before: before, Event: &event})
		}
		now := did(&e)
		switch now.Kind {
		// Whoever has connected by then may be the next.
		case model.Accept:
			address := e.Got.(Event).Address
			again := listenOf(item.Arrivals, e.From)
			for i := range item.Arrivals {
				a := &item.Arrivals[i]
				if sent := did(&a.Send); sent.Kind == model.Connect && sent.Address == address &&
					a.Send.From == again && a.Send.Name != e.From && happened(a.After, before) &&
					!takes(before, a.Send.Name) && x.mayBeNext(item, a, before) {
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
			end, sends := 0, x.stream(item.Arrivals, now.Conn)
			for i, a := range sends {
				end += len(x.net.data[did(&a.Send)])
				// What was sent before the clock advanced last is there.
				there := i+1 < len(sends) && epoch(script, sends[i+1]) < count(before)
				if end > taken[now.Conn] && end != now.Taken && happened(a.After, before) && !there {
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
func (x *explorer) mayBeNext(item skeleton.Item, a *skeleton.Arrival, before []skeleton.Event) bool {
	script := item.Local.Events
	for i := range item.Arrivals {
		b := &item.Arrivals[i]
		if did(&b.Send).Kind == model.Connect && did(&b.Send).Address == did(&a.Send).Address &&
			(epoch(script, b) < epoch(script, a) || skeleton.Precedes(&b.Send, &a.Send)) &&
			!takes(before, b.Send.Name) {
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
	if !outcome.Violation() {
		return
	}
	f := &finding{item: item, outcome: outcome, choices: choicesOf(log.Events)}
	if first := log.Race.First(); first != nil {
		race := *first // the log is valid until the next execution
		f.race = &race
	}
	// Executions that show the same are one violation. A deadlock may not be one, so it may come
	// again with another item.
	program := x.config.Nodes[item.Component].Program
	key := x.net.names[item.Component] + "\n" + narrate.SignatureOf(program, log).Key
	if f.isStuck() {
		key += item.Key
	}
	if x.known[key] {
		return
	}
	x.known[key] = true
	if f.isStuck() {
		x.stuck[item.Key] = append(x.stuck[item.Key], f)
		return
	}
	for _, s := range x.system.Skeletons() {
		if s.Items[item.Component] == item.Key {
			f.global = s.Global
			break
		}
	}
	x.found = append(x.found, f)
}

// enough says whether so many violations were found as are looked for.
func (x *explorer) enough() bool { return len(x.found) >= max(x.config.Violations, 1) }

// confirm looks for deadlocks that all nodes together have. One node by itself may only seem to
// wait for ever: another one goes on where it was taken to end, or a timer of it is due. Those who
// wait for a node that never listens have no deadlock, but the error for that.
func (x *explorer) confirm() error {
	for _, s := range x.system.Skeletons() {
		for _, key := range s.Items {
			for len(x.stuck[key]) > 0 && !x.enough() && s.Possible() && tick(s.Global, x.net) == nil {
				if x.never != nil {
					return x.never
				}
				f := x.stuck[key][0]
				f.global, x.stuck[key] = s.Global, x.stuck[key][1:]
				x.found = append(x.found, f)
			}
		}
	}
	return nil
}

// neverListens is the error of a node that is connected to and does not listen.
func (x *explorer) neverListens(g skeleton.Global) error {
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			address := did(e).Address
			if did(e).Kind == model.Connect && !did(e).Failed && !slices.ContainsFunc(g[e.To].Events,
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
