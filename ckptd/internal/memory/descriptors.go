package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// descriptor is an open file of a peer, with all that it takes to open another like it.
type descriptor struct {
	number      int
	closeOnExec bool
	flags       int // of the description
	// twin is the index of an earlier descriptor of the same description, or -1.
	twin      int
	make      opener
	watched   []registration // of an epoll instance
	pair      [2]uint64      // of a socketpair: inodes of this end and the other
	locks     []lock         // on its file
	pipe      string         // that it is an end of
	inherited bool           // the description is also that of a process described before
}

// opener opens a file as it was; of is what it opens it for.
type opener func(of *Restore) (int, error)

// registration is a descriptor that an epoll instance watches.
type registration struct {
	number int
	events uint32
	data   uint64
}

// maxDescriptorsHeld is how many descriptors a peer may have: they travel in one message.
const maxDescriptorsHeld = 240

// describeFiles describes the open files of a frozen process, and returns what /proc tells of them;
// others are those of processes that were described before.
func (m *Image) describeFiles(p *process, others []openFile) (all []openFile, err error) {
	directory := fmt.Sprintf("/proc/%d/fd", p.pid)
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxDescriptorsHeld {
		return nil, incarnation.Refuse("process %d has %d open files, more than %d", p.pid, len(entries),
			maxDescriptorsHeld)
	}
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pidfd)
	var numbers []int
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		f, err := openFileOf(p.pid, pidfd, number)
		if err != nil {
			return nil, err
		}
		d := descriptor{number: number, flags: f.flags &^ unix.O_CLOEXEC,
			closeOnExec: f.flags&unix.O_CLOEXEC != 0, twin: -1, locks: f.locks}
		if d.twin, err = f.findTwin(all); err != nil {
			return nil, err
		}
		if d.twin < 0 {
			if f.description, err = m.describeOnce(p, &d, f, others); err != nil {
				return nil, err
			}
		}
		all = append(all, f)
		p.descriptors = append(p.descriptors, d)
	}
	return all, nil
}

// describeOnce describes a description that may be one of another process, too, and returns its
// index.
func (m *Image) describeOnce(p *process, d *descriptor, f openFile, others []openFile) (description int,
	err error) {
	n, err := f.findTwin(others)
	if err != nil {
		return -1, err
	}
	if n >= 0 {
		d.inherited = true
		description = others[n].description
	} else {
		description = len(m.makers)
		if err := m.describe(p, d, f); err != nil {
			return -1, err
		}
		m.makers = append(m.makers, f.locking(d.make))
	}
	d.make = func(of *Restore) (int, error) { return of.once(description) }
	return description, nil
}

// once makes a description, or gets a descriptor of it where it was made before.
func (of *Restore) once(description int) (int, error) {
	if fd, made := of.made[description]; made {
		return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	}
	fd, err := of.image.makers[description](of)
	if err == nil {
		of.made[description] = fd
	}
	return fd, err
}

// openFile is what /proc tells of a descriptor.
type openFile struct {
	pid, pidfd, number int
	link               string
	flags              int
	position           int64
	locks              []lock
	info               []string // other lines of fdinfo
	description        int      // its index in Image.makers
}

func openFileOf(pid, pidfd, number int) (f openFile, err error) {
	f = openFile{pid: pid, pidfd: pidfd, number: number}
	if f.link, err = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, number)); err != nil {
		return f, err
	}
	text, err := procfs.Read(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, number))
	if err != nil {
		return f, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "pos":
			f.position, err = strconv.ParseInt(value, 10, 64)
		case "flags":
			var flags int64
			flags, err = strconv.ParseInt(value, 8, 64)
			f.flags = int(flags)
		case "lock":
			l, ok := parseLock(value)
			if !ok {
				return f, incarnation.Refuse(
					"descriptor %d of process %d, %s, holds a lock of another kind: %s", number, pid, f.link,
					value)
			}
			f.locks = append(f.locks, l)
		case "mnt_id", "ino":
		default:
			f.info = append(f.info, line)
		}
		if err != nil {
			return f, fmt.Errorf("descriptor %d of process %d: %q", number, pid, line)
		}
	}
	if f.flags&unix.O_ASYNC != 0 {
		return f, incarnation.Refuse("descriptor %d of process %d, %s, sends signals (O_ASYNC)", number, pid,
			f.link)
	}
	return f, nil
}

// value is a number in fdinfo.
func (f openFile) value(name string, base int) (uint64, bool) {
	for _, line := range f.info {
		if n, v, ok := strings.Cut(line, ":"); ok && n == name {
			u, err := strconv.ParseUint(strings.TrimSpace(v), base, 64)
			return u, err == nil
		}
	}
	return 0, false
}

const kcmpFile = 0

// findTwin looks for an earlier descriptor of the same description.
func (f openFile) findTwin(all []openFile) (int, error) {
	for n, other := range all {
		if other.link != f.link {
			continue
		}
		r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(other.pid), uintptr(f.pid), kcmpFile,
			uintptr(other.number), uintptr(f.number), 0)
		if errno != 0 {
			return -1, fmt.Errorf("compare descriptor %d of process %d with %d of process %d: %w",
				other.number, other.pid, f.number, f.pid, errno)
		}
		if r == 0 {
			return n, nil
		}
	}
	return -1, nil
}

// duplicate gets a descriptor of the description.
func (f openFile) duplicate() (int, error) {
	fd, err := unix.PidfdGetfd(f.pidfd, f.number, 0)
	if err != nil {
		return -1, fmt.Errorf("look at descriptor %d of process %d, %s: %w", f.number, f.pid, f.link, err)
	}
	return fd, nil
}

// describe finds out how to make a description, or refuses.
func (m *Image) describe(p *process, d *descriptor, f openFile) error {
	kind, _, _ := strings.Cut(f.link, "[")
	switch {
	case kind == "pipe:":
		return p.describePipe(m.in.Outputs, d, f)
	case kind == "socket:":
		return m.describeSocket(d, f)
	case strings.HasPrefix(f.link, "/"):
		return m.describePath(d, f)
	case f.link == "anon_inode:[eventpoll]":
		return describeEpoll(d, f)
	case f.link == "anon_inode:[eventfd]":
		return describeEventfd(d, f)
	case f.link == "anon_inode:[timerfd]":
		return describeTimerfd(d, f)
	case f.link == "anon_inode:[signalfd]" || f.link == "anon_inode:[signalfd4]":
		return describeSignalfd(d, f)
	}
	return incarnation.Refuse("descriptor %d of process %d is %s", f.number, f.pid, f.link)
}

// harmless are the devices whose files have no state.
var harmless = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// onlyAtOpen are flags that matter when a file is opened for the first time.
const onlyAtOpen = unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC

// flagTemporary is O_TMPFILE without O_DIRECTORY, which comes with it.
const flagTemporary = unix.O_TMPFILE &^ unix.O_DIRECTORY

func (m *Image) describePath(d *descriptor, f openFile) error {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/fd/%d", f.pid, f.number))
	if err != nil {
		return err
	}
	path, deleted := strings.CutSuffix(f.link, " (deleted)")
	kind := info.Mode().Type()
	switch {
	case kind == 0 && isUnnamed(f.link):
		return m.describeUnnamed(d, f)
	case deleted:
		return incarnation.Refuse("descriptor %d of process %d is %s, which was deleted", f.number, f.pid,
			path)
	case kind == fs.ModeDir, kind == 0, slices.Contains(harmless, path):
	case kind == fs.ModeNamedPipe && f.flags&unix.O_ACCMODE == unix.O_RDWR:
		if n, err := f.unread(); err != nil || n > 0 {
			return errors.Join(err, incarnation.Refuse("%s holds %d bytes", path, n))
		}
	default:
		return incarnation.Refuse("descriptor %d of process %d, %s, is a %v", f.number, f.pid, path, kind)
	}
	flags := d.flags &^ onlyAtOpen
	d.make = func(of *Restore) (int, error) {
		return OpenBelow(of.root, path, flags, f.position, kind == 0 || kind == fs.ModeDir)
	}
	return nil
}

// OpenBelow opens a path as a process sees it whose root directory is given.
func OpenBelow(root int, path string, flags int, position int64, seek bool) (int, error) {
	if flags&unix.O_PATH != 0 { // goes with few others
		flags &= unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW
	} else {
		flags |= unix.O_NOCTTY
	}
	fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if seek && flags&unix.O_PATH == 0 {
		if _, err := unix.Seek(fd, position, unix.SEEK_SET); err != nil {
			unix.Close(fd)
			return -1, &fs.PathError{Op: "seek", Path: path, Err: err}
		}
	}
	return fd, nil
}

// unread is the number of bytes in a pipe.
func (f openFile) unread() (int, error) {
	fd, err := f.duplicate()
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return unix.IoctlGetInt(fd, unix.TIOCINQ)
}

// describeEpoll reads lines such as "tfd: 5 events: 1 data: 5 pos:0 ino:8 sdev:9".
func describeEpoll(d *descriptor, f openFile) error {
	for _, line := range f.info {
		fields := strings.Fields(strings.ReplaceAll(line, ":", " "))
		if len(fields) == 0 || fields[0] != "tfd" {
			return fmt.Errorf("descriptor %d of process %d, an epoll instance, has %q", f.number, f.pid, line)
		}
		values := map[string]uint64{}
		for n := 0; n+1 < len(fields); n += 2 {
			base := 16
			if fields[n] == "tfd" {
				base = 10
			}
			values[fields[n]], _ = strconv.ParseUint(fields[n+1], base, 64)
		}
		r := registration{number: int(values["tfd"]), events: uint32(values["events"]), data: values["data"]}
		var st unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", f.pid, r.number), &st); err != nil ||
			st.Ino != values["ino"] {
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
	d.make = func(*Restore) (int, error) { return unix.EpollCreate1(unix.EPOLL_CLOEXEC) }
	return nil
}

func describeEventfd(d *descriptor, f openFile) error {
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
	d.make = func(*Restore) (int, error) {
		fd, err := unix.Eventfd(0, flags)
		if err == nil && count > 0 {
			err = writeCount(fd, count)
		}
		return fd, err
	}
	return nil
}

func describeSignalfd(d *descriptor, f openFile) error {
	mask, ok := f.value("sigmask", 16)
	if !ok {
		return incarnation.Refuse(
			"descriptor %d of process %d: this Linux does not tell the signals of a signalfd", f.number,
			f.pid)
	}
	d.make = func(*Restore) (int, error) {
		return unix.Signalfd(-1, &unix.Sigset_t{Val: [16]uint64{mask}},
			d.flags&unix.O_NONBLOCK|unix.SFD_CLOEXEC)
	}
	return nil
}

func describeTimerfd(d *descriptor, f openFile) error {
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
	d.make = func(*Restore) (int, error) {
		fd, err := unix.TimerfdCreate(int(clock), d.flags&unix.O_NONBLOCK|unix.TFD_CLOEXEC)
		if err == nil {
			err = unix.TimerfdSettime(fd, 0, &setting, nil)
		}
		return fd, err
	}
	return nil
}

func writeCount(fd int, count uint64) error {
	_, err := unix.Write(fd, binary.NativeEndian.AppendUint64(nil, count))
	return err
}
