package watch

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"time"
)

// Timers of peers on the machine's clock: what a thread waits in with a time-out, and timerfds.
//
// A timed wait whose time-out is at most ShortWait counts as work. The group is not quiescent
// before the wait has ended, so that an answer does not depend on how soon the checker looks. A
// thread may come back to the same wait tickerRounds times without anything having reached the
// checker. Then it is a ticker, and no longer keeps the group from being quiescent. A longer wait
// is a timer: the group is quiescent, and the timer is due on the group's line of time when its
// time-out says, counted from where that line was when the wait was first seen. Real time does
// not count: it goes on while the checker works.

// ShortWait is the longest time-out of a wait that counts as work.
const ShortWait = 50 * time.Millisecond

// DefaultPatience is how long timers of peers on the machine's clock are waited for by default.
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

// Ends is when the timer ends by the machine's clock, at the latest.
func (t Timer) Ends() time.Time { return t.ends }

// timerKey names a thread that waits, or a timerfd. A thread has the fd -1, and a timerfd the tid
// 0.
type timerKey struct{ pid, tid, fd int }

// wait identifies what a thread waits in: a loop comes back to the same one. It is comparable: the
// arguments tell two waits of a thread apart, and not the time.
type wait struct {
	peer      int
	number    int
	arguments [6]uint64 // without a time-out in milliseconds
	scale     int       // of that, in bits: it is often what is left of something
}

// waitIn is the wait in a system call. What is left of a time-out differs each time, so only its
// size is kept.
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
	// interrupted: a checkpoint has interrupted it, so the same wait may look like another one.
	interrupted bool
	outputs     int // what timers.outputs was when it began
	// idles: nothing comes of it, see goIdles. It is known all the same, and recognised when the
	// kernel goes on with it.
	idles bool
}

// isWork tells whether it counts as work. A wait that is shorter than ShortWait is as good as a
// thread that runs, until it has shown to be a ticker.
func (t *timer) isWork() bool { return t.timeout <= ShortWait && t.rounds < tickerRounds }

// Ticks are the waits that are known to end without anything coming of it. Those of an earlier
// incarnation are known in the next.
type Ticks map[wait]bool

// timers are those of one incarnation of a group, and its line of time.
type timers struct {
	known   map[timerKey]*timer
	looks   int // at all threads
	ticks   Ticks
	outputs int           // how often something has come from the group
	time    time.Duration // how far the line of time has gone
	saved   Saved         // what was set when the checkpoint was taken that the group was restored from

	restored time.Time // when that was
	// innerKey is what names a timer in every incarnation of the group, if that can be found out.
	innerKey func(timerKey) (timerKey, bool)
}

// Saved is the group's line of time at a checkpoint, and the timers that were set.
type Saved struct {
	time   time.Duration
	timers map[timerKey]timer // by pids and tids of the group's own namespace
}

// Copy is the same, to be restored once.
func (s Saved) Copy() Saved { return Saved{s.time, maps.Clone(s.timers)} }

// maxKnown bounds what is kept of waits, timerfds and ticks. A group has far fewer at the same
// time. Those that are forgotten belong to threads and processes that have ended, or are found
// out again.
const maxKnown = 8192

// newTimers are those of a group of which nothing is known yet.
func newTimers(innerKey func(timerKey) (timerKey, bool)) *timers {
	return &timers{known: map[timerKey]*timer{}, ticks: Ticks{}, innerKey: innerKey}
}

// startLook starts a look at all threads. What was not seen in the last one is forgotten first, if
// too much is known.
func (s *timers) startLook() {
	if len(s.known) > maxKnown {
		maps.DeleteFunc(s.known, func(_ timerKey, t *timer) bool { return t.seen != s.looks })
	}
	if len(s.ticks) > maxKnown {
		clear(s.ticks)
	}
	s.looks++
}

// progress notes that the group has done something: nobody has come back to a wait for nothing.
func (s *timers) progress() {
	for _, t := range s.known {
		t.rounds = 0
	}
}

// output notes that something has come from the group.
func (s *timers) output() {
	s.progress()
	s.outputs++
}

// sighting is a timer as one look has found it.
type sighting struct {
	key       timerKey
	of        wait
	began     string // see Timer
	remaining time.Duration
	// resumed says that the kernel goes on with a wait that was interrupted, with its old time-out.
	resumed bool
	idles   bool // see timer
}

// note notes what a look has found, and tells whether it counts as work. What remains of a wait
// never grows: if more remains than before, another wait has begun.
func (s *timers) note(found sighting, now time.Time) (isWork bool) {
	t, of, remaining := s.known[found.key], found.of, found.remaining
	due, ends, timeout := s.time+remaining, now.Add(remaining), remaining
	switch {
	case t == nil:
		t = &timer{}
		s.known[found.key] = t
		if was, ok := s.wasSaved(found.key); ok && was.of == of && remaining <= was.timeout {
			due, timeout = was.Due, was.timeout
		}
	// It is still the same wait.
	case t.of == of && t.began == found.began:
		t.seen, t.idles = s.looks, found.idles
		return t.isWork()
	// A signal, or a checkpoint, has interrupted it, and the kernel goes on with it.
	case t.of == of && found.resumed && remaining <= t.timeout:
		due, ends, timeout = t.Due, t.ends, t.timeout
	// After a checkpoint it may have begun anew, with what was left of its time.
	case t.of == of && t.interrupted && now.Before(t.ends) && remaining <= t.timeout:
		due, timeout = t.Due, t.timeout
	case t.of == of:
		t.rounds++
		if t.outputs != s.outputs {
			delete(s.ticks, of)
		} else if now.Sub(t.ends) > -t.timeout/8 {
			s.ticks[of] = true // it has ended, and was not woken
		}
	default:
		t.rounds = 0
	}
	t.Timer = Timer{
		Peer: of.peer, Due: due, Ticks: s.ticks[of], key: found.key, began: found.began, ends: ends,
	}
	t.of, t.timeout, t.seen, t.interrupted, t.outputs = of, timeout, s.looks, false, s.outputs
	t.idles = found.idles
	return t.isWork()
}

// wasSaved is what was known of a timer at the checkpoint that the group was restored from. It is
// asked for once: then it is known as a timer of this incarnation.
func (s *timers) wasSaved(key timerKey) (timer, bool) {
	if len(s.saved.timers) == 0 {
		return timer{}, false
	}
	inner, ok := s.innerKey(key)
	if !ok {
		return timer{}, false
	}
	t, ok := s.saved.timers[inner]
	delete(s.saved.timers, inner) // the next wait of the thread is another one
	return t, ok
}

// knownWait is the wait that a thread is known to be in, now or at the checkpoint, if it has these
// arguments.
func (s *timers) knownWait(key timerKey, arguments [6]uint64) (w wait, known bool) {
	if t := s.known[key]; t != nil && t.of == waitIn(t.of.peer, t.of.number, arguments) {
		return t.of, true
	}
	inner, ok := s.innerKey(key)
	t, saved := s.saved.timers[inner]
	return t.of, ok && saved && t.of == waitIn(t.of.peer, t.of.number, arguments)
}

// save returns what a group that is restored from a checkpoint taken now has to know of the
// timers that are set. The checkpoint itself interrupts what threads wait in: these waits begin
// again.
func (s *timers) save() Saved {
	saved := Saved{time: s.time, timers: map[timerKey]timer{}}
	for key, t := range s.known {
		if t.interrupted = true; t.seen != s.looks {
			continue
		}
		if inner, ok := s.innerKey(key); ok {
			saved.timers[inner] = *t
		}
	}
	return saved
}

// notSeen lists the timers that were set at the checkpoint and have not been seen since, without
// those of which nothing comes. The first comes first.
func (s *timers) notSeen() []Timer {
	var list []Timer
	for _, t := range s.saved.timers {
		if !t.idles && !t.Ticks {
			t.ends = s.restored.Add(t.Due - s.saved.time)
			list = append(list, t.Timer)
		}
	}
	slices.SortFunc(list, func(a, b Timer) int { return cmp.Compare(a.Due, b.Due) })
	return list
}

// set lists the timers that the last look has found, the first first.
func (s *timers) set() []Timer {
	var list []Timer
	for _, t := range s.known {
		if t.seen == s.looks && !t.idles {
			list = append(list, t.Timer)
		}
	}
	slices.SortFunc(list, func(a, b Timer) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.key.tid, b.key.tid))
	})
	return list
}

// isLate reports whether a timer that the last look has found, and that is no ticker, has ended
// by the machine's clock.
func (s *timers) isLate(now time.Time) bool {
	for _, t := range s.known {
		if t.seen == s.looks && !t.idles && !t.Ticks && now.After(t.ends) {
			return true
		}
	}
	return false
}
