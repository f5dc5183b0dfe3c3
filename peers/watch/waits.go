package watch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// waitReader finds out what threads wait in, and how long. It reads files of /proc for each thread
// that may have a time-out, so it first looks where that sleeps.
type waitReader struct {
	proc   *procfs.Reader
	timers *timers
	files  map[int]timerFiles // by pid
}

// timerFiles are the timerfds of a process, as of when it had so many descriptors.
type timerFiles struct {
	descriptors int64
	timerfds    []int
}

// startLook starts a look at all threads.
func (r *waitReader) startLook() {
	if len(r.files) > maxKnown {
		clear(r.files)
	}
	r.timers.startLook()
}

// look notes what makes a thread go on by itself. With the first thread of a process it also
// notes the timerfds of the process. It tells whether one of these counts as work. The channel is
// where the thread sleeps; it is empty for one that has ended.
func (r *waitReader) look(t thread, channel string) (isWork bool, err error) {
	if channel == "" {
		return false, nil
	}
	isWork, err = r.lookAtThread(t, channel)
	if err != nil || isWork || t.tid != t.pid {
		return isWork, err
	}
	return r.lookAtTimerfds(t)
}

// lookAtThread notes a thread that waits with a time-out. A thread that has just gone on counts
// as work.
func (r *waitReader) lookAtThread(t thread, channel string) (isWork bool, err error) {
	if !maybeTimed(channel) {
		return false, nil
	}
	number, arguments, err := r.proc.SystemCall(t.tid)
	switch {
	case err == procfs.ErrRuns:
		return true, nil
	case err == procfs.ErrGone:
		return false, err
	case err != nil:
		return false, nil // the kernel does not tell the call: it counts as one without a time-out
	}
	key := timerKey{t.pid, t.tid, -1}
	resumed := number == unix.SYS_RESTART_SYSCALL
	if resumed {
		number = r.resumedCall(key, arguments, channel)
	}
	remaining, timed := timeOut(t.pid, number, arguments)
	if !timed {
		return false, nil
	}
	began := t.ran
	// Where wake-ups are counted, the pass has not read it.
	if began == "" {
		if began, err = r.proc.Ran(t.tid); err != nil {
			return false, err
		}
	}
	isFutexWait := number == unix.SYS_FUTEX && arguments[1]&futexCommand == futexWait
	return r.timers.note(sighting{
		key: key, of: waitIn(t.peer, number, arguments), began: began, remaining: remaining, resumed: resumed,
		idles: isFutexWait && remaining == goIdles,
	}, time.Now()), nil
}

// goIdles is how long the thread of Go's runtime that watches the others (sysmon) sleeps while
// there is nothing to watch: half of forcegcperiod in runtime/proc.go. No timer of a program is
// waited for like that, and nothing comes of it.
const goIdles = time.Minute

// maybeTimed tells whether a thread that sleeps there may have a time-out. The names are those of
// functions of the kernel, and of several releases.
func maybeTimed(channel string) bool {
	for _, part := range [...]string{"poll", "futex", "nanosleep", "sigtimedwait", "do_syscall", "restart"} {
		if strings.Contains(channel, part) {
			return true
		}
	}
	return false
}

// resumedCall is the system call that a thread goes on with by restart_syscall(2). Its arguments
// are as they were. If nobody saw it begin, the place where the thread sleeps tells.
func (r *waitReader) resumedCall(key timerKey, arguments [6]uint64, channel string) int {
	if w, known := r.timers.knownWait(key, arguments); known {
		return w.number
	}
	const clocks = 16 // there are fewer; nanosleep(2) has an address here
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

// lookAtTimerfds notes the timerfds of a process that are set.
func (r *waitReader) lookAtTimerfds(t thread) (isWork bool, err error) {
	files, err := r.timerfdsOf(t.pid)
	if err != nil {
		return false, err
	}
	for _, fd := range files {
		b, err := r.proc.Read(strconv.Itoa(t.pid), "fdinfo", strconv.Itoa(fd))
		if err != nil {
			continue // closed meanwhile
		}
		value, interval, ok := parseTimerfd(b)
		if !ok || value == 0 {
			continue
		}
		found := sighting{key: timerKey{t.pid, 0, fd}, remaining: value}
		found.of = wait{peer: t.peer, number: -1, arguments: [6]uint64{uint64(fd), uint64(interval)}}
		// It is the same one if it expires at the same time by the machine's clock. To read that
		// takes a moment.
		now := time.Now()
		found.began = strconv.FormatInt(now.Add(value).UnixNano(), 10)
		known := r.timers.known[found.key]
		if known != nil && known.of == found.of && known.ends.Sub(now.Add(value)).Abs() < time.Millisecond {
			found.began = known.began
		}
		if r.timers.note(found, now) {
			return true, nil
		}
	}
	return false, nil
}

// timerfdsOf lists the timerfds among the descriptors of a process. The number of descriptors,
// which is one system call, tells whether there may be others than before.
func (r *waitReader) timerfdsOf(pid int) ([]int, error) {
	directory := "/proc/" + strconv.Itoa(pid) + "/fd"
	var st unix.Stat_t
	if err := unix.Stat(directory, &st); err != nil {
		return nil, procfs.ReadError(directory, err)
	}
	if known, ok := r.files[pid]; ok && st.Size > 0 && known.descriptors == st.Size {
		return known.timerfds, nil
	}
	found := timerFiles{descriptors: st.Size}
	names, _ := filepath.Glob(directory + "/*")
	for _, name := range names {
		if target, err := os.Readlink(name); err == nil && target == "anon_inode:[timerfd]" {
			fd, err := strconv.Atoi(filepath.Base(name))
			if err != nil {
				return nil, err
			}
			found.timerfds = append(found.timerfds, fd)
		}
	}
	r.files[pid] = found
	return found.timerfds, nil
}

// fired reports whether a timer that was set has ended since. A thread that has run since has gone
// on, for whatever reason.
func (r *waitReader) fired(t Timer) bool {
	if t.key.fd < 0 {
		ran, err := r.proc.Ran(t.key.tid)
		return err != nil || ran != t.began
	}
	b, err := r.proc.Read(strconv.Itoa(t.key.pid), "fdinfo", strconv.Itoa(t.key.fd))
	if err != nil {
		return true
	}
	value, _, ok := parseTimerfd(b)
	return !ok || value == 0 || time.Until(t.ends) < value-time.Millisecond
}

// parseTimerfd reads how long it is until a timerfd expires, which is 0 if it is not set, and its
// interval.
func parseTimerfd(b []byte) (value, interval time.Duration, ok bool) {
	for line := range bytes.Lines(b) {
		var s, ns int64
		if n, _ := fmt.Sscanf(string(line), "it_value: (%d, %d)", &s, &ns); n == 2 {
			value, ok = time.Duration(s)*time.Second+time.Duration(ns), true
		}
		if n, _ := fmt.Sscanf(string(line), "it_interval: (%d, %d)", &s, &ns); n == 2 {
			interval = time.Duration(s)*time.Second + time.Duration(ns)
		}
	}
	return value, interval, ok
}
