package protocol

import (
	"fmt"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/meter"
	"github.com/tandem-mc/tandem/protocol/internal/tell"
)

// bounds ends a search that has become too large, and tells how far it is.
type bounds struct {
	Options
	start  time.Time
	mu     sync.Mutex
	told   time.Time
	teller *tell.Teller
	looked time.Time // when memory was measured last
	memory *meter.Meter
}

// newBounds counts the time from the start.
func newBounds(o Options, start time.Time) *bounds {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	return &bounds{Options: o, start: start, told: start, teller: tell.New(o.Output, o.log),
		memory: meter.New()}
}

// How often progress is told, and memory is measured.
const (
	tellEvery = time.Second
	lookEvery = 50 * time.Millisecond
)

// stop is Stop of a search: why it is to end; empty if it is not. The process that leads others has
// no states that could be in files.
func (b *bounds) stop(p global.Progress) string {
	return b.stopAt(progress(p, b.start), b.External != "", b.Search == BreadthFirst && b.session == nil)
}

// stopEvents is stop for a fixpoint that has executed n events. That is never in files.
func (b *bounds) stopEvents(n int) string { return b.stopAt(Progress{Events: n}, false, false) }

// stopAt is stop for any kind of search. It tells how far the search is. What it says of memory
// depends on whether states are in files, or could be.
func (b *bounds) stopAt(p Progress, inFiles, could bool) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	p.Elapsed = now.Sub(b.start)
	if b.Progress != nil && now.Sub(b.told) >= tellEvery {
		b.told = now
		b.Progress(p)
	}
	if b.teller.IsDue(p.Elapsed) {
		b.teller.Tell(p.Elapsed, p)
	}
	switch {
	case b.States > 0 && p.States >= b.States:
		return fmt.Sprintf("the bound of %d states was reached", b.States)
	case b.Time > 0 && now.Sub(b.start) >= b.Time:
		return fmt.Sprintf("the time of %v is over", b.Time)
	case now.Sub(b.looked) < lookEvery:
		return ""
	}
	b.looked = now
	// An external search has its states elsewhere, so what is too much may be garbage.
	if b.memory.IsOver(b.Memory, now, b.External != "") {
		return meter.Reached(b.Memory, inFiles, could)
	}
	return ""
}
