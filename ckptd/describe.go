package ckptd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// describeThreads says what the threads of a process do, as seen from outside. It is for the error
// of a request without an answer: the daemon itself says nothing any more.
func describeThreads(pid int) string {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if len(tasks) == 0 {
		return fmt.Sprintf("process %d is gone", pid)
	}
	count := map[string]int{}
	for _, task := range tasks {
		state, _ := procfs.State(strings.TrimPrefix(task, "/proc/"))
		if state == 0 {
			continue // it has ended since
		}
		channel, _ := os.ReadFile(task + "/wchan")
		call, _ := os.ReadFile(task + "/syscall")
		number, _, _ := strings.Cut(strings.TrimSpace(string(call)), " ")
		count[fmt.Sprintf("state %c, wchan %s, system call %s", state, channel, number)]++
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%d in %s", count[what], what))
	}
	return fmt.Sprintf("of the threads of process %d are %s", pid, strings.Join(all, "; "))
}
