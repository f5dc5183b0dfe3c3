package watch

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// sameKeys are the timers of a group whose pids are the same inside and outside.
func sameKeys() *timers { return newTimers(func(k timerKey) (timerKey, bool) { return k, true }) }

// midnight is the time of the machine's clock in tests that do not look at it.
var midnight = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// TestShortWaits: a short wait counts as work until its thread has come back to it for nothing some
// times, and again once something has come of it.
func TestShortWaits(t *testing.T) {
	s := sameKeys()
	found := sighting{key: timerKey{tid: 7, fd: -1}, of: wait{number: unix.SYS_POLL}, remaining: ShortWait}
	rounds := 0
	comesBack := func() bool {
		s.startLook()
		rounds++
		found.began = strconv.Itoa(rounds)
		return s.note(found, midnight)
	}
	for round := range tickerRounds {
		if !comesBack() {
			t.Errorf("round %d is no work", round)
		}
	}
	if comesBack() {
		t.Error("a ticker counts as work")
	}
	s.progress()
	if !comesBack() {
		t.Error("after something has come of it, it is no work")
	}
}

// TestTicks: a wait that has ended by itself without anything having come of it ticks. One that was
// woken does not, and one after which something came does not any more.
func TestTicks(t *testing.T) {
	const length = time.Second
	s := sameKeys()
	now, rounds := midnight, 0
	comesBack := func(after time.Duration) bool {
		now = now.Add(after)
		s.startLook()
		rounds++
		found := sighting{key: timerKey{tid: 7, fd: -1}, of: wait{number: unix.SYS_POLL}, remaining: length}
		found.began = strconv.Itoa(rounds)
		s.note(found, now)
		return s.set()[0].Ticks
	}
	for i, step := range []struct {
		after  time.Duration
		output bool
		want   bool
	}{
		{0, false, false},
		{length / 2, false, false},
		{length, false, true},
		{length / 2, false, true},
		{length, true, false},
	} {
		if step.output {
			s.output()
		}
		if got := comesBack(step.after); got != step.want {
			t.Errorf("step %d: it ticks is %t", i, got)
		}
	}
}

// TestLongWaits are on the line of time from where they were first seen, whatever the line does
// meanwhile.
func TestLongWaits(t *testing.T) {
	s := sameKeys()
	s.time = time.Second
	note := func(tid int, began string, length time.Duration) {
		found := sighting{
			key:   timerKey{tid: tid, fd: -1},
			of:    wait{number: unix.SYS_POLL, peer: tid},
			began: began,
		}
		found.remaining = length
		if s.note(found, midnight) {
			t.Errorf("thread %d works", tid)
		}
	}
	s.startLook()
	note(1, "1", 3*time.Second)
	note(2, "1", 5*time.Second)
	s.time += time.Second
	s.startLook()
	note(1, "1", 3*time.Second) // the same wait goes on
	note(3, "1", time.Second)
	var got []Timer
	for _, timer := range s.set() {
		got = append(got, Timer{Peer: timer.Peer, Due: timer.Due})
	}
	want := []Timer{
		{Peer: 3, Due: 3 * time.Second},
		{Peer: 1, Due: 4 * time.Second},
	} // thread 2 has gone on
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestIdleWaits: one of which nothing comes is no timer, and is known all the same.
func TestIdleWaits(t *testing.T) {
	s := sameKeys()
	s.startLook()
	key := timerKey{tid: 7, fd: -1}
	s.note(sighting{key: key, began: "1", remaining: time.Minute, idles: true}, midnight)
	if len(s.set()) != 0 || s.isLate(midnight.Add(time.Hour)) || s.known[key] == nil {
		t.Errorf("set: %v, known: %v", s.set(), s.known[key])
	}
	s.note(sighting{key: key, began: "2", remaining: time.Minute}, midnight)
	if len(s.set()) != 1 || s.isLate(midnight.Add(time.Second)) || !s.isLate(midnight.Add(time.Hour)) {
		t.Errorf("another wait: %v", s.set())
	}
}

// TestShortWaitsAreNamed: who asks why a group is not quiescent is told of a wait that counts as
// work, as long as it lasts.
func TestShortWaitsAreNamed(t *testing.T) {
	s := sameKeys()
	d := diagnoser{timers: s}
	note := func(tid int, length time.Duration) {
		found := sighting{
			key:       timerKey{1, tid, -1},
			of:        wait{number: unix.SYS_FUTEX},
			began:     "1",
			remaining: length,
		}
		s.note(found, midnight)
	}
	s.startLook()
	note(1, 3*time.Millisecond)
	note(2, time.Minute)
	const want = "thread 1 (server) waits in futex for 3ms: a wait of at most 50ms counts as work"
	if got := d.describeShortWait(1, 1, "server"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := d.describeShortWait(1, 2, "server"); got != "" {
		t.Errorf("of a long wait it says %q", got)
	}
	s.startLook() // and the thread waits for something else
	if got := d.describeShortWait(1, 1, "server"); got != "" {
		t.Errorf("of a wait that has ended it says %q", got)
	}
}

// TestALongerWaitIsAnother: a wait that has begun since the last look is not taken for the
// shorter one that was seen at the same place. That holds also if the kernel goes on with it, if
// a checkpoint has interrupted it, and if the group was restored meanwhile.
func TestALongerWaitIsAnother(t *testing.T) {
	key, of := timerKey{tid: 7, fd: -1}, wait{number: unix.SYS_FUTEX}
	for name, c := range map[string]struct{ resumed, interrupted, restored bool }{
		"the kernel goes on with it": {resumed: true},
		"interrupted":                {interrupted: true},
		"restored":                   {restored: true},
		"restored, and the kernel goes on with it": {restored: true, resumed: true},
	} {
		s := sameKeys()
		for round := range tickerRounds + 1 {
			s.startLook()
			s.note(
				sighting{key: key, of: of, began: strconv.Itoa(round), remaining: time.Millisecond},
				midnight,
			)
		}
		was := s.known[key]
		was.interrupted = c.interrupted
		if c.restored {
			delete(s.known, key)
			s.saved = Saved{timers: map[timerKey]timer{key: *was}}
		}
		s.startLook()
		found := sighting{key: key, of: of, began: "later", remaining: time.Minute, resumed: c.resumed}
		if s.note(found, midnight) {
			t.Errorf("%s: it counts as work, want a timer", name)
		}
		if due := s.known[key].Due; due != time.Minute {
			t.Errorf("%s: it is due at %v, want a minute", name, due)
		}
	}
}

// TestTimersAreBounded: threads that have ended are forgotten, and those that wait are not.
func TestTimersAreBounded(t *testing.T) {
	s := sameKeys()
	r := &waitReader{timers: s, files: map[int]timerFiles{}}
	for n := range 3 * maxKnown {
		r.startLook()
		for _, tid := range []int{1, 2 + n} {
			found := sighting{
				key:       timerKey{tid: tid, fd: -1},
				of:        wait{peer: tid},
				began:     "1",
				remaining: time.Minute,
			}
			s.note(found, midnight)
		}
		s.ticks[wait{peer: n}] = true
		r.files[n] = timerFiles{}
	}
	for what, n := range map[string]int{
		"timers":    len(s.known),
		"ticks":     len(s.ticks),
		"processes": len(r.files),
	} {
		if n > maxKnown+2 {
			t.Errorf("%d %s are kept", n, what)
		}
	}
	if due := s.set()[0].Due; due != time.Minute || s.known[timerKey{tid: 1, fd: -1}] == nil {
		t.Errorf("the first thread's timer is due at %v", due)
	}
}

// modelWait is a long wait of a thread, as the test knows it.
type modelWait struct {
	began int
	due   time.Duration // on the line of time
	ends  time.Time     // by the machine's clock
}

// model is a group with long waits, beside what is known of it.
type model struct {
	known   *timers
	now     time.Time // by the machine's clock
	threads map[int]modelWait
	began   int // how many waits
}

// look looks at all threads.
func (m *model) look(t *rapid.T) {
	m.known.startLook()
	for tid, w := range m.threads {
		found := sighting{
			key: timerKey{tid: tid, fd: -1}, of: wait{number: unix.SYS_NANOSLEEP, peer: tid},
			began: strconv.Itoa(w.began), remaining: max(w.ends.Sub(m.now), 0),
		}
		if m.known.note(found, m.now) {
			t.Fatalf("thread %d works: %+v", tid, w)
		}
	}
}

// wait makes a thread wait for a new time, instead of what it waited for.
func (m *model) wait(t *rapid.T) {
	tid := rapid.IntRange(1, 4).Draw(t, "tid")
	length := time.Duration(rapid.IntRange(1, 50).Draw(t, "length")) * time.Second
	if w, waits := m.threads[tid]; waits && m.known.time+length < w.due {
		t.Skip("it would look like what is left of the wait before")
	}
	m.began++
	m.threads[tid] = modelWait{m.began, m.known.time + length, m.now.Add(length)}
	m.look(t)
}

// restore replaces what is known by what a checkpoint has.
func (m *model) restore(t *rapid.T) {
	untilNow := len(slices.DeleteFunc(m.known.set(), func(t Timer) bool { return t.Ticks }))
	saved := m.known.save()
	m.known = sameKeys()
	m.known.saved, m.known.time, m.known.restored = saved.Copy(), saved.time, m.now
	if n := len(m.known.notSeen()); n != untilNow {
		t.Fatalf("%d timers were saved, and %d were set that do not tick", n, untilNow)
	}
	m.look(t)
	if n := len(m.known.notSeen()); n != 0 {
		t.Fatalf("%d timers were not seen", n)
	}
}

// check compares what is known with the threads.
func (m *model) check(t *rapid.T) {
	m.look(t)
	set := m.known.set()
	if len(set) != len(m.threads) {
		t.Fatalf("%d timers of %d threads", len(set), len(m.threads))
	}
	for i, timer := range set {
		if want := m.threads[timer.Peer].due; timer.Due != want || i > 0 && timer.Due < set[i-1].Due {
			t.Fatalf("thread %d is due at %v, want %v; all: %v", timer.Peer, timer.Due, want, set)
		}
	}
}

// TestTimersOnTheLineOfTime: whatever threads do, and however often the group is restored, a long
// wait is due where the line of time was when it began, and its length later.
func TestTimersOnTheLineOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{known: sameKeys(), now: midnight, threads: map[int]modelWait{}}
		seconds := func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 9).Draw(t, "seconds")) * time.Second
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": m.wait,
			"go on": func(t *rapid.T) {
				delete(m.threads, rapid.IntRange(1, 4).Draw(t, "tid"))
				m.look(t)
			},
			"time": func(t *rapid.T) {
				m.known.time += seconds(t)
				m.look(t)
			},
			"real time": func(t *rapid.T) { m.now = m.now.Add(seconds(t)) },
			"restore":   m.restore,
			"":          m.check,
		})
	})
}
