package procfs

import (
	"fmt"
	"strconv"
	"strings"
)

// DeadChild names a child of a process that has died and was not waited for: the proxy
// keeps its dead peers. It is empty if there is none, or nobody to ask.
func DeadChild(pid int) string {
	all, _ := AllChildren(pid)
	for _, child := range all {
		if state, name := State(strconv.Itoa(child)); state == 'Z' {
			return name
		}
	}
	return ""
}

// HasEnded tells whether all threads of a process have ended, and nobody has waited for it. Where
// only the first one has, its state is the same.
func HasEnded(pid int) bool {
	text, err := Read(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.HasPrefix(Status(text).Field("State:"), "Z") &&
		Status(text).Field("Threads:") == "1"
}

// IsAlive tells whether a process is there and has not ended.
func IsAlive(pid int) bool {
	state, _ := State(strconv.Itoa(pid))
	return state != 0 && state != 'Z' && state != 'X'
}

// State reads the state and the name of a process or thread. The state is a letter of proc(5), such
// as R for a thread that runs and Z for one that has ended; it is 0 if there is none.
func State(pid string) (state byte, name string) {
	text, err := Read("/proc/" + pid + "/stat")
	if err != nil {
		return 0, ""
	}
	s, err := ParseStat(text)
	if err != nil {
		return 0, ""
	}
	return s.State, s.Command
}
