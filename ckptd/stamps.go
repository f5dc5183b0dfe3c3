package ckptd

import (
	"time"

	"golang.org/x/sys/unix"
)

// To compare all files with those of an image takes longer than all else where there are many. A file of the group is the same as
// one of an image if it was so once, and if neither its time of change nor that of its last access is another one: no system call
// writes to a file without the one, and none maps it without the other, since the files are on a mount with strict access
// times. What is mapped so that it can be written is not trusted.

// stamps say which files of a group are known to have the content of which files of images. Inodes are those of the daemon's tmpfs.
type stamps map[uint64]stamp

type stamp struct {
	image                   uint64 // inode
	size                    int64
	modified, changed, read unix.Timespec
}

// clockStep is longer than the steps in which the kernel's times of files advance: what is changed twice in one shows once.
const clockStep = 20 * time.Millisecond

// note notes that a file has the content of one of an image. One that was changed or read just now is not noted.
func (s stamps) note(live string, image uint64) {
	var st unix.Stat_t
	var now unix.Timespec
	if s == nil || unix.Lstat(live, &st) != nil || unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return
	}
	delete(s, st.Ino)
	if before := now.Nano() - clockStep.Nanoseconds(); st.Ctim.Nano() < before && st.Atim.Nano() < before {
		s[st.Ino] = stampOf(&st, image)
	}
}

func stampOf(st *unix.Stat_t, image uint64) stamp {
	return stamp{image: image, size: st.Size, modified: st.Mtim, changed: st.Ctim, read: st.Atim}
}

// same tells whether a file is known to have the content of one of an image.
func (s stamps) same(live *unix.Stat_t, image uint64) bool {
	was, known := s[live.Ino]
	return known && was == stampOf(live, image)
}
