package ckptd

import (
	"context"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/peers/watch"
)

// When the program waits for time to pass, so may the peers. Nobody waits for hours: time jumps to
// the next timer that is due, be it the program's or a peer's. Where peers have a virtual clock,
// that is set forward. Where they have the machine's, real time has to pass, up to the patience of
// the caller.
//
// Which timer ended first must not depend on how fast this machine is. So what is due at about the
// same time on both sides is told as a tie, and what a timer did that ended too early, by the
// machine's clock, counts as disturbed: the checker does that part again.

// Bounds on a wait in which the peers do nothing.
const (
	maxTimers   = 1000                 // that end
	maxTied     = 100                  // that end together
	longestWait = time.Hour            // on a virtual clock
	never       = 366 * 24 * time.Hour // what is set for later is as good as not set
	// tied is how far apart the timers of both sides may be due at the same time: peers count in
	// milliseconds.
	tied = time.Millisecond
)

// Pass lets time pass, on the group's line of time, until a timer of the peers has made them do
// something or the time of the program's next has come. Peers that have the machine's clock are
// waited for. The group must have been quiescent; it is again when Pass returns.
func (g *Group) Pass(ctx context.Context, how Wait) (Passed, error) {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return Passed{}, err
	}
	g.steps++
	if how.Drain == nil {
		how.Drain = func() (bool, error) { return false, nil }
	}
	if how.Shows == nil {
		how.Shows = func() (bool, error) { return false, nil }
	}
	p := &passing{group: g, watch: w, how: how, began: w.Time()}
	if !w.Looked() { // it was just restored
		if passed, ended, err := p.endedMeanwhile(ctx); err != nil || ended {
			return passed, g.because(err)
		}
	}
	passed, err := p.run(ctx)
	return passed, g.because(err)
}

// endedMeanwhile has a restored group become quiescent, and tells whether a timer that was set at
// the checkpoint has ended until then, by the machine's clock, and made the peers do something. The
// one that was due first is taken for it. A restore sets timers to the time that was left; while
// peers come back to where they were that may run out.
func (p *passing) endedMeanwhile(ctx context.Context) (passed Passed, ended bool, err error) {
	set := p.watch.SavedTimers()
	if err := p.watch.Quiesce(ctx, p.how.Drain); err != nil || len(set) == 0 {
		return passed, false, err
	}
	if shows, err := p.how.Shows(); err != nil || !shows {
		return passed, false, err
	}
	due := set[0].Due
	if p.how.Most > 0 && due-p.began > p.how.Most+tied { // the program's timer was to be first
		p.group.disturbed = true
	}
	p.group.noteDisturbed(set, due+tied)
	err = p.moveTo(due)
	return Passed{Time: p.passed()}, true, err
}

// passing is a call of Pass. Time passes on a line of its own, that of the group: it stands still
// while the peers work, and jumps from timer to timer.
type passing struct {
	group *Group
	watch *watch.Watch
	how   Wait
	began time.Duration // on the group's line of time
}

// dueTimer is the timer that is due first.
type dueTimer struct {
	due     time.Duration // on the group's line of time
	peer    int
	real    bool // it goes by the machine's clock
	machine watch.Timer
}

// run lets one timer after the other end until something shows. Timers that do nothing are many in
// some programs, so there is a bound.
func (p *passing) run(ctx context.Context) (Passed, error) {
	for range maxTimers {
		n, some, err := p.next(ctx)
		if err != nil {
			return Passed{}, err
		}
		if !some || n.due-p.began > p.horizon(n) || n.real && time.Until(n.machine.Ends()) > p.how.Patience {
			return p.toMost(ctx, n, some)
		}
		// Both are due together, as far as can be told.
		if most := p.how.Most; most > 0 && n.due-p.began > most-tied {
			if n.due-p.began > most+tied {
				return p.toMost(ctx, n, some)
			}
			return Passed{Time: most, Tie: true, Due: tied, Peer: n.peer}, p.moveTo(p.began + most)
		}
		if err := p.end(ctx, n); err != nil || p.how.Once {
			return Passed{Time: p.passed()}, err
		}
		shows, err := p.how.Shows()
		if err != nil {
			return Passed{}, err
		}
		if shows {
			return Passed{Time: p.passed()}, p.endTied(ctx, n)
		}
	}
	n, some, err := p.next(ctx)
	if err != nil {
		return Passed{}, err
	}
	return p.toMost(ctx, n, some)
}

// horizon is how far from the beginning a timer is waited for.
func (p *passing) horizon(n dueTimer) time.Duration {
	switch {
	case n.real:
		return p.how.Patience
	case p.how.Once:
		return never
	}
	return longestWait
}

// passed is how far time has gone.
func (p *passing) passed() time.Duration {
	d := max(p.watch.Time()-p.began, 0)
	if p.how.Most > 0 {
		d = min(d, p.how.Most)
	}
	return d
}

// next finds the timer that is due first. Timers that go by the machine's clock are known from
// /proc; those on a virtual clock are known to the shim, which is asked by an advance of no time.
func (p *passing) next(ctx context.Context) (n dueTimer, some bool, err error) {
	if all := p.watch.Timers(); len(all) > 0 {
		n, some = dueTimer{due: all[0].Due, peer: max(all[0].Peer, 0), real: true, machine: all[0]}, true
	}
	if !p.group.hasVirtualClock() {
		return n, some, nil
	}
	p.group.counters.Next() // what it says may be of before a restore
	if err := p.watch.AdvanceClocks(0); err != nil {
		return n, false, err
	}
	if err := p.watch.Quiesce(ctx, p.how.Drain); err != nil {
		return n, false, fmt.Errorf("ask the peers how long they wait: %w", err)
	}
	if d, has, peer := p.group.counters.Next(); has && (!some || p.watch.Time()+d < n.due) {
		n, some = dueTimer{due: p.watch.Time() + d, peer: peer}, true
	}
	return n, some, nil
}

// end has a timer end, and waits until the group is quiescent again. Timers that are due later were
// set before: if one of them has ended by then, the peers have taken too long.
func (p *passing) end(ctx context.Context, n dueTimer) error {
	if n.real {
		if err := p.await(ctx, n.machine); err != nil {
			return err
		}
	}
	if err := p.moveTo(max(n.due, p.watch.Time())); err != nil {
		return err
	}
	set := p.watch.Timers()
	err := p.watch.Quiesce(ctx, p.how.Drain)
	p.group.noteDisturbed(set, n.due+tied)
	return err
}

// endTied has those timers end, too, that are due together with one that has ended: what they do
// the program sees in any order. A program cannot rely on which of them comes first.
func (p *passing) endTied(ctx context.Context, first dueTimer) error {
	for range maxTied {
		n, some, err := p.next(ctx)
		if err != nil || !some || n.due > first.due+tied {
			return err
		}
		if err := p.end(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a timer has ended by the machine's clock, or something comes from the peers
// before.
func (p *passing) await(ctx context.Context, t watch.Timer) error {
	const look = time.Millisecond
	for !p.watch.Fired(t) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for a timer of the peers that was due in %v: %w", t.Due-p.began, err)
		}
		if progress, err := p.how.Drain(); err != nil || progress {
			return err
		}
		time.Sleep(max(look, min(time.Until(t.Ends())-look/2, 20*look)))
	}
	return nil
}

// moveTo moves the line of time, and virtual clocks with it. It never goes back: what is due in the
// past has ended.
func (p *passing) moveTo(t time.Duration) error {
	d := t - p.watch.Time()
	if d <= 0 {
		return nil
	}
	p.watch.Elapse(d)
	if !p.group.hasVirtualClock() {
		return nil
	}
	return p.watch.AdvanceClocks(d)
}

// toMost is the end of a wait in which the peers have done nothing: the program's timer is next, or
// there is none.
func (p *passing) toMost(ctx context.Context, n dueTimer, some bool) (Passed, error) {
	end := p.watch.Time()
	if p.how.Most > 0 {
		end = p.began + p.how.Most
		// Where a timer of the peers is due soon after the program's, real time has to go on as far
		// as the program's. One that is due before the program's, and was not waited for, counts as
		// none.
		if some && n.real && n.due >= end && n.due-p.watch.Time() <= p.how.Patience {
			if err := sleep(ctx, end-p.watch.Time()); err != nil {
				return Passed{}, err
			}
		}
		if err := p.moveTo(end); err != nil {
			return Passed{}, err
		}
		if p.group.hasVirtualClock() { // others have not been given anything
			if err := p.watch.Quiesce(ctx, p.how.Drain); err != nil {
				return Passed{}, err
			}
		}
	}
	passed := Passed{Time: p.passed(), Idle: !some || n.due-end > p.horizon(n)}
	if some {
		passed.Due, passed.Peer = max(n.due-end, 1), n.peer
	}
	return passed, nil
}

// sleep waits for real time to pass.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// hasVirtualClock reports whether the clock of any peer is virtual.
func (g *Group) hasVirtualClock() bool {
	for i := range g.processes {
		if g.processes[i].VirtualClock {
			return true
		}
	}
	return false
}

// Late reports whether a peer has gone on by itself since the group was quiescent, since a timer of
// its has ended: by the machine's clock, and not when it was to.
func (g *Group) Late() bool {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	return err == nil && w.Late()
}

// noteDisturbed notes whether a timer that is due later on the group's line of time, of those that
// were set, has ended by the machine's clock.
func (g *Group) noteDisturbed(set []watch.Timer, due time.Duration) {
	now := time.Now()
	for _, t := range set {
		if t.Due > due && !t.Ticks && now.After(t.Ends()) {
			g.disturbed = true
		}
	}
}

// TakeDisturbed reports whether, since it was called last, a timer of the peers has ended before it
// was to: they and the checker have taken too long, by the machine's clock, for what takes no time.
// What they have done then may be what the timer made them do.
func (g *Group) TakeDisturbed() bool {
	g.operation.Lock()
	defer g.operation.Unlock()
	disturbed := g.disturbed
	g.disturbed = false
	return disturbed
}
