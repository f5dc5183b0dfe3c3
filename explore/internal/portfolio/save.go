package portfolio

import (
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Save implements core.Saveable. What was asked for and is not reported is still to do.
func (s *Search) Save(e *codec.Encoder) {
	var tree codec.Encoder
	if !s.explored {
		if s.tree.Save(&tree); tree.Ended {
			s.finishTree()
		}
	}
	s.SaveCounts(e, "auto")
	if e.Ended = s.Ended || s.explored && !s.Waiting && s.lateLeft() <= 0; e.Ended {
		return
	}
	if e.Truth(s.explored); !s.explored {
		e.Text(string(tree.Data))
	}
	for _, n := range s.saved() {
		e.Count(*n)
	}
	e.Number(uint64(s.phases.Found))
	s.aims.save(e, s.Waiting && s.turn == core.Aimed)
	s.samples.save(e, s.Waiting && s.turn == core.Sampled)
}

// Resume implements core.Saveable.
func (s *Search) Resume(d *codec.Decoder) {
	s.ResumeCounts(d, "auto")
	if s.explored = d.Truth(); !s.explored {
		tree := codec.Decoder{Data: []byte(d.Text())}
		s.tree.Resume(&tree)
		if len(tree.Data) > 0 {
			tree.Fail("%d bytes follow the end of the systematic search", len(tree.Data))
		}
		if tree.Problem != "" {
			d.Fail("%s", tree.Problem)
		}
	}
	for _, n := range s.saved() {
		*n = d.Count(core.MaxCount)
	}
	s.phases.Found = core.Phase(d.Count(uint64(core.Sampled)))
	s.aims.resume(d)
	s.samples.resume(d)
}

func (s *Search) saved() []*int {
	p := &s.phases
	return []*int{&s.cutOff, &s.late, &s.weighed, &s.leeway, &s.aims.urgent, &p.Systematic, &p.Aimed,
		&p.Sampled, &p.At}
}

// save writes what is left to do, and what is known.
func (a *aims) save(e *codec.Encoder, waiting bool) {
	begun := a.begun
	if waiting {
		begun--
	}
	e.Count(begun)
	e.Count(len(a.queue) - begun)
	longest := 0
	for _, x := range a.queue[begun:] {
		e.Count(len(x.holds))
		for _, h := range x.holds {
			e.ID(uint64(h.Goroutine))
			e.Count(h.Nth)
			e.Count(h.Reading)
		}
		e.Count(x.after)
		core.EncodeAction(e, x.turn)
		e.Truth(x.early)
		longest = max(longest, x.after)
	}
	core.EncodeActions(e, a.base[:longest])
	e.Count(len(a.known))
	for _, class := range slices.Sorted(maps.Keys(a.known)) {
		e.Fixed(class)
	}
}

func (a *aims) resume(d *codec.Decoder) {
	a.begun = d.Count(mostAims)
	a.queue = make([]aim, a.begun)
	for range d.Length() {
		var x aim
		for range d.Length() {
			x.holds = append(x.holds, core.Hold{Goroutine: core.GoroutineID(d.ID()),
				Nth: d.Count(core.MaxTransitions), Reading: d.Count(core.MaxTransitions)})
		}
		x.after, x.turn = d.Count(core.MaxTransitions), core.DecodeAction(d)
		x.early = d.Truth()
		if len(x.holds) > core.MaxHolds {
			d.Fail("it is damaged: an aimed schedule holds %d goroutines; the limit is %d",
				len(x.holds), core.MaxHolds)
			a.queue = nil
			return
		}
		a.queue = append(a.queue, x)
	}
	a.listed, a.base = a.begun, core.DecodeActions(d)
	for _, x := range a.queue {
		if x.after > len(a.base) {
			d.Fail("it is damaged: an aimed schedule is longer than the execution that it follows")
			a.queue = nil
			return
		}
	}
	for range d.Length() {
		a.known[d.Fixed()] = true
	}
}
