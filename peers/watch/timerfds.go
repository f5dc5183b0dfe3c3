package watch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// noteTimerfds notes the timerfds of a process that are set.
func (w *Watch) noteTimerfds(t task) error {
	files, err := w.timerfdsOf(t.pid)
	if err != nil {
		return err
	}
	for _, fd := range files {
		b, err := w.proc.Read(strconv.Itoa(t.pid), "fdinfo", strconv.Itoa(fd))
		if err != nil {
			continue // closed meanwhile
		}
		value, interval, ok := parseTimerfd(b)
		if !ok || value == 0 {
			continue
		}
		// That it is the same tells when it expires, by the machine's clock. Reading takes a
		// moment.
		key, of := timerKey{t.pid, 0, fd}, wait{peer: t.peer, number: -1, arguments: [6]uint64{uint64(fd), uint64(interval)}}
		began := strconv.FormatInt(time.Now().Add(value).UnixNano(), 10)
		if known := w.timers.known[key]; known != nil && known.of == of && known.ends.Sub(time.Now().Add(value)).Abs() < time.Millisecond {
			began = known.began
		}
		if err := w.note(key, of, began, value, false); err != nil {
			return err
		}
	}
	return nil
}

// timerfdsOf lists the timerfds among the descriptors of a process. Their number, which is one
// system call, tells whether there may be others than before.
func (w *Watch) timerfdsOf(pid int) ([]int, error) {
	directory := "/proc/" + strconv.Itoa(pid) + "/fd"
	var st unix.Stat_t
	if err := unix.Stat(directory, &st); err != nil {
		return nil, procfs.ReadError(directory, err)
	}
	if known, ok := w.timers.files[pid]; ok && st.Size > 0 && known.descriptors == st.Size {
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
	w.timers.files[pid] = found
	return found.timerfds, nil
}

// parseTimerfd reads how long it is until a timerfd expires, 0 if it is not set, and its interval.
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
