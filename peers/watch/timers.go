package watch

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// Timers of peers on the machine's clock: what a thread waits in with a time-out, and timerfds.
//
// A timed wait whose time-out is at most ShortWait counts as work: the group is not quiescent
// before it has ended, so that an answer does not depend on how soon the checker looks. A thread
// that comes back to the same wait tickerRounds times without anything having reached the checker
// is a ticker, and does not keep the group from being quiescent any more. A longer wait is a timer:
// the group is quiescent, and the timer is due on the group's line of time when its time-out says,
// counted from where that line was when the wait was first seen. Real time is not used for that: it
// goes on while the checker works.

// ShortWait is the longest time-out of a wait that counts as work.
const ShortWait = 50 * time.Millisecond

// DefaultPatience is how long timers of peers on the machine's clock are waited for where nothing
// else is asked for.
const DefaultPatience = 5 * time.Second

// tickerRounds is how often a thread comes back to the same short wait until it counts as a ticker.
const tickerRounds = 3

// Timer is what makes a peer go on by itself.
type Timer struct {
	Peer int           // its index in the group; -1: an orphan of one that has ended
	Due  time.Duration // on the group's line of time, see Watch.Time
	// Ticks says that the same wait has ended before and nothing came of it.
	Ticks bool

	key   timerKey
	began string    // what its thread had run, or when its timerfd expires
	ends  time.Time // in real time, at the latest
}

// timerKey is a thread that waits, or a timerfd.
type timerKey struct{ pid, tid, fd int }

// wait identifies what a thread waits in: the same loop comes back to the same one.
type wait struct {
	peer      int
	number    int
	arguments [6]uint64 // but for a time-out in milliseconds
	scale     int       // of that, in binary: it is often what is left of something
}

// waitIn is the wait in a system call.
func waitIn(peer, number int, arguments [6]uint64) wait {
	w := wait{peer: peer, number: number, arguments: arguments}
	if call := timedCalls[number]; call.kind == milliseconds {
		w.scale = bits.Len32(uint32(arguments[call.timeout]))
		w.arguments[call.timeout] = 0
	}
	return w
}

// timer is what is known of one that has been seen.
type timer struct {
	Timer
	of      wait
	timeout time.Duration // when it was seen first
	rounds  int           // how often it has come back since the group did anything that the checker saw
	seen    int           // in which look
	// interrupted: a checkpoint has, so that the same wait may look like another one.
	interrupted bool
	shown       int // what timers.shown was when it began
	// idles: nothing comes of it, see goIdles. It is known all the same, to be recognised when
	// the kernel goes on with it.
	idles bool
}

// timers are those of one incarnation of a group.
type timers struct {
	known map[timerKey]*timer
	look  int
	files map[int]timerFiles // by pid
	ticks map[wait]bool      // that have ended without anything having come of it
	shown int                // how often something has come from the group
	time  time.Duration
	saved Saved // what was set when the checkpoint was taken that the group was restored from

	restored time.Time // when that was
}

// Saved is the group's line of time at a checkpoint, and the timers that were set.
type Saved struct {
	time   time.Duration
	timers map[timerKey]timer // by pids and tids of the group's own namespace
}

// timerFiles are the timerfds of a process, as of when it had so many descriptors.
type timerFiles struct {
	descriptors int64
	timerfds    []int
}

// maxKnown bounds what is kept of waits, timerfds and ticks. A group has far fewer at the same
// time: what is forgotten is of threads and processes that have ended, or is found out again.
const maxKnown = 8192

// begin begins a look at all threads.
func (s *timers) begin() {
	if len(s.known) > maxKnown {
		maps.DeleteFunc(s.known, func(_ timerKey, t *timer) bool { return t.seen != s.look })
	}
	if len(s.files) > maxKnown {
		clear(s.files)
	}
	if len(s.ticks) > maxKnown {
		clear(s.ticks)
	}
	s.look++
}

// progress notes that the group has done something: nobody has come back to a wait for nothing.
func (s *timers) progress() {
	for _, t := range s.known {
		t.rounds = 0
	}
}

// Time is how far the group's line of time has gone. It begins at 0, and only Elapse and Restored
// move it.
func (w *Watch) Time() time.Duration { return w.timers.time }

// Save returns what a group restored from a checkpoint taken now has to know of the timers that are
// set. The checkpoint itself interrupts what threads wait in: they begin again.
func (w *Watch) Save() Saved {
	saved := Saved{time: w.timers.time, timers: map[timerKey]timer{}}
	for key, t := range w.timers.known {
		if t.interrupted = true; t.seen != w.timers.look {
			continue
		}
		if inner, ok := w.innerKey(key); ok {
			saved.timers[inner] = *t
		}
	}
	return saved
}

// Restored has the group's line of time go on from where it was at the checkpoint that the group
// was restored from.
func (w *Watch) Restored(s Saved) {
	w.timers.saved, w.timers.time, w.timers.restored = s, s.time, time.Now()
}

// SavedTimers lists the timers that were set at the checkpoint that the group was restored from,
// and have not been seen since, the first first. Waits of which nothing comes are left out.
func (w *Watch) SavedTimers() []Timer {
	var list []Timer
	for _, t := range w.timers.saved.timers {
		if !t.idles && !t.Ticks {
			t.ends = w.timers.restored.Add(t.Due - w.timers.saved.time)
			list = append(list, t.Timer)
		}
	}
	slices.SortFunc(list, func(a, b Timer) int { return cmp.Compare(a.Due, b.Due) })
	return list
}

// innerKey is what names a timer in every incarnation of the group.
func (w *Watch) innerKey(key timerKey) (inner timerKey, ok bool) {
	inner = timerKey{fd: key.fd}
	id, to := key.tid, &inner.tid
	if key.fd >= 0 {
		id, to = key.pid, &inner.pid
	}
	n, err := w.proc.InnerPID(id)
	*to = n
	return inner, err == nil
}

// Ticks are the waits that are known to end without anything coming of it: those of an earlier
// incarnation are known in the next.
type Ticks map[wait]bool

// ShareTicks has the watch use, and add to, what an earlier incarnation has shown.
func (w *Watch) ShareTicks(t Ticks) { w.timers.ticks = t }

// Timers lists the timers that were set when Quiesce last found the group quiescent, the first
// first.
func (w *Watch) Timers() []Timer {
	var list []Timer
	for _, t := range w.timers.known {
		if t.seen == w.timers.look && !t.idles {
			list = append(list, t.Timer)
		}
	}
	slices.SortFunc(list, func(a, b Timer) int {
		if a.Due != b.Due {
			return int(min(max(a.Due-b.Due, -1), 1))
		}
		return a.key.tid - b.key.tid
	})
	return list
}

// Late reports whether a timer has ended in real time although it is set, as of when Quiesce last
// found the group quiescent, and is no ticker: the group has gone on since by itself.
func (w *Watch) Late() bool {
	now := time.Now()
	for _, t := range w.timers.known {
		if t.seen == w.timers.look && !t.idles && !t.Ticks && now.After(t.ends) {
			return true
		}
	}
	return false
}

// note notes a wait, and returns errAwake if it counts as work. goesOn says that the kernel goes
// on with a wait that was interrupted, with its time-out as it was. What remains of a wait never
// grows: where it is more than before, another wait has begun.
func (w *Watch) note(key timerKey, of wait, began string, remaining time.Duration, goesOn bool) error {
	s := &w.timers
	t, now := s.known[key], time.Now()
	due, ends, timeout := s.time+remaining, now.Add(remaining), remaining
	switch {
	case t == nil:
		t = &timer{}
		s.known[key] = t
		if was, ok := w.savedTimer(key); ok && was.of == of && remaining <= was.timeout {
			due, timeout = was.Due, was.timeout
		}
	case t.of == of && t.began == began:
		t.seen = s.look
		return t.judge()
	case t.of == of && goesOn && remaining <= t.timeout:
		due, ends, timeout = t.Due, t.ends, t.timeout
	case t.of == of && t.interrupted && now.Before(t.ends) && remaining <= t.timeout:
		due, timeout = t.Due, t.timeout
	case t.of == of:
		t.rounds++
		if t.shown != s.shown {
			delete(s.ticks, of)
		} else if now.Sub(t.ends) > -t.timeout/8 {
			s.ticks[of] = true // it has ended, and was not woken
		}
	default:
		t.rounds = 0
	}
	t.Timer = Timer{Peer: of.peer, Due: due, Ticks: s.ticks[of], key: key, began: began, ends: ends}
	t.of, t.timeout, t.seen, t.interrupted, t.shown = of, timeout, s.look, false, s.shown
	return t.judge()
}

// savedTimer is what was known of a timer at the checkpoint that the group was restored from.
func (w *Watch) savedTimer(key timerKey) (timer, bool) {
	if len(w.timers.saved.timers) == 0 {
		return timer{}, false
	}
	inner, ok := w.innerKey(key)
	if !ok {
		return timer{}, false
	}
	t, ok := w.timers.saved.timers[inner]
	delete(w.timers.saved.timers, inner) // the next wait of the thread is another one
	return t, ok
}

func (t *timer) judge() error {
	if t.timeout <= ShortWait && t.rounds < tickerRounds {
		return errAwake
	}
	return nil
}

// noteWait notes a thread that waits with a time-out. It is errAwake if that counts as work.
func (w *Watch) noteWait(t task, channel string) error {
	if !maybeTimed(channel) {
		return nil
	}
	number, arguments, err := w.proc.SystemCall(t.tid)
	if err == procfs.ErrRuns {
		return errAwake
	}
	if err != nil {
		return orUnknown(err)
	}
	goesOn := number == unix.SYS_RESTART_SYSCALL
	if goesOn {
		number = w.restarted(timerKey{t.pid, t.tid, -1}, arguments, channel)
	}
	remaining, timed := timeOut(t.pid, number, arguments)
	if !timed {
		return nil
	}
	began := t.ran
	if began == "" {
		if began, err = w.proc.Ran(t.tid); err != nil {
			return err
		}
	}
	key := timerKey{t.pid, t.tid, -1}
	err = w.note(key, waitIn(t.peer, number, arguments), began, remaining, goesOn)
	w.timers.known[key].idles = number == unix.SYS_FUTEX && arguments[1]&futexCommand == futexWait && remaining == goIdles
	return err
}

// orUnknown takes a system call that the kernel does not tell for one without a time-out.
func orUnknown(err error) error {
	if err == procfs.ErrGone {
		return err
	}
	return nil
}

// maybeTimed tells whether a thread that sleeps there may have a time-out.
func maybeTimed(channel string) bool {
	for _, part := range [...]string{"poll", "futex", "nanosleep", "sigtimedwait", "do_syscall", "restart"} {
		if strings.Contains(channel, part) {
			return true
		}
	}
	return false
}

// restarted is the system call that a thread goes on with by restart_syscall(2): its arguments are
// as they were. Where nobody saw it begin, where the thread sleeps tells.
func (w *Watch) restarted(key timerKey, arguments [6]uint64, channel string) int {
	if t := w.timers.known[key]; t != nil && t.of == waitIn(t.of.peer, t.of.number, arguments) {
		return t.of.number
	}
	inner, ok := w.innerKey(key)
	if t, known := w.timers.saved.timers[inner]; ok && known && t.of == waitIn(t.of.peer, t.of.number, arguments) {
		return t.of.number
	}
	const clocks = 16 // fewer than that; what is slept for by nanosleep(2) is at an address
	switch {
	case strings.Contains(channel, "futex"):
		return unix.SYS_FUTEX
	case strings.Contains(channel, "nanosleep") && arguments[0] < clocks:
		return unix.SYS_CLOCK_NANOSLEEP
	case strings.Contains(channel, "nanosleep"):
		return unix.SYS_NANOSLEEP
	}
	return unix.SYS_POLL // the only other call that the kernel goes on with like this
}

// Fired reports whether a timer that was set has ended since.
func (w *Watch) Fired(t Timer) bool {
	if t.key.fd < 0 {
		ran, err := w.proc.Ran(t.key.tid)
		return err != nil || ran != t.began
	}
	b, err := w.proc.Read(strconv.Itoa(t.key.pid), "fdinfo", strconv.Itoa(t.key.fd))
	if err != nil {
		return true
	}
	value, _, ok := parseTimerfd(b)
	return !ok || value == 0 || time.Until(t.ends) < value-time.Millisecond
}

// Ends is when the timer ends by the machine's clock, at the latest.
func (t Timer) Ends() time.Time { return t.ends }

// Elapse moves the group's line of time on. Waits that are seen from now on began there.
func (w *Watch) Elapse(d time.Duration) { w.timers.time += d }

// Copy is the same, to be restored once.
func (s Saved) Copy() Saved { return Saved{s.time, maps.Clone(s.timers)} }

// Looked reports whether Quiesce has looked for timers in this incarnation of the group.
func (w *Watch) Looked() bool { return w.timers.look > 0 }
