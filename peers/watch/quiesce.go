package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Quiesce waits until the group is quiescent: every thread of every peer waits for input, and
// there is none under way. It returns a *Died or proxy.ErrDied when somebody has died. When ctx
// ends, it returns an error that wraps that of ctx and says which peer is doing what.
//
// drain reads what there is on the checker's own descriptors, each until EAGAIN or end of file,
// and tells whether there was anything. nil means that the checker has none. Data on them that
// nobody drains keeps the group from being quiescent. So does a peer that sleeps for a time
// (nanosleep), since it will go on by itself. A peer that waits for input with a time-out counts
// as waiting. Connections that no peer accepts, and data that no peer reads, do not keep the
// group from being quiescent if all peers wait for something else: see traffic.go.
//
// The rule is a consistent cut in two passes over all threads. When each sleeps in both passes
// and none ran in between, and the sockets held nothing at a moment in between, then all slept,
// with nothing to wake them, at that moment. This takes the kernel's word that a thread which is
// woken is seen to be awake at once. On a virtual machine a processor may stand still in the
// middle of a wake-up. So a second cut, after a pause, has to confirm the first.
//
// If wake-ups are counted (Count), one pass in one cut is enough. Each thread was asleep when the
// pass looked, and none was woken or started from before the pass until after it. See
// wakeupPoints for why nobody can be in the middle of a wake-up.
func (w *Watch) Quiesce(ctx context.Context, drain func() (progress bool, err error)) error {
	if drain == nil {
		drain = func() (bool, error) { return false, nil }
	}
	w.waits++
	w.timers.progress()
	pause, quietCuts := minPause, 0
	var since *activity
	for {
		quiet, err := w.drainOrCut(drain)
		if err != nil {
			return err
		}
		flush := false
		quietCuts, flush = w.cuts.last.confirm(quiet, quietCuts, w.cuts.wakeups != nil)
		if flush {
			if err := flushLoopback(); err != nil {
				return err
			}
		}
		if quietCuts == confirmations {
			// A reset that came after the checker had looked is on no queue.
			progress, err := drain()
			if err != nil {
				return drainError(err)
			}
			if !progress {
				return nil
			}
			quietCuts = 0
		}
		// Later, the message says what has run since this moment.
		if since == nil && pause == maxPause { // an answer does not take so long
			since = observe(w.group)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the peers do not become quiescent (%s): %w",
				diagnoser{w.group, w.network, w.timers}.diagnose(since), err)
		}
		nap(pause)
		pause = min(pause+pause/2, maxPause)
	}
}

// drainOrCut reads what has come from the peers. If there was nothing, it tells whether the group
// was quiescent.
func (w *Watch) drainOrCut(drain func() (progress bool, err error)) (quiet bool, err error) {
	progress, err := drain()
	if err != nil {
		return false, drainError(err)
	}
	if progress {
		w.timers.output()
		return false, nil
	}
	return w.cuts.cut()
}

// drainError says that reading what has come from the peers failed.
func drainError(err error) error { return fmt.Errorf("read what the peers sent: %w", err) }

// Pauses between cuts. Peers answer within fractions of a millisecond, and each cut takes
// processor time from them.
const (
	minPause = 40 * time.Microsecond
	maxPause = 2 * time.Millisecond
)

// nap sleeps with the precision of the kernel, which timers of the runtime do not have.
func nap(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	// A signal may cut it short; the caller looks again anyway.
	_ = unix.Nanosleep(&t, nil)
}

// Ready waits until every peer listens where it says, and the group is quiescent. When ctx ends
// before, the error names the peers that do not listen, and what the threads of the group have done
// meanwhile. A peer that ends before is a *Died, with the words that it was not ready.
func (w *Watch) Ready(ctx context.Context) error {
	pause, since := minPause, observe(w.group)
	for {
		if err := w.Check(); err != nil {
			return fmt.Errorf("before it was ready: %w", err)
		}
		missing, err := w.notListening()
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return w.Quiesce(ctx, nil)
		}
		if err := ctx.Err(); err != nil {
			busy := diagnoser{w.group, w.network, w.timers}.busy(since)
			return fmt.Errorf("%s (%s): %w", strings.Join(missing, "; "),
				cmp.Or(busy, "the peers only wait for input"), err)
		}
		nap(pause)
		pause = min(pause+pause/2, maxPause)
	}
}

// notListening says of each peer that should listen and does not that it is so.
func (w *Watch) notListening() ([]string, error) {
	listening, err := w.network.listeners()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, p := range w.group.peers {
		addresses, err := p.Addresses()
		if err != nil {
			return nil, errors.New("peer " + p.Name + ": " + err.Error())
		}
		for _, at := range addresses {
			there, err := listening.has(at)
			if err != nil {
				return nil, err
			}
			if !there {
				missing = append(missing, fmt.Sprintf("peer %s is not ready: nobody listens on %v",
					p.Name, at))
			}
		}
	}
	return missing, nil
}

// Effort is what it has taken to find out whether groups were quiescent.
type Effort struct {
	Waits int           // for a group to be quiescent
	Cuts  int           // consistent cuts
	Time  time.Duration // that the cuts took, without the pauses between them
}

// ResetEffort returns the effort since it was last called.
func (w *Watch) ResetEffort() Effort {
	e := Effort{Waits: w.waits, Cuts: w.cuts.count, Time: w.cuts.time}
	w.waits, w.cuts.count, w.cuts.time = 0, 0, 0
	return e
}
