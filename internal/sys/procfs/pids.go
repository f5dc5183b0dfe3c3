package procfs

import (
	"fmt"
	"strconv"
	"strings"
)

// InnerPID is the pid of a process in the innermost pid namespace that it is in: what the process
// itself takes for its pid.
func InnerPID(pid int) (int, error) {
	text, err := Read(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return innerPID(pid, Status(text))
}

func innerPID(pid int, s Status) (int, error) {
	if n := s.Innermost("NSpid:"); n != 0 {
		return n, nil
	}
	return 0, fmt.Errorf("/proc/%d/status has no line NSpid: tandem needs Linux 5.10 or later", pid)
}

// Innermost is the last of several numbers in a line: an ID in the innermost of nested pid
// namespaces. It is 0 where there is no such line.
func (s Status) Innermost(field string) int {
	text := s.Field(field)
	n, _ := strconv.Atoi(text[strings.LastIndexAny(text, "\t ")+1:])
	return n
}

// StatFields are those of /proc/PID/stat after the name: the first one is the state, number 3 of
// proc(5). The name is left out since it may hold anything, spaces and parentheses too.
func StatFields(pid int) ([]string, error) {
	text, err := Read(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	const most = 50 // minus the first two
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < most {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}
