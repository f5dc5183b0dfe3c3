package pool

import (
	"context"
	"errors"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
)

// How a pool ends: with an error, at the end of the search, or when it is interrupted.

// stop ends everything early.
func (c *coordinator) stop(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(err)
}

// finish ends everything. The caller holds mu. A second call only adds its error. Executors under
// way are interrupted, since their results would not be used.
func (c *coordinator) finish(err error) {
	if c.over {
		c.err = endedWith(c.ctx, c.err, err)
		return
	}
	if c.over, c.err = true, err; err != nil && c.ctx.Err() == nil {
		c.err = first{err}
	}
	c.changed()
	for _, m := range c.members {
		if m.executing { // what nobody will ask for any more
			m.failed = true
			m.Interrupt()
		}
	}
	close(c.ended)
}

// rest returns the results of what was run and not reported, with what it has counted, and why the
// search has ended early. Nobody serves the pool any more. It may be called after the last executor
// has stopped, and only once.
func (c *coordinator) rest() (left []*execution.Result, vain execution.Counts, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left = c.parts.rest()
	vain = c.parts.vain
	for _, j := range c.ahead.rest(c.asked) {
		vain.InVain++
		if j.result != nil {
			vain.Add(j.result.Counts)
			left = append(left, j.result)
		}
	}
	return left, vain, c.err
}

// first is an error that came while nobody had interrupted the search.
type first struct{ error }

func (f first) Unwrap() error { return f.error }

// CameFirst reports whether an error ended the search before that was interrupted, if it ever was.
// To end what takes part takes a while, in which it may be.
func CameFirst(err error) bool {
	var f first
	return errors.As(err, &f)
}

// Interrupted reports whether an error is one that a search may have had because it was
// interrupted. What contradicts itself does so anyway.
func Interrupted(ctx context.Context, err error) bool {
	var divergence *explore.DivergenceError
	var log *explore.LogError
	return ctx.Err() != nil && !errors.As(err, &divergence) && !errors.As(err, &log)
}

// endedWith is the error of a search that has ended already, when another error comes. A
// contradiction takes the place of an interrupt; otherwise the first error stays, or none.
func endedWith(ctx context.Context, ended, err error) error {
	if ended != nil && err != nil && Interrupted(ctx, ended) && !Interrupted(ctx, err) {
		return err
	}
	return ended
}
