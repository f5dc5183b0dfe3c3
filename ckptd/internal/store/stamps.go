package store

import (
	"time"

	"golang.org/x/sys/unix"
)

// To compare all files with those of an image takes longer than all else where there are many. A
// file of the group has the content that it had if neither its time of change nor that of its last
// access is another one: no system call writes to a file without the one, and none maps it without
// the other, since the files are on a mount with strict access times, unless it was opened with
// O_NOATIME, which docs/limits.md names. What is mapped so that it can be written is not trusted.

// Stamps say what files of a group are known to hold, by their inodes, which are those of the
// daemon's tmpfs. A nil map knows nothing, and learns nothing.
type Stamps map[uint64]stamp

// stamp is what a file looked like when it held the content. A write changes one of the times, and
// so does a mapping that is written to, when it is made.
type stamp struct {
	content                 *Content
	size                    int64
	modified, changed, read unix.Timespec
}

// clockStep is longer than the steps in which the kernel's times of files advance: what is changed
// twice in one shows once.
const clockStep = 20 * time.Millisecond

// settledBefore is the time, in nanoseconds, since when a file must have been left alone to be
// trusted.
func settledBefore() (int64, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now)
	return now.Nano() - clockStep.Nanoseconds(), err
}

// note notes what a file holds. One that was changed or read just now is not noted. A change within
// the same step of the clock would not show.
func (s Stamps) note(live *unix.Stat_t, c *Content, settled int64) {
	if s == nil {
		return
	}
	if live.Ctim.Nano() < settled && live.Atim.Nano() < settled {
		s[live.Ino] = stampOf(live, c)
	} else {
		delete(s, live.Ino)
	}
}

// stampOf is the stamp of a file that holds the content.
func stampOf(st *unix.Stat_t, c *Content) stamp {
	return stamp{content: c, size: st.Size, modified: st.Mtim, changed: st.Ctim, read: st.Atim}
}

// same tells whether a file is known to hold what the content is.
func (s Stamps) same(live *unix.Stat_t, c *Content) bool {
	was, known := s[live.Ino]
	return known && was == stampOf(live, c)
}
