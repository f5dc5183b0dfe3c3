package memory

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// Restored processes have a time namespace of their own, in which the monotonic clock goes
// on from where it was. CRIU can save a group only if all of it is in the one of its first
// process. When a group falls back to CRIU, its processes enter that, and see time jump
// forward once.

// turnedBackBefore lists the processes of the group that are not in the proxy's time namespace, and
// opens that. Those that were started since the last restore are in the time namespace of their
// parents, so all are looked at.
func turnedBackBefore(in *incarnation.Incarnation) (pids []int, clock *os.File, err error) {
	if clock, err = timeOf(in.PID); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			clock.Close()
		}
	}()
	// Namespaces are told apart by their inodes.
	want, err := sys.Inode(int(clock.Fd()))
	if err != nil {
		return nil, nil, err
	}
	network, err := sys.Inode(int(in.Network.Fd()))
	if err != nil {
		return nil, nil, err
	}
	all, err := netns.Processes(network)
	if err != nil {
		return nil, nil, err
	}
	for _, pid := range all {
		has, err := timeOf(pid)
		if errors.Is(err, os.ErrNotExist) { // it ends
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		number, err := sys.Inode(int(has.Fd()))
		has.Close()
		if err != nil {
			return nil, nil, err
		}
		if number != want {
			pids = append(pids, pid)
		}
	}
	return pids, clock, nil
}

// EnterClocks has all processes of the group's network enter the proxy's time namespace. If one of
// them cannot, none does, and the error is ErrUnsavable: an incarnation that is restored later has
// the proxy's clock from the beginning (see Restore.make). All are asked before the first one is
// touched.
func (g *Group) EnterClocks(in *incarnation.Incarnation) error {
	if g.tracer == nil { // nothing was turned back here
		return nil
	}
	pids, clock, err := turnedBackBefore(in)
	if err != nil {
		return err
	}
	defer clock.Close()
	for _, pid := range pids {
		text, err := procfs.Read(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return err
		}
		if err := process.MayEnterClock(pid, procfs.Status(text)); err != nil {
			return fmt.Errorf(
				"%w: its clock was turned back by a restore in memory, and CRIU needs it to be the group's "+
					"again: %w",
				wire.ErrUnsavable, err)
		}
	}
	for _, pid := range pids {
		if err := g.enterQuietly(pid, clock); err != nil {
			return fmt.Errorf("let CRIU save process %d, whose clock was turned back: %w", pid, err)
		}
	}
	return nil
}

// enterQuietly is process.EnterClock, again where the process has not come back to its system call
// yet since the memory backend let go of it. A process that was let go a moment ago may still be on
// its way.
func (g *Group) enterQuietly(pid int, clock *os.File) error {
	const attempts, pause = 20, time.Millisecond
	for attempt := 1; ; attempt++ {
		err := g.tracer.Do(func() error { return process.EnterClock(pid, clock) })
		if !errors.Is(err, wire.ErrNotQuiescent) || attempt == attempts {
			return err
		}
		time.Sleep(pause)
	}
}

// turnedBack makes a time namespace in which the monotonic clock shows this time now. It is called
// on the tracer's thread, whose children, which it never has, would be in it. The first process
// that enters it fixes its offset.
func turnedBack(clock time.Duration) (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
		return nil, fmt.Errorf("make a time namespace: %w", err)
	}
	now, err := monotonic()
	if err != nil {
		return nil, err
	}
	thread := fmt.Sprintf("/proc/%d/", unix.Gettid())
	if err := os.WriteFile(thread+"timens_offsets", []byte(formatOffsets(clock-now)), 0); err != nil {
		return nil, err
	}
	return os.Open(thread + "ns/time_for_children")
}

// timeOf opens the time namespace of a process. It is there as long as the descriptor is open.
func timeOf(pid int) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/ns/time", pid)) }

// clockOf is the monotonic time as a process sees it. Time goes on from there after a restore. That
// is the machine's, moved by the offset of the time namespace.
func clockOf(pid int) (time.Duration, error) {
	text, err := procfs.Read(fmt.Sprintf("/proc/%d/timens_offsets", pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, incarnation.Refuse("this Linux has no time namespaces")
	}
	if err != nil {
		return 0, err
	}
	offset, err := parseOffset(string(text))
	if err != nil {
		return 0, fmt.Errorf("the time namespace of process %d %w", pid, err)
	}
	now, err := monotonic()
	return now + offset, err
}

// parseOffset reads from /proc/PID/timens_offsets how far the monotonic clock of a process is
// before the machine's: a line for each clock, with seconds, which may be negative, and
// nanoseconds.
func parseOffset(text string) (offset time.Duration, err error) {
	for line := range strings.Lines(text) {
		var clock string
		var s, ns int64
		if _, err := fmt.Sscan(line, &clock, &s, &ns); err != nil {
			return 0, fmt.Errorf("has %q", line)
		}
		if clock == "monotonic" {
			offset = time.Duration(s)*time.Second + time.Duration(ns)
		}
	}
	return offset, nil
}

// formatOffsets is what parseOffset reads, for both clocks that a namespace has. The kernel wants
// nanoseconds that are not negative, so seconds are rounded down.
func formatOffsets(offset time.Duration) string {
	s := offset / time.Second
	if offset%time.Second < 0 {
		s--
	}
	ns := offset - s*time.Second
	return fmt.Sprintf("monotonic %d %d\nboottime %d %d\n", s, ns, s, ns)
}

// monotonic is the machine's monotonic time. It goes on also while the group does not run.
func monotonic() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano()), err
}
