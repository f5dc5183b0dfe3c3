package procfs

import (
	"fmt"
	"os"
	"strconv"
)

// Threads lists the threads of a process, the first one first.
func Threads(pid int) ([]int, error) {
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

// AllChildren lists what all threads of a process have forked or adopted, and nobody has waited
// for. The files are opened by name: a pattern would have all names in the directory of each thread
// listed.
func AllChildren(pid int) (all []int, err error) {
	tids, err := Threads(pid)
	for _, tid := range tids {
		children, _ := Children(pid, tid) // the thread may have ended
		all = append(all, children...)
	}
	return all, err
}
