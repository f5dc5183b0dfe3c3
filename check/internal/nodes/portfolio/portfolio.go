// Package portfolio explores several programs, and makes executions of all of them at random in
// between. So violations are found early, and the exploration still covers everything in the end.
//
// An exploration takes one skeleton after the other, and those near the beginning first. A
// violation that needs much to happen comes late. Executions at random come to the end of what the
// nodes do at once. They find nothing else, so whether the nodes hold is up to the exploration.
//
// The exploration begins. When it has made 32 executions of nodes, 64, 128 and so on, executions at
// random follow until there are half as many. So a small system is explored without any, and a
// large one takes half as long again at most. Where the exploration cannot go on, executions at
// random do, up to the bound.
package portfolio

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/internal/model"
)

// first is how many executions the exploration makes before any at random.
const first = 32

// Run checks nodes as nodes.Run does, and with walks beside an exploration if that is what Walks
// says. Walks depend on no exploration. So the same nodes with the same bounds and seed do the same
// things in the same order.
func Run(ctx context.Context, c nodes.Config) (*nodes.Result, error) {
	if c.Walks == nil || !c.Walks.Beside {
		return nodes.Run(ctx, c)
	}
	p := &portfolio{ctx: ctx, walking: c, save: c.Save, kept: kept{Next: first}}
	if c.Resume != nil {
		if err := p.resume(c.Resume); err != nil {
			return nil, err
		}
	}
	c.Walks, c.Resume, c.Save, c.Between = nil, p.Explored, p.keep, p.between
	r, err := nodes.Run(ctx, c)
	if r, err = p.despite(r, err); err != nil {
		return nil, err
	}
	if r.Verdict == model.Unknown && !r.Whole {
		if err := p.rest(r.Runs); err != nil {
			return nil, err
		}
	}
	p.join(r)
	return r, nil
}

// despite is the result of an exploration. If that has failed, what the walks have found counts
// more, and the error is a note.
func (p *portfolio) despite(r *nodes.Result, err error) (*nodes.Result, error) {
	if err == nil || p.found() == 0 {
		return r, err
	}
	r = &nodes.Result{Verdict: model.Violated}
	r.Note("the exploration has ended early: " + err.Error())
	return r, nil
}

// portfolio is one check.
type portfolio struct {
	ctx     context.Context
	walking nodes.Config  // of the walks
	random  *nodes.Result // what the walks have come to; nil: there were none
	save    func(encode func() ([]byte, error), last bool)
	kept
}

// kept is what is known between two batches of the exploration, as it is saved.
type kept struct {
	Explored []byte // the exploration
	Walks    []byte // where they go on; nil: they begin
	Runs     int    // executions of nodes in walks
	Next     int    // when more of them follow, in executions of the exploration
}

// resume takes over what was saved.
func (p *portfolio) resume(data []byte) error {
	if err := json.Unmarshal(data, &p.kept); err != nil {
		return fmt.Errorf("the check that was saved cannot be read: %w: check the nodes from the "+
			"beginning", err)
	}
	p.walking.Progress.Ran(p.Runs)
	return nil
}

// keep saves the exploration together with the walks. What was found ends the check.
func (p *portfolio) keep(encode func() ([]byte, error), last bool) {
	if p.save == nil || p.found() > 0 {
		return
	}
	p.save(func() (data []byte, err error) {
		then := p.kept
		if then.Explored, err = encode(); err != nil {
			return nil, err
		}
		if last {
			p.Explored = then.Explored
		}
		return json.Marshal(then)
	}, last)
}

// found is how many violations the walks have found.
func (p *portfolio) found() int {
	if p.random == nil {
		return 0
	}
	return len(p.random.Violations)
}

// wanted is how many violations are looked for.
func (p *portfolio) wanted() int { return max(p.walking.Violations, 1) }

// between makes walks if it is time, after so many executions of the exploration.
func (p *portfolio) between(explored int) (walked int, enough bool, err error) {
	if explored >= p.Next {
		next := p.Next
		for next <= explored {
			next *= 2
		}
		// Interrupted ones are made when the check goes on.
		if err = p.walk(p.within(next/4, explored)); err == nil && p.ctx.Err() == nil {
			p.Next = next
		}
	}
	return p.Runs, p.found() >= p.wanted(), err
}

// within is as many executions of walks as are wanted, or as the bound leaves.
func (p *portfolio) within(wanted, explored int) int {
	if most := p.walking.Executions; most > 0 {
		return min(wanted, most-explored)
	}
	return wanted
}

// rest makes walks until the bound, if the exploration has ended without a verdict before. What it
// has saved last, if it has begun at all, is saved again: so the walks go on from where they are.
func (p *portfolio) rest(explored int) error {
	if p.ctx.Err() != nil {
		return nil
	}
	if err := p.walk(p.within(math.MaxInt, explored)); err != nil {
		return err
	}
	p.keep(func() ([]byte, error) { return p.Explored, nil }, true)
	return nil
}

// walk makes walks until there are so many executions of nodes in them, or enough was found. What
// earlier ones have found is not told again.
func (p *portfolio) walk(most int) error {
	if p.found() >= p.wanted() || most <= p.Runs {
		return nil
	}
	c := p.walking
	c.Executions, c.Resume, c.Violations = most, p.Walks, p.wanted()-p.found()
	c.Counted = p.Runs
	c.Save = func(encode func() ([]byte, error), last bool) {
		if last {
			if state, err := encode(); err == nil { // else these walks are made again
				p.Walks = state
			}
		}
	}
	r, err := nodes.Run(p.ctx, c)
	if err != nil {
		return err
	}
	if p.random != nil {
		r.Note(p.random.Notes...)
		r.Comes(p.random.Outcomes...)
		r.Violations = slices.Concat(p.random.Violations, r.Violations)
	}
	p.random, p.Runs = r, r.Runs
	return nil
}

// join adds what the walks have come to.
func (p *portfolio) join(r *nodes.Result) {
	r.Runs, r.Random = r.Runs+p.Runs, p.Runs
	if p.random == nil {
		return
	}
	r.Note(p.random.Notes...)
	r.Comes(p.random.Outcomes...)
	slices.Sort(r.Outcomes)
	if p.found() == 0 {
		return
	}
	all := p.random.Violations
	for _, v := range r.Violations {
		if !slices.ContainsFunc(all, func(w *nodes.Violation) bool { return w.Signature == v.Signature }) {
			all = append(all, v)
		}
	}
	r.Violations = all[:min(len(all), p.wanted())]
	r.Verdict, r.Reason = model.Violated, ""
}
