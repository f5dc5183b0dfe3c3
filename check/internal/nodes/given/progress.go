package given

import (
	"sync/atomic"

	"github.com/tandem-mc/tandem/internal/invariant"
)

// Progress is how far a check is, for those who wait for it. What works counts in it, and nobody
// has to be called. Several goroutines may use it at a time. A nil one counts nothing.
type Progress struct {
	ran, tried, limit atomic.Int64
}

// Ran counts executions of nodes. Some of them may not count in the result: several crews work at a
// time, and what comes after the end is left out. The number never becomes less.
func (p *Progress) Ran(executions int) {
	invariant.Check(executions >= 0, "no execution is taken back")
	if p != nil {
		p.ran.Add(int64(executions))
	}
}

// Simpler notes that a violation is made simpler, in which so many executions of a limit were
// tried. A limit of 0 says that this is over.
func (p *Progress) Simpler(tried, limit int) {
	if p != nil {
		p.tried.Store(int64(tried))
		p.limit.Store(int64(limit))
	}
}

// Executions is how many executions were counted.
func (p *Progress) Executions() int { return int(p.ran.Load()) }

// Simplified is what Simpler has noted last. The numbers may be of two calls.
func (p *Progress) Simplified() (tried, limit int) { return int(p.tried.Load()), int(p.limit.Load()) }
