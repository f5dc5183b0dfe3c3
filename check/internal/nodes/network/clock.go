package network

import (
	"slices"
	"time"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Tick is a system after the next advance of the clock, in which all nodes take part that are still
// there; nil: no node has a timer.
func Tick(g skeleton.Global, net *Nodes) skeleton.Global {
	now := time.Duration(0)
	for c := range g {
		if due := dueOf(g[c].Waits); due > 0 && (now == 0 || due < now) {
			now = due
		}
	}
	if now == 0 {
		return nil
	}
	next := slices.Clone(g)
	for c := range g {
		if g[c].Waits == nil {
			continue
		}
		label := Event{Kind: model.Pass, Time: now, Own: dueOf(g[c].Waits) == now}
		e := skeleton.Event{Label: label, To: skeleton.Nobody, Tick: 1 + Ticks(g[c].Events)}
		e.Component = c
		if e.Past, e.N = Lasts(g[c].Events), e.Tick; net.Ordered[c] {
			e.N = len(g[c].Events) + 1
		} else {
			e.Stream = Ticking
		}
		next[c] = skeleton.Local{Events: append(slices.Clone(g[c].Events), e)}
	}
	return next
}

// dueOf is when the timer of a node is due; 0: it has none, or is gone.
func dueOf(waits skeleton.Label) time.Duration {
	if waits == nil {
		return 0
	}
	return waits.(Event).Time
}
