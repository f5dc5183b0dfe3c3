// Package verify describes all that the kernel shows of a group, a line for each thing, and
// compares two such descriptions: that of a checkpoint, and that of the group after a restore.
package verify

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// A description is a list of lines, each of which says what it is about: a process, a file, a
// socket. Lines that only one of two descriptions has are the difference, in words that a person
// can read.

// A restored group must look as it did at its checkpoint. What is compared is all that the
// kernel shows of its processes: their descriptors, mappings, mounts, limits, timers, signal
// masks, identity, environment and threads, the sockets of the group with their queues, and
// its files. ZDTM, with which CRIU is tested, compares the same way.

// Flags of descriptors.
const (
	flagLarge     = 0o100000 // means nothing on this processor, and not all system calls set it
	flagDirectory = 0o200000
)

// KnownTo leaves out what CRIU 4.2.1 is known to lose: that an eventfd is a semaphore, that a file
// was opened as a directory, that what is executed from now on is to have the addresses that it has
// always (personality), where one mapping ended and the next, just like it, began, what memory that
// processes share is called, and sockets that no process has any more: data that reaches them is
// answered by a reset, and so it is where there is none. The end of a stream they acknowledge;
// where there is none, that is reset, too.
//
// It is for both descriptions: that of the checkpoint is made as it would look after CRIU.
func KnownTo(backend string, state []string) []string {
	if backend != wire.BackendCRIU {
		if hasSeveral(state) { // whose mappings the memory backend makes anew
			return JoinMappings(slices.Clone(state))
		}
		return state
	}
	state = slices.DeleteFunc(slices.Clone(state),
		func(line string) bool { return strings.HasSuffix(line, ofNobody) })
	// What CRIU makes otherwise is put into words as it would make it.
	for n, line := range state {
		line = sharedMemory.ReplaceAllString(line, " 0 /dev/zero (deleted)")
		state[n] = strings.Replace(line, "eventfd-semaphore: 1", "eventfd-semaphore: 0", 1)
		state[n] = strings.Replace(state[n], `personality "00040000`, `personality "00000000`, 1)
		if before, after, ok := strings.Cut(state[n], "flags: 0"); ok {
			number, rest, _ := strings.Cut(after, " ")
			flags, _ := strconv.ParseUint(number, 8, 64)
			state[n] = fmt.Sprintf("%sflags: %#o %s", before, flags&^flagDirectory, rest)
		}
	}
	return JoinMappings(state)
}

// hasSeveral tells whether there are several processes. They show in the beginnings of the lines.
func hasSeveral(state []string) bool {
	first := ""
	for _, line := range state {
		name, _, _ := strings.Cut(line, ": ")
		if !strings.HasPrefix(name, "process ") || name == first {
			continue
		}
		if first != "" {
			return true
		}
		first = name
	}
	return false
}

// Processes describes processes, which must wait in system calls, and the sockets and System V
// objects in the namespaces of one of them. Lines are sorted, so that two descriptions can be
// compared.
func Processes(pids []int, namespaces int) (state []string, err error) {
	// They belong to the namespace, and are looked at once.
	if state, err = visibleIPC(namespaces); err != nil {
		return nil, err
	}
	for _, pid := range pids {
		v := visibleProcess{pid: pid, directory: fmt.Sprintf("/proc/%d", pid)}
		if v.inner, err = procfs.InnerPID(pid); err != nil {
			return nil, err
		}
		v.describe()
		if v.err != nil {
			return nil, v.err
		}
		state = append(state, v.lines...)
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6", "raw"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", namespaces, table))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for n, line := range strings.Split(string(text), "\n") {
			if n > 0 {
				state = append(state, visibleSocket(table, strings.Fields(line))...)
			}
		}
	}
	slices.Sort(state)
	return state, nil
}

// visibleSocket is what there is to see of a socket: its addresses, state, and the lengths of its
// queues. Of one that no process has any more it does not matter that it was made for IPv6. Sockets
// of no process end by themselves, and those in TIME_WAIT are not restored by anybody.
func visibleSocket(table string, fields []string) []string {
	const timeWait, mapped, inode = "06", "0000000000000000FFFF0000", 9
	if len(fields) <= inode || fields[3] == timeWait {
		return nil
	}
	line := fmt.Sprint(" socket ", fields[1:5])
	if fields[inode] == "0" {
		line += ofNobody
	}
	if table == "tcp6" && fields[inode] == "0" && strings.Count(line, mapped) == 2 {
		table, line = "tcp", strings.ReplaceAll(line, mapped, "")
	}
	return []string{table + line}
}

// ofNobody marks a socket that no process has any more. The backends differ in them.
const ofNobody = " of nobody"

// Files describes the files of a group. A file is described by its checksum, and a directory by its
// mode alone: its times follow from its entries.
func Files(directory string) (state []string, err error) {
	err = filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(directory, path)
		if err != nil || name == paths.ProxyDirectory {
			return cmp.Or(err, fs.SkipDir)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("file %s %v", name, info.Mode())
		switch info.Mode().Type() {
		case 0:
			// access times are looked at: see stamps
			content, err := procfs.ReadWith(path, int(info.Size())+1, unix.O_NOATIME)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %08x %v", len(content), crc32.ChecksumIEEE(content),
				info.ModTime().UnixNano())
		case fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " " + target
		}
		state = append(state, line)
		return nil
	})
	return state, err
}

// visibleProcess collects what can be seen of a process; err is the first error.
//
// What differs with every restore, such as inodes of pipes, is left out where it is found.
type visibleProcess struct {
	pid       int
	directory string // in /proc
	inner     int    // its pid in the group
	lines     []string
	err       error
}

// addf adds a line, which begins with the process as the group knows it: that number stays.
func (v *visibleProcess) addf(format string, a ...any) {
	v.lines = append(v.lines, fmt.Sprintf("process %d: ", v.inner)+fmt.Sprintf(format, a...))
}

// fail notes an error. What is read after the first one does not matter.
func (v *visibleProcess) fail(err error) { v.err = cmp.Or(v.err, err) }

// read returns the content of a file that all processes have. A process that has ended meanwhile
// makes the description an error.
func (v *visibleProcess) read(name string) string {
	b, err := os.ReadFile(v.directory + "/" + name)
	if err != nil {
		v.fail(err)
	}
	return string(b)
}

// link returns where a link leads that all processes have.
func (v *visibleProcess) link(name string) string {
	l, err := os.Readlink(v.directory + "/" + name)
	if err != nil {
		v.fail(err)
	}
	return l
}

// describe adds a line for each thing that /proc shows of a process: what is the same for all of
// its threads here, and the rest for each thread.
func (v *visibleProcess) describe() {
	for _, name := range []string{"cwd", "root", "exe"} {
		v.addf("%s %s", name, v.link(name))
	}
	// Not every Linux has all of these.
	for _, name := range []string{"environ", "cmdline", "limits", "mountinfo", "personality", "oom_score_adj",
		"timerslack_ns", "coredump_filter", "autogroup", "uid_map", "loginuid", "timers"} {
		if b, err := os.ReadFile(v.directory + "/" + name); err == nil {
			lines := strings.Split(numbersOfMounts.ReplaceAllString(string(b), ""), "\n")
			if name == "mountinfo" { // those that do not lie below each other are in any order
				slices.Sort(lines)
			}
			v.addf("%s %q", name, strings.Join(lines, "\n"))
		}
	}
	for _, name := range v.names("fd") {
		v.descriptor(name)
	}
	for line := range strings.Lines(v.read("maps")) {
		v.addf("mapping %s", inodesInGroup.ReplaceAllString(strings.TrimSpace(line), "$1- $2"))
	}
	for _, tid := range v.names("task") {
		v.thread("task/" + tid)
	}
}

var (
	// The numbers of mounts and sessions, which CRIU does not give back.
	numbersOfMounts = regexp.MustCompile(`(?m)^\d+ \d+ \S+ |autogroup-\d+|(shared|master|propagate_from):\d+`)
	// Files that were put back may be other ones.
	inodesInGroup = regexp.MustCompile(`^(\S+ \S+ \S+ \S+ )\d+ +(/run/)`)
	// Numbers of the kernel's, and the time that is left.
	numbersOfFiles = regexp.MustCompile(`pos:\S+ ino:\S+ sdev:\S+|it_value:.*|\s+`)
	// Memory that processes share, which CRIU makes by memfd_create(2).
	sharedMemory = regexp.MustCompile(` \d+ +(/memfd:)?/dev/zero \(deleted\)`)
	keptOfStatus = regexp.MustCompile(
		`^(Name|Umask|State|NSpid|NSpgid|NSsid|Uid|Gid|Groups|VmLck|Threads|Sig(Pnd|Blk|Ign|Cgt)|` +
			`ShdPnd|Cap.*|NoNewPrivs|Seccomp|Cpus_allowed|Mems_allowed_list|CoreDumping|THP_enabled):`)
)

// names are those in a directory, numbers in their order. In this order lines of two descriptions
// of the same process are in the same places.
func (v *visibleProcess) names(directory string) (names []string) {
	entries, err := os.ReadDir(v.directory + "/" + directory)
	if err != nil {
		v.fail(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return names
}

// descriptor describes a descriptor by what it leads to and by its fdinfo, without what a restore
// makes anew: inodes of pipes and sockets, numbers of mounts, and the time that is left.
func (v *visibleProcess) descriptor(number string) {
	target := v.link("fd/" + number)
	if kind, _, ok := strings.Cut(target, ":["); ok && (kind == "socket" || kind == "pipe") {
		target = kind // whose inode is another one
		if same := v.firstOf(number); same != number {
			target += " of " + same
		}
	}
	var info []string
	for line := range strings.Lines(v.read("fdinfo/" + number)) {
		line = strings.TrimSpace(numbersOfFiles.ReplaceAllString(line, " "))
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "mnt_id", "ino", "eventfd-id":
			continue
		case "lock":
			// its place on the list, and numbers of the process and the file, are other ones
			if f := strings.Fields(value); len(f) == 8 {
				line = fmt.Sprint("lock: ", f[1:4], f[6:])
			}
		case "flags":
			flags, err := strconv.ParseUint(strings.TrimSpace(value), 8, 64)
			if err != nil {
				v.fail(err)
			}
			if flags&unix.O_TMPFILE == unix.O_TMPFILE { // which mattered when it was made
				flags &^= unix.O_TMPFILE
			}
			line = fmt.Sprintf("flags: %#o", flags&^flagLarge)
		}
		info = append(info, line)
	}
	slices.Sort(info) // an epoll instance lists what it watches in any order
	v.addf("descriptor %s is %s, %s ", number, target, strings.Join(info, " | "))
}

// firstOf is the lowest descriptor of the same socket or pipe. It tells which descriptors are of
// the same one, where the inode is left out.
func (v *visibleProcess) firstOf(number string) string {
	var want, st unix.Stat_t
	if err := unix.Stat(v.directory+"/fd/"+number, &want); err != nil {
		v.fail(err)
	}
	for _, other := range v.names("fd") {
		if unix.Stat(v.directory+"/fd/"+other, &st) == nil && st.Ino == want.Ino && st.Dev == want.Dev {
			return other
		}
	}
	return number
}

// thread describes a thread by lines of its status, and by the system call that it waits in.
// Numbers of namespaces outside of the group are left out.
func (v *visibleProcess) thread(directory string) {
	var lines []string
	number := ""
	for line := range strings.Lines(v.read(directory + "/status")) {
		if !keptOfStatus.MatchString(line) {
			continue
		}
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "NS") {
			f := strings.Fields(line)
			line = f[0] + f[len(f)-1]
			if f[0] == "NSpid:" {
				number = f[len(f)-1]
			}
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	call, err := visibleCall(v.read(directory + "/syscall"))
	if err != nil {
		v.fail(fmt.Errorf("thread %s of process %d: %w", number, v.inner, err))
		return
	}
	lines = append(lines, call)
	for _, line := range lines {
		v.addf("thread %s: %s", number, line)
	}
}

// Differences lists lines that only one of two descriptions has, or more often. Each line counts: a
// socket that is there twice differs from one.
func Differences(before, after []string) (list []string) {
	count := map[string]int{}
	for _, line := range before {
		count[line]++
	}
	for _, line := range after {
		count[line]--
	}
	for line, n := range count {
		sign := "- "
		if n < 0 {
			sign, n = "+ ", -n
		}
		for range n {
			list = append(list, sign+line)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(strings.Compare(a[2:], b[2:]),
			strings.Compare(a, b))
	})
	return list
}
