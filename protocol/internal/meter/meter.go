// Package meter measures the memory of the program.
package meter

import (
	"runtime/debug"
	"runtime/metrics"
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
