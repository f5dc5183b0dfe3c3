package ckptd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// deadChild names a child of a process that has died and was not waited for: the proxy
// keeps its dead peers. It is empty if there is none, or nobody to ask.
func deadChild(pid int) string {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var children []byte
	for _, file := range threads {
		list, _ := os.ReadFile(file) // the thread may have ended
		children = append(children, list...)
	}
	for _, child := range strings.Fields(string(children)) {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		if err != nil {
			continue
		}
		// PID (NAME) STATE ...; the name may hold anything, parentheses too.
		from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		if from >= 0 && to+2 < len(stat) && stat[to+2] == 'Z' {
			return string(stat[from+1 : to])
		}
	}
	return ""
}
