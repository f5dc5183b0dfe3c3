package ckptd

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
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

// hasEnded tells whether all threads of a process have ended, and nobody has waited for it. Where only the first one has, its
// state is the same.
func hasEnded(pid int) bool {
	text, err := readProc(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.HasPrefix(status(text).field("State:"), "Z") && status(text).field("Threads:") == "1"
}

// isAlive tells whether a process is there and has not ended.
func isAlive(pid int) bool {
	state, _ := stateOfProcess(strconv.Itoa(pid))
	return state != 0 && state != 'Z' && state != 'X'
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
