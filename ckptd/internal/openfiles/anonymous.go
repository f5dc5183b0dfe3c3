package openfiles

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
)

// Files that have no path are made by a call of their own. Their state stands in fdinfo. A program
// does not see how such a file was made, only what it does: so a new one with the same state is as
// good as the old one.

// registration is a descriptor that an epoll instance watches. Its data is what the program gets
// back with an event: mostly a pointer of its own, which means the same to the restored program.
type registration struct {
	number int
	events uint32
	data   uint64
}

// parseRegistration reads a line of fdinfo such as "tfd: 5 events: 1 data: 5 pos:0 ino:8 sdev:9",
// of which only the first number is decimal. The inode is that of the file which is watched. A line
// without one of them is of an older Linux, or of something else.
func parseRegistration(line string) (r registration, inode uint64, ok bool) {
	fields := strings.Fields(strings.ReplaceAll(line, ":", " "))
	if len(fields) == 0 || fields[0] != "tfd" {
		return r, 0, false
	}
	values := map[string]uint64{}
	for n := 0; n+1 < len(fields); n += 2 {
		base, bits := 16, 64
		if fields[n] == "tfd" {
			base, bits = 10, 31
		}
		value, err := strconv.ParseUint(fields[n+1], base, bits)
		if err == nil {
			values[fields[n]] = value
		}
	}
	for _, name := range []string{"tfd", "events", "data", "ino"} {
		if _, there := values[name]; !there {
			return r, 0, false
		}
	}
	return registration{number: int(values["tfd"]), events: uint32(values["events"]), data: values["data"]},
		values["ino"], true
}

// describeEpoll describes an epoll instance by what it watches. What a descriptor number leads to
// may have changed since it was registered: the kernel goes on to watch the file that it was, under
// a number that stands for another. Such an instance could not be made by the calls that a program
// has, so it is refused. So is one that watches another instance, which would have to be made in a
// certain order.
func describeEpoll(d *Descriptor, f openFile) error {
	for _, line := range f.info {
		r, inode, ok := parseRegistration(line)
		if !ok {
			return fmt.Errorf("descriptor %d of process %d, an epoll instance, has %q", f.number, f.pid, line)
		}
		var st unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", f.pid, r.number), &st); err != nil ||
			st.Ino != inode {
			return incarnation.Refuse(
				"the epoll instance %d of process %d watches a file that descriptor %d is no more", f.number,
				f.pid, r.number)
		}
		if link, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", f.pid, r.number)); link == f.link {
			return incarnation.Refuse("the epoll instance %d of process %d watches another one", f.number,
				f.pid)
		}
		d.watched = append(d.watched, r)
	}
	// What it watches is added when all descriptors have their numbers: see Place.
	d.make = func(*Making) (int, error) { return unix.EpollCreate1(unix.EPOLL_CLOEXEC) }
	return nil
}

// describeEventfd describes a counter by its count. The count is written into a new one: an eventfd
// that is made with a count takes only 32 bits of it.
func describeEventfd(d *Descriptor, f openFile) error {
	count, ok := f.value("eventfd-count", 16)
	semaphore, _ := f.value("eventfd-semaphore", 10)
	if !ok {
		return incarnation.Refuse(
			"descriptor %d of process %d: this Linux does not tell the count of an eventfd", f.number, f.pid)
	}
	flags := d.flags&unix.O_NONBLOCK | unix.EFD_CLOEXEC
	if semaphore != 0 {
		flags |= unix.EFD_SEMAPHORE
	}
	d.make = func(*Making) (int, error) {
		fd, err := unix.Eventfd(0, flags)
		if err == nil && count > 0 {
			err = writeCount(fd, count)
		}
		return fd, err
	}
	return nil
}

// describeSignalfd describes a descriptor for signals by the set of these. Signals that wait to be
// read are the process's and not the descriptor's; a process that has one pending is not quiescent.
// The descriptor has only a set of signals.
func describeSignalfd(d *Descriptor, f openFile) error {
	mask, ok := f.value("sigmask", 16)
	if !ok {
		return incarnation.Refuse(
			"descriptor %d of process %d: this Linux does not tell the signals of a signalfd", f.number,
			f.pid)
	}
	d.make = func(*Making) (int, error) {
		return unix.Signalfd(-1, &unix.Sigset_t{Val: [16]uint64{mask}},
			d.flags&unix.O_NONBLOCK|unix.SFD_CLOEXEC)
	}
	return nil
}

// describeTimerfd describes a timer that has not expired, by the time that is left. The time that
// is left is relative, so it goes on from there by whatever clock. Ticks that were not read cannot
// be set, so a timer that has some is refused.
func describeTimerfd(d *Descriptor, f openFile) error {
	clock, ok := f.value("clockid", 10)
	ticks, known := f.value("ticks", 10)
	if !ok || !known {
		return incarnation.Refuse(
			"descriptor %d of process %d: this Linux does not tell the time of a timerfd", f.number, f.pid)
	}
	if ticks > 0 {
		return incarnation.Refuse("descriptor %d of process %d is a timer that has expired and was not read",
			f.number, f.pid)
	}
	var setting unix.ItimerSpec
	for _, line := range f.info {
		name, value, _ := strings.Cut(line, ":")
		var s, ns int64
		if _, err := fmt.Sscanf(strings.TrimSpace(value), "(%d, %d)", &s, &ns); err != nil {
			continue
		}
		switch name {
		case "it_value":
			setting.Value = unix.Timespec{Sec: s, Nsec: ns}
		case "it_interval":
			setting.Interval = unix.Timespec{Sec: s, Nsec: ns}
		}
	}
	d.make = func(*Making) (int, error) {
		fd, err := unix.TimerfdCreate(int(clock), d.flags&unix.O_NONBLOCK|unix.TFD_CLOEXEC)
		if err == nil {
			err = unix.TimerfdSettime(fd, 0, &setting, nil)
		}
		return fd, err
	}
	return nil
}

// writeCount does not wait: the counter of the new eventfd is 0, and that of the old one was below
// the most that one can hold.
func writeCount(fd int, count uint64) error {
	_, err := unix.Write(fd, binary.NativeEndian.AppendUint64(nil, count))
	return err
}
