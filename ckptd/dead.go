package ckptd

import (
	"bytes"
	"strconv"
)

// deadChild names a child of a process that has died and was not waited for: the proxy
// keeps its dead peers. It is empty if there is none, or nobody to ask.
func deadChild(pid int) string {
	all, _ := childrenOf(pid)
	for _, child := range all {
		if state, name := stateOfProcess(strconv.Itoa(child)); state == 'Z' {
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
