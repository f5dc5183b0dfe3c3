package procfs

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Children lists the processes that thread tid of process pid has forked or adopted, and that
// nobody has waited for, the oldest first. All that were there during the call are on the list.
func Children(pid, tid int) ([]int, error) {
	var p Reader
	return p.Children(pid, tid)
}

// Children is Children.
//
// The kernel goes from each child to the next one without a lock in between. When the child that it
// comes from is waited for just then, it counts from the beginning, where there is one less now,
// and leaves out the next one. So a list counts only if all that are on it are still there
// afterwards.
func (p *Reader) Children(pid, tid int) ([]int, error) {
	const attempts = 1000
	for range attempts {
		all, err := p.childrenAtOnce(pid, tid)
		if err != nil || !slices.ContainsFunc(all, isGone) {
			return all, err
		}
	}
	return nil, fmt.Errorf("children of process %d: they end too fast to be listed", pid)
}

// isGone tells whether a process has ended and was waited for.
func isGone(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH }

// maxChildren bounds the length of a list of children, in bytes.
const maxChildren = 1 << 20

// childrenAtOnce reads the kernel's list, which may lack some.
func (p *Reader) childrenAtOnce(pid, tid int) ([]int, error) {
	p.path = strconv.AppendInt(append(p.path[:0], "/proc/"...), int64(pid), 10)
	p.path = append(strconv.AppendInt(append(p.path, "/task/"...), int64(tid), 10), "/children"...)
	err := p.with(p.path, 0, func(fd int) error {
		p.list = p.list[:0]
		for n := -1; n != 0 && len(p.list) <= maxChildren; { // a read returns a page at most
			var err error
			if n, err = unix.Pread(fd, p.buffer[:], int64(len(p.list))); err != nil {
				return err
			}
			p.list = append(p.list, p.buffer[:n]...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(p.list) > maxChildren {
		return nil, fmt.Errorf("%s is longer than %d bytes: the group has too many processes", p.path,
			maxChildren)
	}
	var pids []int
	for field := range bytes.FieldsSeq(p.list) {
		child, err := strconv.Atoi(string(field))
		if err != nil {
			return nil, fmt.Errorf("children of process %d: %q is not a pid", pid, field)
		}
		pids = append(pids, child)
	}
	return pids, nil
}
