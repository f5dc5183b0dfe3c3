package ckptd

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// deadChild names a child of a process that has died and was not waited for: the proxy
// keeps its dead peers. It is empty if there is none, or nobody to ask.
func deadChild(pid int) string {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var children []byte
	for _, file := range threads {
		list, _ := readProc(file) // the thread may have ended
		children = append(children, list...)
	}
	for _, child := range strings.Fields(string(children)) {
		if state, name := stateOfProcess(child); state == 'Z' {
			return name
		}
	}
	return ""
}

// stateOfProcess reads the state and the name of a process; the state is 0 if there is none.
func stateOfProcess(pid string) (state byte, name string) {
	stat, err := readProc("/proc/" + pid + "/stat")
	// PID (NAME) STATE ...; the name may hold anything, parentheses too.
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if err != nil || from < 0 || to+2 >= len(stat) {
		return 0, ""
	}
	return stat[to+2], string(stat[from+1 : to])
}
