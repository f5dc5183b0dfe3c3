package dpor

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Of DPOR the path is saved, and for each node on it what is to do and the sleepers that were
// explored from there. The trace is not, nor what follows from it: the inherited sleepers and the
// races in recheck. The first execution after a resume begins with the path, so that they
// are found again; the search needs only the last node's sleep set before.

// restored is what the first execution after a resume has to show.
type restored struct {
	explored [][]*core.Sleeper // from each node
	digests  []uint64          // of the transitions at all nodes but the last
	sleep    []*core.Sleeper   // at the last node
	// The first nodes and sleepers are as they are, and the trace is as long as that (mergeFar).
	kept, slept int
}

// rebuild makes the trace, and what follows from it, of the beginning of the first
// execution after a resume.
func (r *restored) rebuild(d *Search, transitions []core.Transition) error {
	nodes, chosen := d.nodes, d.chosen
	d.restored, d.nodes, d.sleep, d.chosen = nil, d.nodes[:r.kept], d.sleep[:r.slept], nil
	for i := max(r.kept-1, 0); ; i++ {
		if i >= r.kept {
			was := nodes[i]
			d.addNode(i, was.leaf)
			n := &d.nodes[i]
			n.todo, n.incomplete = was.todo, was.incomplete
			d.sleep = append(d.sleep, r.explored[i]...)
			n.sleepEnd = len(d.sleep)
		}
		if i == len(nodes)-1 {
			break
		}
		races, err := d.trace.Push(&transitions[i])
		if err != nil {
			return err
		}
		d.find(races, int32(i))
		if d.trace.Digest(int32(i)) != r.digests[i] {
			return &core.DivergenceError{Step: i, Want: "what was executed there before the search was " +
				"resumed", Got: "something else"}
		}
		if err := d.findPartners(i, &transitions[i]); err != nil {
			return err
		}
	}
	d.chosen, d.races = chosen, d.races[:0]
	top := &d.nodes[len(nodes)-1]
	equal := (*core.Sleeper).Equal
	if r.kept > 0 {
		equal = (*core.Sleeper).Same // another process has foreseen what it has not executed
	}
	if got := d.sleepOf(top); !slices.EqualFunc(got, r.sleep, equal) {
		return &core.DivergenceError{Step: len(nodes) - 1, Want: fmt.Sprintf("the sleep set "+
			"%v", r.sleep), Got: fmt.Sprint(got)}
	}
	return nil
}
