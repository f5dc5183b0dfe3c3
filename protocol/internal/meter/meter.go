// Package meter measures the memory of the program.
package meter

import (
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/pages"
)

// Meter measures now and then. One goroutine uses it at a time.
type Meter struct {
	samples []metrics.Sample
	freed   time.Time // when unused memory was given back last
}

// New returns a Meter that has measured nothing yet.
func New() *Meter {
	return &Meter{samples: []metrics.Sample{{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}}
}

// limit is what the collector keeps to, for all searches of the process that want it. The collector
// has one limit only, so there is one of these.
type limit struct {
	mu     sync.Mutex
	bounds []int64
	was    int64 // before the first of them
}

var held limit

// Hold has the collector keep the program below some bytes, as far as it can, of which some are not
// its own. Without that it lets garbage come to as much as is in use, whatever the bound is. Of
// several bounds the least counts. The function ends it. A limit that is lower already stays.
func Hold(bytes, others uint64) (end func()) {
	// What the collector cannot keep to would have it run all the time.
	bound := int64(min(max(bytes-min(bytes, others), bytes/2), math.MaxInt64))
	held.add(bound)
	return func() { held.remove(bound) }
}

func (l *limit) add(bound int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.bounds) == 0 {
		l.was = debug.SetMemoryLimit(-1)
	}
	l.bounds = append(l.bounds, bound)
	l.set()
}

func (l *limit) remove(bound int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.bounds, bound)
	l.bounds = slices.Delete(l.bounds, i, i+1)
	l.set()
}

// set sets the least bound. The caller holds the lock.
func (l *limit) set() { debug.SetMemoryLimit(slices.Min(append([]int64{l.was}, l.bounds...))) }

// freeEvery bounds how often memory is given back, which takes a collection.
const freeEvery = time.Second

// IsOver says whether the program takes more than some bytes. If what is too much may be garbage,
// that is given back first. Where that was done a moment ago, the answer waits for the next time.
func (m *Meter) IsOver(bytes uint64, now time.Time, mayBeGarbage bool) bool {
	if m.used() <= bytes {
		return false
	}
	if !mayBeGarbage {
		return true
	}
	if now.Sub(m.freed) < freeEvery {
		return false
	}
	debug.FreeOSMemory()
	m.freed = now
	return m.used() > bytes
}

// used is how many bytes the program takes. What it has given back to the system does not count.
func (m *Meter) used() uint64 {
	metrics.Read(m.samples)
	return m.samples[0].Value.Uint64() - m.samples[1].Value.Uint64() + uint64(pages.InUse())
}

// Reached says that a search has reached its bound of memory, and what to do. Its states may be in
// files already, or could be.
func Reached(bound uint64, inFiles, could bool) string {
	what := "raise Memory"
	switch {
	case inFiles:
		what = "states are in files, but what handlers do stays in memory, so raise Memory"
	case could:
		what = "raise Memory, or have External name a directory for states"
	}
	return fmt.Sprintf("the bound of %d MB of memory was reached: %s", bound>>20, what)
}
