package dpor

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// Of DPOR the path is saved, and for each node on it what is to do and the sleepers that were
// explored from there. The trace is not, nor what follows from it: the inherited sleepers and the
// races that are unsettled. The first execution after a resume begins with the path, so that they
// are found again; the search needs only the last node's sleep set before.

// restored is what the first execution after a resume has to show.
type restored struct {
	explored [][]*core.Sleeper // from each node
	digests  []uint64          // of the transitions at all nodes but the last
	sleep    []*core.Sleeper   // at the last node
}

// Save implements core.Saveable.
func (d *Search) Save(e *codec.Encoder) {
	more := !d.Ended && d.decide()
	if d.Tally.SaveCounts(e, "dpor"); !more {
		e.Ended = true
		return
	}
	top := len(d.nodes) - 1
	d.sizes.Save(e)
	e.Number(uint64(len(d.nodes)))
	for i := range d.nodes {
		n := &d.nodes[i]
		wakeup.EncodeTree(e, &n.todo)
		e.Truth(n.incomplete)
		e.Truth(n.leaf)
		if d.restored != nil {
			core.EncodeSleepers(e, d.restored.explored[i])
		} else {
			core.EncodeSleepers(e, d.sleepOf(n)[n.inherited:])
		}
		switch {
		case i == top:
			wakeup.EncodeBranch(e, d.chosen)
			core.EncodeSleepers(e, d.sleepOf(n))
			continue
		case d.restored != nil:
			e.Fixed(d.restored.digests[i])
		default:
			e.Fixed(d.trace.Digest(int32(i)))
		}
		core.EncodeAction(e, d.path[i])
	}
	choosing := slices.DeleteFunc(slices.Clone(d.choosing), func(i int32) bool { return int(i) >= top })
	if len(d.nodes) > 0 {
		e.Number(uint64(len(choosing)))
	}
	for _, i := range choosing {
		e.Number(uint64(i))
	}
}

// Resume implements core.Saveable.
func (d *Search) Resume(from *codec.Decoder) {
	d.Tally.ResumeCounts(from, "dpor")
	d.sizes.Resume(from)
	length := from.Length()
	if length == 0 {
		return
	}
	d.begun, d.decided, d.restored = true, true, &restored{}
	for i := range length {
		d.nodes = append(d.nodes, node{todo: wakeup.DecodeTree(from, 0), incomplete: from.Truth(),
			leaf: from.Truth()})
		d.restored.explored = append(d.restored.explored, core.DecodeSleepers(from))
		if i < length-1 {
			d.restored.digests = append(d.restored.digests, from.Fixed())
			d.path = append(d.path, core.DecodeAction(from))
		}
	}
	chosen := wakeup.DecodeBranch(from, 0)
	d.sleep = core.DecodeSleepers(from)
	d.restored.sleep = slices.Clone(d.sleep)
	d.nodes[length-1].sleepEnd = len(d.sleep)
	for range from.Length() {
		i := int32(from.Count(uint64(length - 1)))
		if int(i) == length-1 || len(d.choosing) > 0 && i <= d.choosing[len(d.choosing)-1] {
			from.Fail("it is damaged: there are alternatives at node %d", i)
			return
		}
		d.choosing = append(d.choosing, i)
	}
	d.descend(chosen)
}

// rebuild makes the trace, and what follows from it, of the beginning of the first
// execution after a resume.
func (d *Search) rebuild(transitions []core.Transition) error {
	r, nodes, chosen := d.restored, d.nodes, d.chosen
	d.restored, d.nodes, d.sleep, d.chosen = nil, nil, nil, nil
	for i, was := range nodes {
		d.addNode(i, was.leaf)
		n := &d.nodes[i]
		n.todo, n.incomplete = was.todo, was.incomplete
		d.sleep = append(d.sleep, r.explored[i]...)
		if n.sleepEnd = len(d.sleep); i == len(nodes)-1 {
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
	if got := d.sleepOf(top); !slices.EqualFunc(got, r.sleep, (*core.Sleeper).Equal) {
		return &core.DivergenceError{Step: len(nodes) - 1, Want: fmt.Sprintf("the sleep set "+
			"%v", r.sleep), Got: fmt.Sprint(got)}
	}
	return nil
}
