package nodes

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

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
	key := x.net.Names[item.Component] + "\n" + narrate.SignatureOf(program, log).Key
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
			for len(x.stuck[key]) > 0 && !x.enough() && s.Possible() && network.Tick(s.Global, x.net) == nil {
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
			address := network.Did(e).Address
			listens := func(l skeleton.Event) bool {
				d := network.Did(&l)
				return d.Kind == model.Listen && network.Reaches(d.Address, address)
			}
			if d := network.Did(e); d.Kind == model.Connect && !d.Failed &&
				!slices.ContainsFunc(g[e.To].Events, listens) {
				return fmt.Errorf("node %s never listens at %s, where node %s connects to it: have it "+
					"listen there, or give it the address at which it does",
					x.net.Names[e.To], address, x.net.Names[c])
			}
		}
	}
	return nil
}
