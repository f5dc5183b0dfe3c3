package openfiles

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// All that can be known of a descriptor without the help of the process stands in /proc: what it
// leads to in fd, and flags, position, locks and the state of special files in fdinfo. Duplicates
// of descriptors, by pidfd_getfd(2), can be asked as one's own.

// openFile is what /proc tells of a descriptor. It is only looked at: to open it through /proc
// would make another description of it.
type openFile struct {
	pid, pidfd, number int
	link               string
	flags              int
	position           int64
	locks              []lock
	info               []string // other lines of fdinfo
	description        int      // its index in Record.makers
}

// openFileOf reads what /proc tells of a descriptor. It refuses locks and flags that it does not
// know. What fdinfo says of a file depends on its kind; those lines are left for the function that
// describes the kind. A file that sends signals when it is ready would do so to whoever had set
// that.
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
		// They say nothing that the path does not, and change with a restore.
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

// value is a number in fdinfo. It is false where the line is missing or is no number.
func (f openFile) value(name string, base int) (uint64, bool) {
	for _, line := range f.info {
		if n, v, ok := strings.Cut(line, ":"); ok && n == name {
			u, err := strconv.ParseUint(strings.TrimSpace(v), base, 64)
			return u, err == nil
		}
	}
	return 0, false
}

// kcmpFile is KCMP_FILE of kcmp(2).
const kcmpFile = 0

// findTwin looks for an earlier descriptor of the same description. Only the kernel knows whether
// two descriptors are of one description: dup(2) and fork(2) make such, a second open(2) does not.
// To ask is a system call, so only those are asked about that show the same link.
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

// duplicate gets a descriptor of the description. With that the daemon can ask for options and
// names without a call of the process. The caller closes it.
func (f openFile) duplicate() (int, error) {
	fd, err := unix.PidfdGetfd(f.pidfd, f.number, 0)
	if err != nil {
		return -1, fmt.Errorf("look at descriptor %d of process %d, %s: %w", f.number, f.pid, f.link, err)
	}
	return fd, nil
}

// unread is the number of bytes in a pipe. It is read of a duplicate, and nothing is taken out.
func (f openFile) unread() (int, error) {
	fd, err := f.duplicate()
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return unix.IoctlGetInt(fd, unix.TIOCINQ)
}
