package nodes

import (
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/internal/model"
)

// maxWalkTicks is how often the clock advances in a walk. It is cut off there.
const maxWalkTicks = 10_000

// longestParted is how long the network is parted in a walk: it heals with the first advance of the
// clock after that. Longer times would make walks long, in which little else happens than that
// nodes try again.
const longestParted = 30 * time.Second

// advanceTo has the clock advance to some time, at which a timer of a node is due, or of the peers.
func (w *walk) advanceTo(now time.Duration, ofPeers bool) {
	if w.ticks == maxWalkTicks {
		w.over, w.isCut = fmt.Sprintf("the clock has advanced %d times", maxWalkTicks), true
		return
	}
	if p := w.cut; p != nil && w.ticks < p.Until && now-w.parted >= network.Longest {
		w.over, w.isCut = "executions were cut off: no timer was due while the network was parted, until "+
			"connects are given up", true
		return
	}
	// All nodes wait, so all of them take part, whoever's timer it is.
	w.now, w.ticks = now, w.ticks+1
	if w.peers != nil {
		w.peers.Advances(now, ofPeers)
	}
	if p := w.cut; p != nil && w.ticks < p.Until && w.now-w.parted >= longestParted {
		p.Until = w.ticks
	}
	for _, m := range w.members {
		if m.down {
			m.misses()
			m.Passes(network.Event{Kind: model.Pass, Time: now})
		} else if m.paused {
			m.sleeps(now)
		} else if !m.gone {
			// It is an event of each node once that has its turn. Until then nothing comes to it
			// that is sent at the new time.
			m.tick = &network.Event{Kind: model.Pass, Time: now, Own: m.due == now}
			m.news = true
		}
	}
}
