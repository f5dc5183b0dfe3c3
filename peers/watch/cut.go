package watch

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// Methods to tell whether a group is quiescent. They agree; the second disturbs the group less.
const (
	MethodProcfs = "procfs" // by looking at /proc twice, and again
	MethodEBPF   = "ebpf"   // by looking once, while wake-ups are counted
)

// cutter tells whether a group is quiescent at a moment, by a consistent cut: see Watch.Quiesce. It
// belongs to one goroutine.
type cutter struct {
	group   *members
	network *network
	waits   *waitReader
	wakeups *wakeupCount // nil: every cut looks twice
	threads [2][]thread  // as the two passes of the last cut have found them
	last    rest         // the last cut that found the group asleep
	awake   int          // a thread that the last pass has found awake; 0: none
	stopped int          // how many passes in a row have not looked at all threads
	count   int          // of cuts
	time    time.Duration
}

// errAwake is how a pass stops at the first thread that does not wait for input.
var errAwake = errors.New("a thread is awake")

// cut tells whether the group was quiescent at some moment during the call. An error is that
// somebody has died, or that the kernel's files cannot be read.
func (c *cutter) cut() (bool, error) {
	if c.group.isGone() {
		return false, c.group.asDeath(procfs.ErrGone)
	}
	began := time.Now()
	defer func() {
		c.count++
		c.time += time.Since(began)
	}()
	if c.wakeups != nil {
		return c.cutByCount()
	}
	if asleep, err := c.pass(0); err != nil || !asleep {
		return false, err
	}
	traffic, err := c.network.traffic()
	if err != nil || traffic.underWay != "" {
		return false, err
	}
	if asleep, err := c.pass(1); err != nil || !asleep {
		return false, err
	}
	first, second := c.threads[0], c.threads[1]
	if !slices.Equal(first, second) {
		return false, nil
	}
	c.last.note(traffic.waiting, 0, second)
	return true, nil
}

// cutByCount is cut if wake-ups are counted. One pass is enough, with the count before and after
// it: see Watch.Quiesce.
func (c *cutter) cutByCount() (bool, error) {
	before, err := c.wakeups.value()
	if err != nil {
		return false, err
	}
	if asleep, err := c.pass(1); err != nil || !asleep {
		return false, err
	}
	traffic, err := c.network.traffic()
	if err != nil || traffic.underWay != "" {
		return false, err
	}
	after, err := c.wakeups.value()
	if err != nil || before != after {
		return false, err
	}
	c.last.note(traffic.waiting, after, nil)
	return true, nil
}

// pass records every thread. It stops early, with false, at one that is awake. The thread that
// was awake the last time most often still is. So it is looked at first, and alone.
func (c *cutter) pass(n int) (asleep bool, err error) {
	if c.awake != 0 && c.isStillAwake() {
		return false, c.stopsEarly()
	}
	c.awake = 0
	c.threads[n] = c.threads[n][:0]
	if n == 1 {
		c.waits.startLook()
	}
	err = c.group.walk(func(t thread) error {
		channel, err := c.look(&t)
		c.threads[n] = append(c.threads[n], t)
		if err == nil && n == 1 {
			var working bool
			if working, err = c.waits.look(t, channel); err == nil && working {
				err = errAwake
			}
		}
		if err = orAwake(err); err == errAwake {
			c.awake = t.tid
		}
		return err
	})
	if err == errAwake {
		return false, c.stopsEarly()
	}
	c.stopped = 0
	return err == nil, err
}

// stopsEarly notes that a pass does not look at all threads, and looks now and then whether a peer
// has died. It does not matter which thread is awake: a peer that runs may do so in several threads
// by turns.
func (c *cutter) stopsEarly() error {
	const inARow = 20
	if c.stopped++; c.stopped%inARow == 0 {
		return c.group.check()
	}
	return nil
}

// isStillAwake tells whether the thread that was awake at the last pass still is. All else that
// there is to be said of it, the pass over all threads says.
func (c *cutter) isStillAwake() bool {
	s, err := c.group.proc.Stat(c.awake)
	if err != nil || s.State == 'Z' {
		return false
	}
	_, err = c.sleepsIn(c.awake, s.State)
	return err == errAwake
}

// look notes how much a thread has run so far, unless wake-ups are counted. It returns where the
// thread sleeps, or errAwake. The channel of one that has ended is empty. A process whose first
// thread has ended while others go on shows as a zombie, too; so a dead peer is told by its whole
// state.
func (c *cutter) look(t *thread) (channel string, err error) {
	if c.wakeups == nil {
		if t.ran, err = c.group.proc.Ran(t.tid); err != nil {
			return "", err
		}
	}
	s, err := c.group.proc.Stat(t.tid)
	switch {
	case err != nil:
		return "", err
	case s.Threads != t.listed: // the list breaks off where a thread ends
		return "", errAwake
	case s.State != 'Z':
		return c.sleepsIn(t.tid, s.State)
	case t.tid != t.pid: // only first threads stay like that: it is just ending, and its process may be, too
		return "", errAwake
	}
	return "", c.group.deathOf(t.pid, s)
}

// sleepsIn returns where a thread in this state sleeps. It is errAwake unless the thread waits
// for input or for a time.
func (c *cutter) sleepsIn(tid int, state byte) (channel string, err error) {
	channel, err = c.group.proc.WaitChannel(tid)
	if err != nil {
		return "", err
	}
	if !waitsForInput(state, channel) {
		return "", errAwake
	}
	return channel, nil
}

// orAwake treats a thread that has just ended like one that runs.
func orAwake(err error) error {
	if errors.Is(err, procfs.ErrGone) {
		return errAwake
	}
	return err
}

// waitsForInput judges a thread by the state and wait channel that /proc shows. One that sleeps
// for a time counts as waiting here: see waitReader. One before a full pipe, such as that for its
// output, goes on as soon as that is read.
//
// The state alone does not tell. A thread declares itself asleep before it looks for the last
// time whether there is something to wait for, and may lose the processor in between. On a busy
// machine it then seems to sleep for many milliseconds, with input before it. But it has not left
// the run queue, and the kernel gives wait channels only of threads that have.
func waitsForInput(state byte, channel string) bool {
	return state == 'S' && channel != noChannel && !strings.HasSuffix(channel, "pipe_write")
}

// noChannel is what /proc shows of a thread that is on a run queue.
const noChannel = "0"

// rest is how a cut has found a group that was asleep.
type rest struct {
	waiting     bool // something waited for a peer to take it
	waited      bool // so it did at the cut before
	undisturbed bool // nobody has run since that one
	count       uint64
	threads     []thread
}

// note notes a cut by the number of wake-ups so far, or by what the threads have run.
func (r *rest) note(waiting string, count uint64, threads []thread) {
	r.waited, r.waiting = r.waiting, waiting != ""
	r.undisturbed = r.count == count && slices.Equal(r.threads, threads)
	r.count, r.threads = count, append(r.threads[:0], threads...)
}

// confirmations is how many cuts in a row must find the group asleep.
const confirmations = 2

// confirm returns how many cuts in a row have found the group asleep, given how many there were
// before the last cut, and whether loopback has to be flushed before the next one. If wake-ups
// are counted, one cut is as good as enough of them. If something waits, there must have been a
// cut before loopback was flushed, and nobody may have run since.
func (r *rest) confirm(quiet bool, before int, counted bool) (inARow int, flush bool) {
	switch {
	case !quiet:
		return 0, false
	case !r.waiting && !counted:
		return before + 1, false
	case !r.waiting, before > 0 && r.waited && r.undisturbed:
		return confirmations, false
	}
	return 1, true
}
