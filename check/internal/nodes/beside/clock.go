package beside

import (
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Waits has time pass for the peers, as all nodes wait: at most until the first of their timers is
// due, which is that far away, or with 0 for as long as a timer of the peers takes. It says whether
// the peers do something by themselves, and after how much time. What that is, React makes.
//
// Where nothing comes from them, the clock can advance to the timer of the node.
func (c *Component) Waits(most time.Duration) (passed time.Duration, r *model.Reaction, err error) {
	if !c.heard || c.asked || c.idle {
		return 0, nil, nil
	}
	in := model.Input{Kind: model.Pass}
	// The least times have a meaning of their own: see model.Input.
	if most > 0 {
		in.Most = max(most, model.Once+1)
	}
	a, err := c.answers.Exchange(in)
	if err != nil {
		return 0, nil, err
	}
	c.asked, c.idle, c.tie = !a.Shows(), a.Time.Idle, a.Time.Tie
	if !a.Shows() {
		return 0, nil, nil
	}
	if passed = a.Time.Passed; most > 0 {
		passed = min(passed, most)
	}
	return passed, &a.Reaction, nil
}

// Advances has the peers take part in an advance of the clock to some time. With own it is one of
// their timers that is due.
func (c *Component) Advances(now time.Duration, own bool) {
	c.ticks++
	c.asked, c.now = false, now
	label := network.Event{Kind: model.Pass, Time: now, Own: own}
	c.make(label, skeleton.Nobody, nil).Tick = c.ticks
}

// IsDue says whether a timer of theirs is due now, and has not ended yet.
func (c *Component) IsDue() bool { return c.tie }

// Fires has that timer end.
func (c *Component) Fires() error {
	c.tie = false
	a, err := c.answers.Exchange(model.Input{Kind: model.Pass, Most: model.Once})
	if err == nil {
		c.asked, c.idle = !a.Shows(), a.Time.Idle
		c.React(a.Reaction)
	}
	return err
}
