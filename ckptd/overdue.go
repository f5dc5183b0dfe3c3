package ckptd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// A request is answered in its time. The checker says how long it waits, less a margin in which the
// daemon, should the request take longer, gives it up and says what it is waiting for. If the daemon does not
// even do that, what its threads do is seen from outside.

// marginOf is how much earlier than the checker the daemon gives up.
func marginOf(patience time.Duration) time.Duration { return min(patience/4, 3*time.Second) }

// grace is how long a request may go on after its time, to end in order. The margin has room for it
// where the checker waits for 5 s or more; one that does not may be the first to give up.
const grace = time.Second

// patienceFor is how long a request may take.
func patienceFor(r request) time.Duration {
	if r.TimeoutMillis > 0 {
		return min(defaultTimeout, time.Duration(r.TimeoutMillis)*time.Millisecond)
	}
	return defaultTimeout
}

// inTime calls answer once: with what handle returns or, where that takes too long, with an error that says
// where it is. What comes of it then is dropped, as it is where answer returns false: a group that was started is closed.
func (d *daemon) inTime(r request, handle func() (reply, []int), answer func(reply, []int) bool) {
	patience := patienceFor(r)
	var answered atomic.Bool
	late := time.AfterFunc(patience+grace, func() {
		if answered.CompareAndSwap(false, true) {
			answer(errorReply(fmt.Errorf("the checkpoint daemon gives up after %v (%s of group %d); it is in %s", patience, r.Operation, r.Group, whereabouts())), nil)
		}
	})
	defer late.Stop()
	a, given := handle()
	defer sys.CloseAll(given)
	if !answered.CompareAndSwap(false, true) {
		fmt.Fprintf(os.Stderr, "tandem-ckptd: %s of group %d was given up, and has ended now: %q\n", r.Operation, r.Group, a.Error)
	} else if answer(a, given) {
		return
	}
	if a.Group != 0 {
		d.giveUp(a.Group)
	}
}

// maxWhereabouts bounds the goroutines that an error speaks of.
const maxWhereabouts = 32

var (
	goroutineState = regexp.MustCompile(`^goroutine \d+ \[(.*)\]:`)
	ownFunction    = regexp.MustCompile(`tandem/(ckptd|proxy|peers)\.(\S+)\(`)
)

// whereabouts is what goroutines of this program wait for, and in which functions, the innermost first.
func whereabouts() string {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	var all []string
	for stack := range strings.SplitSeq(string(b), "\n\n") {
		state := goroutineState.FindStringSubmatch(stack)
		stack, _, _ = strings.Cut(stack, "\ncreated by ")
		var functions []string
		for _, f := range ownFunction.FindAllStringSubmatch(stack, -1) {
			if f[1] != "ckptd" {
				f[2] = f[1] + "." + f[2]
			}
			functions = append(functions, f[2])
		}
		if state != nil && len(functions) > 0 && !strings.HasPrefix(functions[0], "whereabouts") {
			all = append(all, strings.Join(functions, " < ")+" ["+state[1]+"]")
		}
	}
	if more := len(all) - maxWhereabouts; more > 0 {
		all = append(all[:maxWhereabouts], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, "; ")
}

// describeThreads says what the threads of a process do, as seen from outside.
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
