package openfiles

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Locks on files are of two kinds. One belongs to a description of an open file: flock(2), and
// fcntl(2) with F_OFD_SETLK. The daemon takes these on the description that it makes. The other
// kind belongs to a process, which has to take it itself: see lockFiles. Both show in fdinfo.

// lock is a lock on a file, as /proc/PID/fdinfo shows it. Which file it is on is known from the
// descriptor that shows it.
type lock struct {
	class  string // FLOCK, POSIX or OFDLCK
	write  bool
	from   int64
	length int64 // 0: to the end, however long the file becomes
}

// parseLock reads "1: POSIX  ADVISORY  WRITE 4032 00:26:123 0 EOF". The fields are a number, the
// class, whether it is advisory, the kind, the pid, the file, and the first and the last byte. A
// line of another form, such as one for a lease, is not a lock that could be taken again.
func parseLock(text string) (l lock, ok bool) {
	f := strings.Fields(text)
	if len(f) != 8 || f[2] != "ADVISORY" || f[3] != "READ" && f[3] != "WRITE" {
		return l, false
	}
	l.class, l.write = f[1], f[3] == "WRITE"
	if l.class != "FLOCK" && l.class != "POSIX" && l.class != "OFDLCK" {
		return l, false
	}
	var err error
	if l.from, err = strconv.ParseInt(f[6], 10, 64); err != nil {
		return l, false
	}
	if f[7] != "EOF" {
		last, err := strconv.ParseInt(f[7], 10, 64)
		if err != nil || last < l.from {
			return l, false
		}
		l.length = last - l.from + 1
	}
	return l, true
}

// ranged is the lock for fcntl(2).
func (l lock) ranged() unix.Flock_t {
	r := unix.Flock_t{Type: unix.F_RDLCK, Start: l.from, Len: l.length}
	if l.write {
		r.Type = unix.F_WRLCK
	}
	return r
}

// lockDescription takes a lock that belongs to the description, and not to a process. The locks of
// the processes that were killed are gone by then, so none of these has to wait. Those of class
// POSIX belong to a process: see lockFiles.
func (l lock) lockDescription(fd int) (err error) {
	switch l.class {
	case "FLOCK":
		how := unix.LOCK_SH
		if l.write {
			how = unix.LOCK_EX
		}
		err = unix.Flock(fd, how|unix.LOCK_NB)
	case "OFDLCK":
		r := l.ranged()
		err = unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &r)
	}
	if err != nil {
		return fmt.Errorf("take the lock on a file: %w", err)
	}
	return nil
}
