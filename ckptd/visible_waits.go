package ckptd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/peers"
)

// A thread that waits with a time-out goes on by itself soon after it was restored, and waits again: maybe elsewhere, and
// maybe with another depth of the stack. Until then it must be seen where it was, if verify comes in time.

const (
	inCall     = "in a call at "
	timed      = " until a time-out" // the end of the line of such a thread
	timedMoves = time.Second         // from then on such a thread may be anywhere
)

// visibleCall describes what a thread waits in: the place in the program and the stack. Its arguments differ, since what
// has waited for a while goes on with a call of its own. line is /proc/PID/syscall.
func visibleCall(pid int, line string) (string, error) {
	f := strings.Fields(line)
	if len(f) < 3 {
		return "", fmt.Errorf("it is not in a system call")
	}
	text := inCall + f[len(f)-1] + ", stack " + f[len(f)-2]
	if len(f) == 9 {
		number, err := strconv.Atoi(f[0])
		var arguments [6]uint64
		for i := range arguments {
			arguments[i], _ = strconv.ParseUint(strings.TrimPrefix(f[1+i], "0x"), 16, 64)
		}
		if err == nil && peers.TimesOut(pid, number, arguments) {
			text += timed
		}
	}
	return text, nil
}

// settleTimed prepares the description of a checkpoint and that of the restored group for a comparison, so long after the
// restore: where threads are that wait with a time-out, or nothing of them if they may have gone on.
func settleTimed(want, now []string, after time.Duration) (_, _ []string) {
	var moved []string // beginnings of lines
	for _, line := range want {
		if at := strings.Index(line, inCall); at >= 0 && strings.HasSuffix(line, timed) && after > timedMoves {
			moved = append(moved, line[:at+len(inCall)])
		}
	}
	settle := func(state []string) []string {
		state = slices.DeleteFunc(slices.Clone(state), func(line string) bool {
			return slices.ContainsFunc(moved, func(beginning string) bool { return strings.HasPrefix(line, beginning) })
		})
		for i := range state {
			state[i] = strings.TrimSuffix(state[i], timed)
		}
		return state
	}
	return settle(want), settle(now)
}
