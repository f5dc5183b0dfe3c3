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
	if now == 0 || net.isTooLong(g, now) {
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

// IsDue says whether a node waits for a timer.
func IsDue(g skeleton.Global) bool {
	return slices.ContainsFunc(g, func(l skeleton.Local) bool { return dueOf(l.Waits) > 0 })
}

// IsWhole says whether the network heals in an execution, if it is parted, and whether all that is
// late arrives.
func (n *Nodes) IsWhole(g skeleton.Global) bool {
	advances := Advances(g)
	all := n.Parted.All()
	return (len(all) == 0 || advances >= all[len(all)-1].Until) &&
		!slices.ContainsFunc(g, func(l skeleton.Local) bool { return lastDue(l.Events) > advances })
}

// Advances is how often the clock advances.
func Advances(g skeleton.Global) (ticks int) {
	for c := range g {
		ticks = max(ticks, Ticks(g[c].Events))
	}
	return ticks
}

// isTooLong says whether the network would be parted for longer than is explored, if the clock
// advanced to some time.
func (n *Nodes) isTooLong(g skeleton.Global, now time.Duration) bool {
	ticks := Advances(g)
	all := n.Parted.All()
	i := slices.IndexFunc(all, func(p *Partition) bool { return ticks >= p.From && ticks < p.Until })
	if i < 0 {
		return false
	}
	p := all[i]
	began := time.Duration(0)
	for c := range g {
		for i := range g[c].Events {
			if e := &g[c].Events[i]; e.Tick > 0 && e.Tick == p.From {
				began = Did(e).Time
			}
		}
	}
	return now-began >= Longest
}

// dueOf is when the timer of a node is due; 0: it has none, or is gone.
func dueOf(waits skeleton.Label) time.Duration {
	if waits == nil {
		return 0
	}
	return waits.(Event).Time
}
