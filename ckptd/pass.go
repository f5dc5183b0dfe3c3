package ckptd

import (
	"context"
	"fmt"
	"time"
)

// Pass lets time pass for those peers whose clock is virtual, until the first of them goes on
// that waits for a time, but no longer than most. It returns how long that is, 0 if none waits for a time.
// The group must be quiescent; what the peers do now comes as after an input.
func (g *Group) Pass(ctx context.Context, most time.Duration) (time.Duration, error) {
	g.operation.Lock()
	defer g.operation.Unlock()
	watch, err := g.watch()
	if err != nil {
		return 0, err
	}
	g.page.Next() // what it says may be of before a restore
	if err := watch.Pass(0); err != nil {
		return 0, g.because(err)
	}
	if err := watch.Quiesce(ctx, nil); err != nil {
		return 0, fmt.Errorf("ask the peers how long they wait: %w", g.because(err))
	}
	next, some := g.page.Next()
	if !some {
		return 0, nil
	}
	next = min(next, most)
	return next, g.because(watch.Pass(next))
}
