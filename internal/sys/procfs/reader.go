package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Reader reads /proc with few system calls and no allocation to speak of: it is read
// in full many times during one transition. Not safe for concurrent use.
type Reader struct {
	buffer [16 << 10]byte
	path   []byte
	list   []byte // of children
	// kept are open files, by name: to read one again takes a third of the time of opening it, too.
	// When there are too many, all are closed. nil: none are kept.
	kept map[string]int
}

// maxKept bounds the files that are kept open: some five of each thread.
const maxKept = 800

// KeepOpen has files kept open until Close.
func (p *Reader) KeepOpen() { p.kept = map[string]int{} }

// Close closes the files that are kept open, and keeps none from then on.
func (p *Reader) Close() {
	for _, fd := range p.kept {
		unix.Close(fd)
	}
	p.kept = nil
}

// with runs f on an open file, once more if what was kept is of a process that has ended.
// The kernel makes the content of such a file anew at each read from its beginning, so that an open
// one is as good as a new one, as long as its process lives. A process may have ended meanwhile and
// another one may have its number: then the read fails with ESRCH, and the file is opened again.
func (p *Reader) with(name []byte, flags int, f func(fd int) error) error {
	if fd, ok := p.kept[string(name)]; ok {
		err := f(fd)
		if err == nil {
			return nil
		}
		if err != unix.ESRCH && err != unix.ENOENT {
			return ReadError(string(name), err)
		}
		p.forget(string(name))
	}
	fd, err := unix.Open(string(name), unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
	// There may be other users of descriptors in this process: those that are kept here are given
	// up before anything fails for lack of one.
	if err == unix.EMFILE && len(p.kept) > 0 {
		p.Close()
		p.KeepOpen()
		fd, err = unix.Open(string(name), unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
	}
	if err != nil {
		return ReadError(string(name), err)
	}
	err = f(fd)
	if err == nil && p.keeps(name) {
		p.kept[string(name)] = fd
		return nil
	}
	unix.Close(fd)
	if err != nil {
		return ReadError(string(name), err)
	}
	return nil
}

// keeps tells whether a file is to be kept open. One that is read once is not. A list of children
// is kept only beside the thread's stat, which is read before it: where the thread has ended, the
// list is only empty, and the stat says so.
func (p *Reader) keeps(name []byte) bool {
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
		p.Close()
		p.KeepOpen()
		return false
	}
	return true
}

// ErrGone says that the process or thread ended meanwhile.
var ErrGone = errors.New("the process is gone")

// forget closes what is kept of a process or thread that has ended, of which name is a file.
func (p *Reader) forget(name string) {
	id, _, _ := strings.Cut(strings.TrimPrefix(name, "/proc/"), "/")
	for other, fd := range p.kept {
		if strings.HasPrefix(other, "/proc/"+id+"/") || strings.Contains(other, "/task/"+id+"/") {
			unix.Close(fd)
			delete(p.kept, other)
		}
	}
}

// Read returns the content of /proc/a/b/..., valid until the next read.
func (p *Reader) Read(elements ...string) ([]byte, error) {
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

// ReadError is ErrGone for what says that a process or thread has ended, and else names the file.
func ReadError(name string, err error) error {
	if err == unix.ENOENT || err == unix.ESRCH {
		return ErrGone
	}
	return &fs.PathError{Op: "read", Path: name, Err: err}
}

// Threads lists the threads of a process. Those that come after one that ends meanwhile may be left
// out: see Stat.Threads.
func (p *Reader) Threads(pid int) ([]int, error) {
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

// Stat is the part of /proc/PID/stat that matters to Tandem.
type Stat struct {
	Command string
	State   byte
	Status  unix.WaitStatus // once state is Z: how it ended
	Threads int             // of its process, 1 for one that has ended
	// Processor time in user mode and in the kernel, in ticks of 10 ms.
	User, System int64
}

// Ended tells whether all threads of the process have ended: the first one alone looks the same
// otherwise.
func (s Stat) Ended() bool { return s.State == 'Z' && s.Threads == 1 }

// Stat reads /proc/ID/stat of a process or thread.
func (p *Reader) Stat(id int) (Stat, error) {
	b, err := p.Read(strconv.Itoa(id), "stat")
	if err != nil {
		return Stat{}, err
	}
	return ParseStat(b)
}

// Places of utime, stime and num_threads among the fields after the command.
const userTime, systemTime, numThreads = 11, 12, 17

// ParseStat reads "pid (command) state ... exit_code"; the command may hold anything.
func ParseStat(b []byte) (Stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Stat{}, fmt.Errorf("stat of a process: no command in %q", b)
	}
	fields := bytes.Fields(b[end+1:])
	if len(fields) == 0 || len(fields[0]) != 1 {
		return Stat{}, fmt.Errorf("stat of a process: no state in %q", b)
	}
	s := Stat{Command: string(b[open+1 : end]), State: fields[0][0]}
	status, err := strconv.ParseUint(string(fields[len(fields)-1]), 10, 32)
	if err != nil && s.State == 'Z' {
		return Stat{}, fmt.Errorf("stat of a process: no exit code in %q", b)
	}
	s.Status = unix.WaitStatus(status)
	if len(fields) > systemTime {
		s.User, _ = strconv.ParseInt(string(fields[userTime]), 10, 64)
		s.System, _ = strconv.ParseInt(string(fields[systemTime]), 10, 64)
	}
	if len(fields) > numThreads {
		s.Threads, _ = strconv.Atoi(string(fields[numThreads]))
	}
	return s, nil
}

// InnerPID is the pid of a process in the innermost pid namespace that it belongs to.
func (p *Reader) InnerPID(pid int) (int, error) {
	b, err := p.Read(strconv.Itoa(pid), "status")
	if err != nil {
		return 0, err
	}
	return innerPID(pid, Status(b))
}

// WaitChannel is the kernel function that a thread sleeps in, "0" where it is not known.
func (p *Reader) WaitChannel(tid int) (string, error) {
	b, err := p.Read(strconv.Itoa(tid), "wchan")
	return string(b), err
}

// Ran is the number of times that a thread was put on a processor, and for how long, as
// one string: it changes whenever the thread runs.
func (p *Reader) Ran(tid int) (string, error) {
	b, err := p.Read(strconv.Itoa(tid), "schedstat")
	return string(b), err
}

// ErrRuns says that a thread is in no system call, or about to leave it.
var ErrRuns = errors.New("the thread runs")

// SystemCall is the number of the system call that a thread waits in, with its arguments. The error
// is ErrRuns for a thread that has left its call since it was seen to sleep. Arguments that are
// addresses are those of the process.
func (p *Reader) SystemCall(tid int) (number int, arguments [6]uint64, err error) {
	b, err := p.Read(strconv.Itoa(tid), "syscall")
	if err != nil {
		return 0, arguments, err
	}
	fields := bytes.Fields(b)
	if len(fields) <= len(arguments) {
		return 0, arguments, ErrRuns
	}
	if number, err = strconv.Atoi(string(fields[0])); err != nil {
		return 0, arguments, ErrRuns
	}
	for i := range arguments {
		if arguments[i], err = strconv.ParseUint(string(fields[i+1]), 0, 64); err != nil {
			return 0, arguments, fmt.Errorf("/proc/%d/syscall: %w", tid, err)
		}
	}
	return number, arguments, nil
}
