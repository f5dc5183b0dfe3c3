package watch

import (
	"cmp"
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

// observe notes what the threads of a group have done so far. What cannot be read is left out.
// Times are those of the kernel's scheduler.
func observe(group *members) *activity {
	a := &activity{at: time.Now(), threads: map[int]usage{}}
	_ = group.walk(func(t thread) error {
		if u, _, err := usageOf(&group.proc, t.tid); err == nil {
			a.threads[t.tid] = u
		}
		return nil
	})
	return a
}

// usageOf returns what a thread has had of the processors, and its state.
func usageOf(proc *procfs.Reader, tid int) (usage, procfs.Stat, error) {
	var u usage
	ran, err := proc.Ran(tid)
	if err != nil {
		return u, procfs.Stat{}, err
	}
	var waited int64
	if _, err := fmt.Sscan(ran, &u.nanoseconds, &waited, &u.runs); err != nil {
		return u, procfs.Stat{}, err
	}
	s, err := proc.Stat(tid)
	u.user, u.system = s.User, s.System
	return u, s, err
}

// diagnoser finds out what keeps a group from being quiescent.
type diagnoser struct {
	group   *members
	network *network
	timers  *timers
}

// diagnose says, for an error message, who runs or has run since a moment, and what is under way.
// Without a moment it looks for a while.
func (d diagnoser) diagnose(since *activity) string {
	return cmp.Or(d.busy(since), "peers kept running for short moments")
}

// busy is empty if all threads have only waited for input. It names at most five threads that have
// not, and says how many more there are.
func (d diagnoser) busy(since *activity) string {
	if since == nil {
		since = observe(d.group)
		nap(2 * tick)
	}
	var busy []string
	err := d.group.walk(func(t thread) error {
		if line := d.describeThread(t.pid, t.tid, since); line != "" {
			busy = append(busy, d.group.nameOf(t.peer)+": "+line)
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	traffic, err := d.network.traffic()
	if err != nil {
		return err.Error()
	}
	if traffic.underWay != "" {
		busy = append(busy, traffic.underWay)
	}
	const most = 5
	if n := len(busy) - most; n > 0 {
		busy = append(busy[:most], strconv.Itoa(n)+" more")
	}
	return strings.Join(busy, "; ")
}

// describeThread says what a thread does. It is empty if the thread only waits for input.
func (d diagnoser) describeThread(pid, tid int, since *activity) string {
	now, s, err := usageOf(&d.group.proc, tid)
	if err != nil || s.State == 'Z' {
		return ""
	}
	channel, err := d.group.proc.WaitChannel(tid)
	if err != nil {
		return ""
	}
	before := since.threads[tid] // nothing, if it was not there
	runs, spent := now.runs-before.runs, time.Duration(now.nanoseconds-before.nanoseconds)
	if waitsForInput(s.State, channel) && runs == 0 {
		return d.describeShortWait(pid, tid, s.Command)
	}
	text := fmt.Sprintf("thread %d (%s) is in state %c, wchan %s", tid, s.Command, s.State, channel)
	if number, arguments, err := d.group.proc.SystemCall(tid); err == nil {
		text += ", in " + describeCall(pid, number, arguments)
	}
	text += fmt.Sprintf("; in the last %v it ran %d times, for %v (user %v, system %v)",
		time.Since(since.at).Round(time.Millisecond), runs,
		spent.Round(time.Microsecond),
		time.Duration(now.user-before.user)*tick, time.Duration(now.system-before.system)*tick)
	if timers := timersOf(pid); timers != "" {
		text += "; its process has " + timers
	}
	return text
}

// describeShortWait says that a thread is in a wait that is so short that it counts as work. It
// is empty if the last look has found no such wait.
func (d diagnoser) describeShortWait(pid, tid int, command string) string {
	t := d.timers.known[timerKey{pid, tid, -1}]
	if t == nil || t.seen != d.timers.looks || !t.isWork() {
		return ""
	}
	return fmt.Sprintf("thread %d (%s) waits in %s for %v: a wait of at most %v counts as work",
		tid, command, timedCalls[t.of.number].name, t.timeout, ShortWait)
}

// timersOf names what wakes a process from time to time.
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
