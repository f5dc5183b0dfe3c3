package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers"
)

// Quiesce waits until the group is quiescent: every thread of every peer waits for input
// and there is none under way. It returns a *Died or proxy.ErrDied when somebody died,
// and when ctx ends an error that wraps ctx's and says which peer is doing what.
//
// drain reads what there is on the checker's own descriptors, each until EAGAIN or end of
// file, and tells whether there was anything; nil means that the checker has none. Data on them
// that nobody drains keeps the group from being quiescent, as does a peer that sleeps for
// a time (nanosleep): it will go on by itself. One that waits for input with a time-out
// counts as waiting. Connections that no peer accepts, and data that no peer reads, do not keep
// the group from being quiescent where all peers wait for something else: see waiting.go.
//
// The rule is a consistent cut in two passes over all threads: when each sleeps in both
// passes and none ran in between, and the sockets held nothing at a moment in between,
// then all slept, with nothing to wake them, at that moment. It takes the kernel's word
// for what wakes whom at once. On a virtual machine a processor may stand still in the middle
// of a wake-up, so a second cut, after a pause, has to confirm the first.
//
// Where wake-ups are counted (Count), one pass does, in one cut: each thread was asleep when it
// looked, and none was woken or started from before the pass until after it. See wakeupPoints
// for why nobody can be in the middle of a wake-up.
func (w *Watch) Quiesce(ctx context.Context, drain func() (progress bool, err error)) error {
	if drain == nil {
		drain = func() (bool, error) { return false, nil }
	}
	w.effort.Waits++
	w.timers.progress()
	pause, quietCuts := minPause, 0
	var since *activity
	for {
		progress, err := drain()
		if err != nil {
			return fmt.Errorf("read what the peers sent: %w", err)
		}
		quiet := false
		if progress {
			w.timers.progress()
			w.timers.shown++
		} else {
			if quiet, err = w.cut(); err != nil {
				return err
			}
		}
		if quietCuts, err = w.confirm(quiet, quietCuts); err != nil {
			return err
		}
		if quietCuts == confirmations {
			// A reset that came after the checker had looked is on no queue.
			if progress, err = drain(); err != nil {
				return fmt.Errorf("read what the peers sent: %w", err)
			}
			if !progress {
				return nil
			}
			quietCuts = 0
		}
		if since == nil && pause == maxPause { // an answer does not take so long
			since = w.observe()
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the peers do not become quiescent (%s): %w", w.describe(since), err)
		}
		nap(pause)
		pause = min(pause+pause/2, maxPause)
	}
}

// confirm returns how many cuts in a row have found the group asleep, with the last one. Where
// wake-ups are counted, one is as good as enough of them. Where something waits, there must have
// been one before loopback was flushed, and nobody may have run since.
func (w *Watch) confirm(quiet bool, before int) (int, error) {
	switch {
	case !quiet:
		return 0, nil
	case !w.last.waiting && w.wakeups == nil:
		return before + 1, nil
	case !w.last.waiting, before > 0 && w.last.waited && w.last.undisturbed:
		return confirmations, nil
	}
	return 1, flushLoopback()
}

// confirmations is how many cuts in a row must find the group asleep.
const confirmations = 2

// Quiesce is Watch.Quiesce for a single use.
func Quiesce(ctx context.Context, pid int, processes []peers.Process, drain func() (progress bool, err error)) error {
	w, err := New(pid, processes)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Quiesce(ctx, drain)
}

// Pauses between cuts: peers answer within fractions of a millisecond, and each cut
// takes processor time from them.
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

// errAwake is how a pass stops at the first thread that does not wait for input.
var errAwake = errors.New("a thread is awake")

// Effort is what it has taken to find out whether groups were quiescent.
type Effort struct {
	Waits int           // for a group to be quiescent
	Cuts  int           // consistent cuts
	Time  time.Duration // that the cuts took, the pauses between them left out
}

// TakeEffort returns the effort since it was last called.
func (w *Watch) TakeEffort() Effort {
	e := w.effort
	w.effort = Effort{}
	return e
}

// cut tells whether the group was quiescent at some moment during the call.
func (w *Watch) cut() (bool, error) {
	if w.proxyGone() {
		return false, w.asDeath(procfs.ErrGone)
	}
	began := time.Now()
	defer func() {
		w.effort.Cuts++
		w.effort.Time += time.Since(began)
	}()
	if w.wakeups != nil {
		return w.cutByCount()
	}
	if asleep, err := w.pass(0); err != nil || !asleep {
		return false, err
	}
	traffic, err := w.traffic()
	if err != nil || traffic.underWay != "" {
		return false, err
	}
	if asleep, err := w.pass(1); err != nil || !asleep {
		return false, err
	}
	first, second := w.tasks[0], w.tasks[1]
	if len(first) != len(second) {
		return false, nil
	}
	for i := range first {
		if first[i] != second[i] {
			return false, nil
		}
	}
	w.last.note(traffic.waiting, 0, second)
	return true, nil
}

// cutByCount is cut where wake-ups are counted.
func (w *Watch) cutByCount() (bool, error) {
	before, err := w.wakeups.value()
	if err != nil {
		return false, err
	}
	if asleep, err := w.pass(1); err != nil || !asleep {
		return false, err
	}
	traffic, err := w.traffic()
	if err != nil || traffic.underWay != "" {
		return false, err
	}
	after, err := w.wakeups.value()
	if err != nil || before != after {
		return false, err
	}
	w.last.note(traffic.waiting, after, nil)
	return true, nil
}

// pass records every thread; it stops early, with false, where one is awake. The one that was so
// the last time most often still is: it is looked at first, alone. Now and then there is a look
// whether a peer has died meanwhile.
func (w *Watch) pass(n int) (asleep bool, err error) {
	const inARow = 20
	if w.awake != 0 && w.stillAwake() {
		if w.alone++; w.alone%inARow == 0 {
			err = w.checkPeers()
		}
		return false, err
	}
	w.awake, w.alone = 0, 0
	w.tasks[n] = w.tasks[n][:0]
	if n == 1 {
		w.timers.begin()
	}
	err = w.walk(func(t task) error {
		channel, err := w.look(&t)
		w.tasks[n] = append(w.tasks[n], t)
		if err == nil && n == 1 {
			err = w.noteTimers(t, channel)
		}
		if err = orAwake(err); err == errAwake {
			w.awake = t.tid
		}
		return err
	})
	if err == errAwake {
		return false, nil
	}
	return err == nil, err
}

// stillAwake tells whether the thread that was awake at the last pass is so. Whatever else there is
// to be said of it, the pass over all threads does.
func (w *Watch) stillAwake() bool {
	s, err := w.proc.Stat(w.awake)
	if err != nil || s.State == 'Z' {
		return false
	}
	_, err = w.waits(w.awake, s.State)
	return err == errAwake
}

// noteTimers notes what makes a thread go on by itself, and with the first of a process what is
// the process's.
func (w *Watch) noteTimers(t task, channel string) error {
	if channel == "" { // it has ended
		return nil
	}
	if err := w.noteWait(t, channel); err != nil || t.tid != t.pid {
		return err
	}
	return w.noteTimerfds(t)
}

// look notes what a thread has run so far, where wake-ups are not counted, and returns where it
// sleeps, or errAwake.
func (w *Watch) look(t *task) (channel string, err error) {
	if w.wakeups == nil {
		if t.ran, err = w.proc.Ran(t.tid); err != nil {
			return "", err
		}
	}
	s, err := w.proc.Stat(t.tid)
	switch {
	case err != nil:
		return "", err
	case s.Threads != t.listed: // the list breaks off where a thread ends
		return "", errAwake
	case s.State != 'Z':
		return w.waits(t.tid, s.State)
	case t.tid != t.pid: // only first threads stay like that: it is just ending, and the process may be about to
		return "", errAwake
	}
	return "", w.deathOf(t.pid, s)
}

// Methods to tell whether a group is quiescent. They agree; the second disturbs it less.
const (
	MethodProcfs = "procfs" // by looking at /proc twice, and again
	MethodEBPF   = "ebpf"   // by looking once, while wake-ups are counted
)

// waits returns where a thread in this state sleeps, and errAwake unless it waits for input or
// for a time.
func (w *Watch) waits(tid int, state byte) (channel string, err error) {
	channel, err = w.proc.WaitChannel(tid)
	if err != nil {
		return "", err
	}
	if !waitsForInput(state, channel) {
		return "", errAwake
	}
	return channel, nil
}

// orAwake takes a thread that has just ended for one that runs.
func orAwake(err error) error {
	if errors.Is(err, procfs.ErrGone) {
		return errAwake
	}
	return err
}

// waitsForInput judges a thread by the state and wait channel that /proc shows. One that
// sleeps for a time will go on by itself, and one before a full pipe, such as that for its
// output, as soon as that is read.
//
// The state alone does not do: a thread declares itself asleep before it looks for the last
// time whether there is something to wait for, and may lose the processor in between. On a
// busy machine it then seems to sleep for many milliseconds, with input before it. But it has
// not left the run queue, and the kernel gives a wait channel only of those that have.
func waitsForInput(state byte, channel string) bool {
	return state == 'S' && channel != noChannel && !strings.HasSuffix(channel, "pipe_write")
}

// noChannel is what /proc shows of a thread that is on a run queue.
const noChannel = "0"
