package states

import (
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Save writes the table, but for the execution under way. It is called when that may name states.
func (t *Table) Save(e *codec.Encoder) {
	e.Truth(t.full)
	e.Count(t.ends)
	e.Count(len(t.known))
	for _, key := range slices.SortedFunc(maps.Keys(t.known), compare) {
		at := t.known[key]
		saveKey(e, key)
		e.Number(uint64(at.execution))
		e.Number(uint64(at.step))
		e.Truth(at.round)
	}
	e.Count(len(t.edges))
	for _, n := range slices.Sorted(maps.Keys(t.edges)) {
		e.Fixed(n)
	}
	e.Count(len(t.path.list))
	for i := range t.path.list {
		saveNamed(e, &t.path.list[i])
	}
	t.trials.save(e)
}

func compare(a, b core.StateKey) int { return slices.Compare(a[:], b[:]) }

func saveKey(e *codec.Encoder, k core.StateKey) {
	e.Fixed(k[0])
	e.Fixed(k[1])
}

func readKey(d *codec.Decoder) (k core.StateKey) {
	k[0] = d.Fixed()
	k[1] = d.Fixed()
	return k
}

func saveNamed(e *codec.Encoder, s *core.NamedState) {
	saveKey(e, s.Key)
	e.Fixed(s.PC)
	for _, n := range [...]int{s.Step, s.Effect, s.Turn, s.Tick} {
		e.Count(n)
	}
	e.Truth(s.Stirs)
	e.Truth(s.Waits)
}

func readNamed(d *codec.Decoder) (s core.NamedState) {
	s.Key = readKey(d)
	s.PC = d.Fixed()
	for _, n := range [...]*int{&s.Step, &s.Effect, &s.Turn, &s.Tick} {
		*n = d.Count(core.MaxTransitions)
	}
	s.Stirs = d.Truth()
	s.Waits = d.Truth()
	return s
}

// save writes the trials. The one under way is to be run again.
func (t *trials) save(e *codec.Encoder) {
	e.Count(t.tested)
	if e.Truth(t.due != nil); t.due != nil {
		e.Count(t.due.execution)
		core.EncodeActions(e, t.due.prefix)
		saveNamed(e, &t.due.from)
		e.Fixed(t.due.seed)
		e.Truth(t.due.round)
	}
	e.Count(len(t.open))
	for i := range t.open {
		l := &t.open[i]
		e.Fixed(l.edge)
		e.Fixed(l.PC)
		for _, n := range l.numbers() {
			e.Count(*n)
		}
		e.Truth(l.Ends)
		e.Number(uint64(l.Outcome))
		e.Truth(l.Known)
	}
}

func (l *link) numbers() [4]*int {
	return [...]*int{&l.Execution, &l.Step, &l.First, &l.FirstStep}
}

// Resume reads what Save wrote into an empty table.
func (t *Table) Resume(d *codec.Decoder) {
	t.full = d.Truth()
	t.ends = d.Count(core.MaxCount)
	for range d.Length() {
		key := readKey(d)
		t.known[key] = place{uint32(d.Count(1<<32 - 1)), uint32(d.Count(core.MaxTransitions)), d.Truth()}
	}
	for range d.Length() {
		t.edges[d.Fixed()] = struct{}{}
	}
	for range d.Length() {
		t.path.add(readNamed(d))
	}
	t.trials.resume(d)
}

func (t *trials) resume(d *codec.Decoder) {
	t.tested = d.Count(core.MaxCount)
	if d.Truth() {
		t.due = &trial{execution: d.Count(core.MaxCount)}
		t.due.prefix = core.DecodeActions(d)
		t.due.from = readNamed(d)
		t.due.seed = d.Fixed()
		t.due.round = d.Truth()
	}
	for range d.Length() {
		l := link{edge: d.Fixed()}
		l.PC = d.Fixed()
		for _, n := range l.numbers() {
			*n = d.Count(core.MaxCount)
		}
		l.Ends = d.Truth()
		if l.Outcome = core.Outcome(d.Count(1<<8 - 1)); l.Outcome >= core.Outcomes {
			d.Fail("it is damaged: a trial has ended with %v", l.Outcome)
		}
		l.Known = d.Truth()
		t.open = append(t.open, l)
	}
}
