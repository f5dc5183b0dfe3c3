// Package dfs has two depth-first searches: one that runs every execution, and one with a reduction
// that is sound within a bound on preemptions.
package dfs

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Search runs every execution, depth first and without any reduction.
type Search struct {
	core.Tally
	prefix []core.Action // the path to the top of the stack
	stack  []branching
	begun  bool
	sizes  core.BranchSizes
	core.Division
}

// New returns a search within bounds, if there are any.
func New(b core.Bounds) *Search { return &Search{Tally: core.Tally{Bounds: b}} }

// branching is a state on the path with what can be picked there.
type branching struct {
	enabled []core.Alternative
	todo    []core.Action // not picked yet
}

// Next implements core.Search.
func (d *Search) Next() (core.Schedule, bool) {
	d.Expect()
	if !d.begun {
		d.begun = true
		return d.schedule(), true
	}
	top := d.lastOpen()
	if top < 0 {
		return d.End()
	}
	b := &d.stack[top]
	d.prefix[top] = b.todo[0]
	d.stack, d.prefix = d.stack[:top+1], d.prefix[:top+1]
	d.sizes.Turn(top, d.Counts.Executions)
	b.todo = b.todo[1:]
	d.Arrive(top, func(p *core.Subtree) bool { return p.Begins == d.prefix[top] })
	return d.schedule(), true
}

// schedule is that of the path. The last action of it is new, unless a resumed search goes on with
// an execution of which nothing is known but that.
func (d *Search) schedule() core.Schedule {
	return core.Schedule{Prefix: d.prefix, WantEnabled: true, Limits: d.Bounds.Limits, Covers: true,
		New: max(len(d.prefix)-1, 0)}
}

// lastOpen is the last state on the path where something is left to do, -1 if there is none.
func (d *Search) lastOpen() int {
	for top := len(d.stack) - 1; top >= d.Floor; top-- {
		if len(d.stack[top].todo) > 0 {
			return top
		}
	}
	return -1
}

// Report implements core.Search.
func (d *Search) Report(e core.Execution) error {
	if err := d.follow(e); err != nil {
		return err
	}
	for i := len(d.stack); i < len(e.Transitions); i++ {
		if err := d.push(i, &e.Transitions[i]); err != nil {
			return err
		}
	}
	return nil
}

// follow counts an execution, and compares it with the path that it was to take.
func (d *Search) follow(e core.Execution) error {
	if err := d.Count(e); err != nil {
		return err
	}
	d.CancelArrived()
	if err := core.CheckActions(d.prefix, e.Transitions); err != nil {
		return err
	}
	for i := range d.stack {
		if want, got := d.stack[i].enabled, e.Transitions[i].Enabled; !slices.Equal(want, got) {
			return &core.DivergenceError{Step: i, Want: fmt.Sprintf("%v to be enabled", want),
				Got: fmt.Sprint(got)}
		}
	}
	return nil
}

// Split implements core.Tree.
func (d *Search) Split(size core.Size) *core.Subtree {
	p, part := d.subtree(size)
	if p == nil {
		return nil
	}
	p.Search = part
	return d.Add(p)
}

// subtree makes a subtree; nil if there is nothing to take.
func (d *Search) subtree(size core.Size) (*core.Subtree, *Search) {
	untaken := func(i int) int {
		return slices.IndexFunc(d.stack[i].todo,
			func(a core.Action) bool {
				return !d.Has(i,
					func(p *core.Subtree) bool { return p.Begins == a })
			})
	}
	node := d.sizes.SplitAt(len(d.stack), d.Counts.Executions, size,
		func(i int) bool { return untaken(i) >= 0 })
	if node < 0 {
		return nil, nil
	}
	p := &core.Subtree{Node: node, Begins: d.stack[node].todo[untaken(node)]}
	part := &Search{Tally: core.Tally{Bounds: d.Bounds}, stack: slices.Clone(d.stack[:node+1]),
		prefix: append(slices.Clone(d.prefix[:node]), p.Begins)}
	for i := range part.stack {
		part.stack[i].todo = nil
	}
	part.Floor = node + 1
	return p, part
}

// Merge implements core.Tree. What is to do up to where the subtree begins is the search's own.
func (d *Search) Merge(p *core.Subtree) bool {
	d.mergeDFS(p, p.Search.(*Search))
	return true
}

func (d *Search) mergeDFS(p *core.Subtree, part *Search) {
	d.sizes.Merge(&part.sizes, p.Node, d.Counts.Executions)
	d.Tally.Absorb(p)
	d.stack, d.prefix, d.Reached = append(d.stack[:p.Node+1], part.stack[p.Node+1:]...), part.prefix, nil
}

// push puts the state before transition t on the stack.
func (d *Search) push(step int, t *core.Transition) error {
	b := branching{enabled: slices.Clone(t.Enabled)}
	found := false
	for _, alternative := range t.Enabled {
		for choice := range alternative.Choices {
			a := core.Action{Goroutine: alternative.Goroutine, Choice: choice}
			if a == t.Action {
				found = true
			} else {
				b.todo = append(b.todo, a)
			}
		}
	}
	if !found {
		return core.WrongLog(step, "%s was executed but is not among the enabled ones, "+
			"%v", t.Action, t.Enabled)
	}
	d.prefix, d.stack = append(d.prefix, t.Action), append(d.stack, b)
	return nil
}

// Verdict implements core.Search.
func (d *Search) Verdict() core.Verdict {
	v := d.Conclude("")
	v.Estimate = d.sizes.Estimate(len(d.stack), d.Counts.Executions,
		func(i int) int { return len(d.stack[i].todo) })
	return v
}

// Forecast is Search.Forecast.
func (d *Search) Forecast() float64 {
	top := len(d.stack) - 1
	if top < 0 {
		return 0
	}
	return d.sizes.OfBranch(top)*float64(1+len(d.stack[top].todo)) - 1
}

// Save implements core.Saveable.
func (d *Search) Save(e *codec.Encoder) { d.saveAs(e, "dfs") }

// saveAs writes the stack up to the last state where something is left to do, and returns how many
// states that are.
func (d *Search) saveAs(e *codec.Encoder, search string) int {
	d.Tally.SaveCounts(e, search)
	d.sizes.Save(e)
	top := len(d.stack) - 1
	left := func(i int) []core.Action {
		if d.Waiting && i == top { // what is being executed
			return append([]core.Action{d.prefix[i]}, d.stack[i].todo...)
		}
		return d.stack[i].todo
	}
	last := top
	for last >= 0 && len(left(last)) == 0 {
		last--
	}
	e.Count(last + 1)
	for i := range last + 1 {
		b := &d.stack[i]
		core.EncodeAction(e, d.prefix[i])
		core.EncodeAlternatives(e, b.enabled)
		core.EncodeActions(e, left(i))
	}
	return last + 1
}

// Resume implements core.Saveable.
func (d *Search) Resume(from *codec.Decoder) { d.resumeAs(from, "dfs") }

func (d *Search) resumeAs(from *codec.Decoder, search string) {
	d.Tally.ResumeCounts(from, search)
	d.sizes.Resume(from)
	for range from.Length() {
		d.prefix = append(d.prefix, core.DecodeAction(from))
		d.stack = append(d.stack, branching{enabled: core.DecodeAlternatives(from),
			todo: core.DecodeActions(from)})
	}
	d.begun = d.begun || d.Counts.Executions > 0
}
