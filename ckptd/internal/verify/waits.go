package verify

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers/watch"
)

// Where a thread waits tells much of the state of its program: the place of the call, and the depth
// of the stack. Both must be the same after a restore.

// A thread that waits with a time-out goes on by itself some time after a restore. Its next wait
// may be at another place, or with another depth of the stack. Just after the restore it must be
// where it was. A thread that sleeps may move at any time: one of Go's runtime sleeps for 20
// microseconds to 10 milliseconds while goroutines run, and then waits elsewhere.

const (
	inCall     = "in a call at "
	timed      = " until a time-out" // the end of the line of such a thread
	asleep     = " for a while"      // the end of the line of one that sleeps
	timedMoves = time.Second         // from then on such a thread may be anywhere
)

// visibleCall describes where a thread waits: the place in the program and the stack. The arguments
// are left out, since the kernel goes on with an interrupted wait by another call. line is
// /proc/PID/syscall. A thread that is not in a system call is not quiescent, and cannot be
// compared.
func visibleCall(line string) (string, error) {
	f := strings.Fields(line)
	if len(f) < 3 {
		return "", errors.New("it is not in a system call")
	}
	text := inCall + f[len(f)-1] + ", stack " + f[len(f)-2]
	// A thread in a system call shows its number, six arguments, the stack and the place.
	if len(f) == 9 {
		number, err := strconv.Atoi(f[0])
		var arguments [6]uint64
		for i := range arguments {
			arguments[i], _ = strconv.ParseUint(strings.TrimPrefix(f[1+i], "0x"), 16, 64)
		}
		switch {
		case err != nil:
		case number == unix.SYS_NANOSLEEP, number == unix.SYS_CLOCK_NANOSLEEP:
			text += asleep
		case watch.TimesOut(number, arguments):
			text += timed
		}
	}
	return text, nil
}

// WithoutTimed prepares two descriptions for a comparison: that of a checkpoint, and that of the
// group so long after its restore. Both lose the lines about threads that waited with a time-out,
// once these may have gone on. Within the first moments nothing is left out: a thread that has
// moved by then has not been put back.
func WithoutTimed(want, now []string, after time.Duration) (_, _ []string) {
	moved := map[string]bool{} // threads, by the beginnings of their lines
	for _, line := range want {
		thread, _, found := strings.Cut(line, inCall)
		mayMove := strings.HasSuffix(line, asleep) || strings.HasSuffix(line, timed) && after > timedMoves
		if found && mayMove {
			moved[thread] = true
		}
	}
	// Both descriptions lose the same threads, so that what is left can be compared.
	strip := func(state []string) []string {
		state = slices.DeleteFunc(slices.Clone(state), func(line string) bool {
			thread, _, found := strings.Cut(line, inCall)
			return found && moved[thread]
		})
		for i := range state {
			state[i] = strings.TrimSuffix(state[i], timed)
		}
		return state
	}
	return strip(want), strip(now)
}
