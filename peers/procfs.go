package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procfs reads /proc with few system calls and no allocation to speak of: it is read
// in full many times during one transition. Not safe for concurrent use.
type procfs struct {
	buffer [16 << 10]byte
	path   []byte
	list   []byte // of children
	// kept are open files, by name: to read one again takes a third of the time of opening it, too.
	// When there are too many, all are closed. nil: none are kept.
	kept map[string]int
}

// maxKept bounds the files that are kept open: some five of each thread.
const maxKept = 800

// keepOpen has files kept open until close.
func (p *procfs) keepOpen() { p.kept = map[string]int{} }

func (p *procfs) close() {
	for _, fd := range p.kept {
		unix.Close(fd)
	}
	p.kept = nil
}

// with runs f on an open file, once more if what was kept is of a process that has ended.
func (p *procfs) with(name []byte, flags int, f func(fd int) error) error {
	if fd, ok := p.kept[string(name)]; ok {
		err := f(fd)
		if err == nil {
			return nil
		}
		if err != unix.ESRCH && err != unix.ENOENT {
			return readError(string(name), err)
		}
		p.forget(string(name))
	}
	fd, err := unix.Open(string(name), unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
	if err == unix.EMFILE && len(p.kept) > 0 {
		p.close()
		p.keepOpen()
		fd, err = unix.Open(string(name), unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
	}
	if err != nil {
		return readError(string(name), err)
	}
	err = f(fd)
	if err == nil && p.keeps(name) {
		p.kept[string(name)] = fd
		return nil
	}
	unix.Close(fd)
	if err != nil {
		return readError(string(name), err)
	}
	return nil
}

// keeps tells whether a file is to be kept open. One that is read once is not. A list of children is
// kept only beside the thread's stat, which is read before it: where the thread has ended, the list
// is only empty, and the stat says so.
func (p *procfs) keeps(name []byte) bool {
	if p.kept == nil || bytes.HasSuffix(name, []byte("/status")) {
		return false
	}
	if thread, ok := bytes.CutSuffix(name, []byte("/children")); ok {
		stat := append([]byte("/proc"), thread[bytes.LastIndexByte(thread, '/'):]...)
		if _, kept := p.kept[string(append(stat, "/stat"...))]; !kept {
			return false
		}
	}
	if len(p.kept) >= maxKept {
		p.close()
		p.keepOpen()
		return false
	}
	return true
}

// errGone says that the process or thread ended meanwhile.
var errGone = errors.New("the process is gone")

// forget closes what is kept of a process or thread that has ended, of which name is a file.
func (p *procfs) forget(name string) {
	id, _, _ := strings.Cut(strings.TrimPrefix(name, "/proc/"), "/")
	for other, fd := range p.kept {
		if strings.HasPrefix(other, "/proc/"+id+"/") || strings.Contains(other, "/task/"+id+"/") {
			unix.Close(fd)
			delete(p.kept, other)
		}
	}
}

// read returns the content of /proc/a/b/..., valid until the next read.
func (p *procfs) read(elements ...string) ([]byte, error) {
	p.path = append(p.path[:0], "/proc"...)
	for _, e := range elements {
		p.path = append(append(p.path, '/'), e...)
	}
	n := 0
	err := p.with(p.path, 0, func(fd int) (err error) {
		n, err = unix.Pread(fd, p.buffer[:], 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n == len(p.buffer) {
		return nil, fmt.Errorf("%s is longer than %d bytes: the group has too many processes", p.path, n)
	}
	return p.buffer[:n], nil
}

func readError(name string, err error) error {
	if err == unix.ENOENT || err == unix.ESRCH {
		return errGone
	}
	return &fs.PathError{Op: "read", Path: name, Err: err}
}

// threads lists the threads of a process. Those that come after one that ends meanwhile may be left out: see stat.threads.
func (p *procfs) threads(pid int) ([]int, error) {
	var tids []int
	var names []string
	name := append(strconv.AppendInt(append(p.path[:0], "/proc/"...), int64(pid), 10), "/task"...)
	p.path = name
	err := p.with(name, unix.O_DIRECTORY, func(fd int) error {
		tids = tids[:0]
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			return err
		}
		for {
			n, err := unix.ReadDirent(fd, p.buffer[:])
			if err != nil || n == 0 {
				return err
			}
			_, _, names = unix.ParseDirent(p.buffer[:n], -1, names[:0])
			for _, s := range names {
				if tid, err := strconv.Atoi(s); err == nil {
					tids = append(tids, tid)
				}
			}
		}
	})
	return tids, err
}

// stat is the part of /proc/PID/stat that matters here.
type stat struct {
	command string
	state   byte
	status  unix.WaitStatus // once state is Z: how it ended
	threads int             // of its process, 1 for one that has ended
	// Processor time in user mode and in the kernel, in ticks of 10 ms.
	user, system int64
}

// ended tells whether all threads of the process have ended: the first one alone looks the same otherwise.
func (s stat) ended() bool { return s.state == 'Z' && s.threads == 1 }

func (p *procfs) stat(id int) (stat, error) {
	b, err := p.read(strconv.Itoa(id), "stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// Places of utime, stime and num_threads among the fields after the command.
const userTime, systemTime, numThreads = 11, 12, 17

// parseStat reads "pid (command) state ... exit_code"; the command may hold anything.
func parseStat(b []byte) (stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("stat of a process: no command in %q", b)
	}
	fields := bytes.Fields(b[end+1:])
	if len(fields) == 0 || len(fields[0]) != 1 {
		return stat{}, fmt.Errorf("stat of a process: no state in %q", b)
	}
	s := stat{command: string(b[open+1 : end]), state: fields[0][0]}
	status, err := strconv.ParseUint(string(fields[len(fields)-1]), 10, 32)
	if err != nil && s.state == 'Z' {
		return stat{}, fmt.Errorf("stat of a process: no exit code in %q", b)
	}
	s.status = unix.WaitStatus(status)
	if len(fields) > systemTime {
		s.user, _ = strconv.ParseInt(string(fields[userTime]), 10, 64)
		s.system, _ = strconv.ParseInt(string(fields[systemTime]), 10, 64)
	}
	if len(fields) > numThreads {
		s.threads, _ = strconv.Atoi(string(fields[numThreads]))
	}
	return s, nil
}

// innerPID is the pid of a process in the innermost pid namespace that it belongs to.
func (p *procfs) innerPID(pid int) (int, error) {
	b, err := p.read(strconv.Itoa(pid), "status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			if f := bytes.Fields(rest); len(f) > 0 {
				return strconv.Atoi(string(f[len(f)-1]))
			}
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no line NSpid: tandem needs Linux 5.10 or later", pid)
}

// waitChannel is the kernel function that a thread sleeps in, "0" where it is not known.
func (p *procfs) waitChannel(tid int) (string, error) {
	b, err := p.read(strconv.Itoa(tid), "wchan")
	return string(b), err
}

// ran is the number of times that a thread was put on a processor, and for how long, as
// one string: it changes whenever the thread runs.
func (p *procfs) ran(tid int) (string, error) {
	b, err := p.read(strconv.Itoa(tid), "schedstat")
	return string(b), err
}

// errRuns says that a thread is in no system call, or about to leave it.
var errRuns = errors.New("the thread runs")

// systemCall is the number of the system call that a thread waits in, with its arguments.
func (p *procfs) systemCall(tid int) (number int, arguments [6]uint64, err error) {
	b, err := p.read(strconv.Itoa(tid), "syscall")
	if err != nil {
		return 0, arguments, err
	}
	fields := bytes.Fields(b)
	if len(fields) <= len(arguments) {
		return 0, arguments, errRuns
	}
	if number, err = strconv.Atoi(string(fields[0])); err != nil {
		return 0, arguments, errRuns
	}
	for i := range arguments {
		if arguments[i], err = strconv.ParseUint(string(fields[i+1]), 0, 64); err != nil {
			return 0, arguments, fmt.Errorf("/proc/%d/syscall: %w", tid, err)
		}
	}
	return number, arguments, nil
}
