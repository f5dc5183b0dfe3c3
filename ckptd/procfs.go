package ckptd

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
)

// readProc reads a file of /proc. It takes half the time of os.ReadFile, which has the file polled if that can be done.
func readProc(path string) ([]byte, error) {
	const most = 1 << 10 // of most files
	return readRoom(path, most)
}

// readRoom is readProc for a file that has most likely less than so many bytes.
func readRoom(path string, room int) ([]byte, error) { return readRoomBy(path, room, unix.O_RDONLY) }

// readRoomBy is readRoom with more flags to open by.
func readRoomBy(path string, room, flags int) ([]byte, error) {
	fd, err := retryInterrupted(func() (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	content, err := readAll(fd, make([]byte, 0, room))
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return content, nil
}

// readAll appends what is left of a file to content.
func readAll(fd int, content []byte) ([]byte, error) {
	for {
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		n, err := retryInterrupted(func() (int, error) { return unix.Read(fd, content[len(content):cap(content)]) })
		if n == 0 || err != nil {
			return content, err
		}
		content = content[:len(content)+n]
	}
}

// threadsOf lists the threads of a process, the first one first.
func threadsOf(pid int) ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	tids := []int{pid}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil && tid != pid {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// childrenOf lists what all threads of a process have forked or adopted, and nobody has waited for. The
// files are opened by name: a pattern would have all names in the directory of each thread listed.
func childrenOf(pid int) (all []int, err error) {
	tids, err := threadsOf(pid)
	for _, tid := range tids {
		children, _ := peers.Children(pid, tid) // the thread may have ended
		all = append(all, children...)
	}
	return all, err
}

// status is the text of /proc/PID/status, or of another file of /proc with such lines: "Name:", a tabulator or other space, and a value.
type status string

// field is what comes in a line after the tabulator, by its name with the colon; empty if there is none.
func (s status) field(name string) string {
	text := string(s)
	if !strings.HasPrefix(text, name) {
		at := strings.Index(text, "\n"+name)
		if at < 0 {
			return ""
		}
		text = text[at+1:]
	}
	line, _, _ := strings.Cut(text[len(name):], "\n")
	return strings.TrimPrefix(line, "\t") // a name may end with spaces
}

// bytes is an amount of memory, 0 if it is not there.
func (s status) bytes(name string) int64 { return parseKibibytes(s.field(name)) }

// parseKibibytes reads "  12 kB" as bytes; what is not of that form counts as nothing.
func parseKibibytes(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
	return n << 10
}

func retryInterrupted(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}
