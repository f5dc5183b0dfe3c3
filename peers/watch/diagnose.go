package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// activity is what the threads of the group had done up to a moment.
type activity struct {
	at      time.Time
	threads map[int]usage // by tid
}

// usage is what a thread has had of the processors.
type usage struct {
	runs, nanoseconds int64 // how often it was put on one, and for how long altogether
	user, system      int64 // the same in ticks of 10 ms
}

// tick is the unit of processor time in /proc/PID/stat.
const tick = 10 * time.Millisecond

// observe notes what the threads have done so far. What cannot be read is left out.
func (w *Watch) observe() *activity {
	a := &activity{at: time.Now(), threads: map[int]usage{}}
	_ = w.walk(func(t task) error {
		if u, _, err := w.usageOf(t.tid); err == nil {
			a.threads[t.tid] = u
		}
		return nil
	})
	return a
}

func (w *Watch) usageOf(tid int) (usage, procfs.Stat, error) {
	var u usage
	ran, err := w.proc.Ran(tid)
	if err != nil {
		return u, procfs.Stat{}, err
	}
	var waited int64
	if _, err := fmt.Sscan(ran, &u.nanoseconds, &waited, &u.runs); err != nil {
		return u, procfs.Stat{}, err
	}
	s, err := w.proc.Stat(tid)
	u.user, u.system = s.User, s.System
	return u, s, err
}

// describe says what keeps the group from being quiescent, for an error message: who runs,
// or has run since a moment, and what is under way. Without a moment it looks for a while.
func (w *Watch) describe(since *activity) string {
	if since == nil {
		since = w.observe()
		nap(2 * tick)
	}
	var busy []string
	err := w.walk(func(t task) error {
		if line := w.describeThread(t.pid, t.tid, since); line != "" {
			busy = append(busy, w.nameOf(t.peer)+": "+line)
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	traffic, err := w.traffic()
	if err != nil {
		return err.Error()
	}
	if traffic.underWay != "" {
		busy = append(busy, traffic.underWay)
	}
	if len(busy) == 0 {
		return "peers kept running for short moments"
	}
	const most = 5
	if n := len(busy) - most; n > 0 {
		busy = append(busy[:most], strconv.Itoa(n)+" more")
	}
	return strings.Join(busy, "; ")
}

// describeThread says what a thread does that does not only wait for input; empty if it does.
func (w *Watch) describeThread(pid, tid int, since *activity) string {
	now, s, err := w.usageOf(tid)
	if err != nil || s.State == 'Z' {
		return ""
	}
	channel, err := w.proc.WaitChannel(tid)
	if err != nil {
		return ""
	}
	before := since.threads[tid] // nothing, if it was not there
	runs, spent := now.runs-before.runs, time.Duration(now.nanoseconds-before.nanoseconds)
	if waitsForInput(s.State, channel) && runs == 0 {
		return w.describeShortWait(pid, tid, s.Command)
	}
	text := fmt.Sprintf("thread %d (%s) is in state %c, wchan %s", tid, s.Command, s.State, channel)
	if call := w.callOf(pid, tid); call != "" {
		text += ", in " + call
	}
	text += fmt.Sprintf("; in the last %v it ran %d times, for %v (user %v, system %v)",
		time.Since(since.at).Round(time.Millisecond), runs,
		spent.Round(time.Microsecond), time.Duration(now.user-before.user)*tick, time.Duration(now.system-before.system)*tick)
	if timers := timersOf(pid); timers != "" {
		text += "; its process has " + timers
	}
	return text
}

// describeShortWait says that a thread is in a wait that counts as work, because it is so short.
// It is empty if the last look has found no such wait.
func (w *Watch) describeShortWait(pid, tid int, command string) string {
	t := w.timers.known[timerKey{pid, tid, -1}]
	if t == nil || t.seen != w.timers.look || t.judge() == nil {
		return ""
	}
	return fmt.Sprintf("thread %d (%s) waits in %s for %v: a wait of at most %v counts as work",
		tid, command, timedCalls[t.of.number].name, t.timeout, ShortWait)
}

// timersOf names what wakes a process from time to time by itself.
func timersOf(pid int) string {
	var timers []string
	directory := fmt.Sprintf("/proc/%d/", pid)
	files, _ := filepath.Glob(directory + "fdinfo/*")
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may be gone
		for line := range strings.Lines(string(text)) {
			var s, ns int64
			if n, _ := fmt.Sscanf(line, "it_interval: (%d, %d)", &s, &ns); n == 2 && s+ns > 0 {
				timers = append(timers, fmt.Sprintf("a timerfd with an interval of %v",
					time.Duration(s)*time.Second+time.Duration(ns)))
			}
		}
	}
	text, _ := os.ReadFile(directory + "timers")
	if n := strings.Count(string(text), "ID:"); n > 0 {
		timers = append(timers, fmt.Sprintf("POSIX timers: %d", n))
	}
	const most = 4
	if len(timers) > most {
		timers = append(timers[:most], "more")
	}
	return strings.Join(timers, ", ")
}
