package watch

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tandem-mc/tandem/peers/shim"
	"golang.org/x/sys/unix"
)

// Pass lets time pass on the clocks of those peers whose clock is virtual. Those that wait no
// longer than d go on: wait until the group is quiescent. It must be quiescent now. With 0 they
// only note in the page how long they wait, and nothing ends that is overdue: see Page.Next.
func (w *Watch) Pass(d time.Duration) error {
	last := -1
	return w.walk(func(t task) error {
		if t.pid == last || t.peer >= 0 && !w.peers[t.peer].VirtualClock {
			return nil
		}
		last = t.pid
		status, err := w.proc.Read(strconv.Itoa(t.pid), "status")
		if err != nil {
			return orAwake(err)
		}
		if has, err := shim.HasClock(status); err != nil {
			return fmt.Errorf("process %d: %w", t.pid, err)
		} else if !has {
			return nil
		}
		if err := shim.Wake(t.pid, d); err != nil && err != unix.ESRCH {
			return fmt.Errorf("let time pass for process %d of %s: %w", t.pid, w.nameOf(t.peer), err)
		}
		return nil
	})
}
