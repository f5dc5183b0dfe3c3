package nodes

import (
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
)

// A node of a walk may be paused, as if its process was stopped, or its machine: by a collection of
// garbage, by a hypervisor, by others that have the processor. It does not run while the clock
// advances for others, and what is sent to it waits. Then it goes on at a later time, at which all
// of its timers fire that were due meanwhile. What has come is there before that, or after it.
//
// A pause begins where the node waits. What a program does takes no time here, so most of the time
// it waits.

// pausing is what a node has of its pauses.
type pausing struct {
	pauses []pick.Pause // that are still to come
	paused bool         // it does not run
	// began is the event with which the present pause has begun; Runs: the clock has not advanced
	// in it.
	began network.Paused
}

// isPaused says whether a node that waits is paused now, as chosen before.
func (m *member) isPaused() bool {
	i := slices.IndexFunc(m.pauses, func(p pick.Pause) bool { return p.Events <= m.walk.events })
	if i < 0 {
		return false
	}
	m.until = m.walk.ticks + m.pauses[i].Length
	m.pauses = slices.Delete(m.pauses, i, i+1)
	return true
}

// pause has a node not run until its pause is over. The node waits for a timer that is due after
// some time. pause says whether the clock has advanced, or the walk is over, and answers then.
func (m *member) pause(most time.Duration, a *model.Answer) bool {
	since := m.Now
	m.paused, m.began, m.news = true, network.Runs, false
	m.walk.pass(m)
	m.paused = false
	if m.walk.over != "" {
		m.stopped, a.Failure = true, m.walk.over
		return true
	}
	m.look()
	if m.began == network.Runs {
		return false
	}
	m.walk.resumed = m.walk.ticks
	m.Resumes(since, most, m.began == network.Fires, a)
	return true
}

// sleeps has a node that is paused take part in an advance of the clock, without its noticing.
func (m *member) sleeps(now time.Duration) {
	m.look() // what was sent before comes from the time before
	e := network.Event{Kind: model.Pass, Time: now, Paused: network.GoesOn}
	if m.began == network.Runs {
		m.began = network.Begins
		if m.walk.random.IntN(2) == 0 {
			m.began = network.Fires
		}
		e.Paused = m.began
	}
	m.Passes(e)
}
