package ckptd

import (
	"fmt"
	"os"
	"slices"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/peers/watch"
)

// What peers read of the time or of random numbers makes their answers differ from run to run. The
// shim counts such reads, in memory that it shares with the checker.

// Reads is what the peers of a group have read that differs from run to run.
type Reads struct {
	Counted []shim.Read
	// Uninstrumented describes the processes of which nobody knows what they have read, and why.
	Uninstrumented []watch.Uninstrumented
}

// Reads says what the peers have read since the last call. The group must be quiescent. A restore
// forgets nothing: call it after one, too, to tell what is read from then on. What is read from
// then on may not be read again, unless it was chosen: that belongs to the history of the next
// image.
func (g *Group) Reads() (Reads, error) {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return Reads{}, err
	}
	var r Reads
	r.Uninstrumented = w.Uninstrumented(shim.Libraries{Library: paths.ShimInGroup, VDSO: paths.VdsoInGroup})
	if g.client.noShim != nil {
		r.Uninstrumented = []watch.Uninstrumented{{Executable: "all",
			Why: fmt.Sprintf("there is no shim: %v", g.client.noShim)}}
	}
	r.Counted = g.counters.Reads(g.processes)
	g.unrepeatable = g.unrepeatable || len(r.Uninstrumented) > 0 ||
		slices.ContainsFunc(r.Counted, func(read shim.Read) bool { return !read.Chosen })
	return r, nil
}

// openCounters takes over the descriptor of the file that the shim counts in.
func openCounters(fd int) (*shim.Counters, error) {
	f := os.NewFile(uintptr(fd), "counters of a peer group")
	defer f.Close()
	return shim.OpenCounters(f)
}
