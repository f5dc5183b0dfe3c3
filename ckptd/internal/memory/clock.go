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
// opens that.
func turnedBackBefore(in *incarnation.Incarnation) (pids []int, clock *os.File, err error) {
	if clock, err = timeOf(in.PID); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			clock.Close()
		}
	}()
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

// JoinClocks has all processes of the group's network enter the proxy's time namespace. If one of
// them cannot, none does, and the error is ErrUnsavable: an incarnation that is restored later has
// the proxy's clock from the beginning (see prepare).
func (g *Group) JoinClocks(in *incarnation.Incarnation) error {
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
		if err := process.MayJoinClock(pid, procfs.Status(text)); err != nil {
			return fmt.Errorf(
				"%w: its clock was turned back by a restore in memory, and CRIU needs it to be the group's "+
					"again: %w",
				wire.ErrUnsavable, err)
		}
	}
	for _, pid := range pids {
		if err := g.joinQuietly(pid, clock); err != nil {
			return fmt.Errorf("let CRIU save process %d, whose clock was turned back: %w", pid, err)
		}
	}
	return nil
}

// joinQuietly is joinClock, again where the process has not come back to its system call yet
// since the memory backend let go of it.
func (g *Group) joinQuietly(pid int, clock *os.File) error {
	const attempts, pause = 20, time.Millisecond
	for attempt := 1; ; attempt++ {
		err := g.tracer.Do(func() error { return process.JoinClock(pid, clock) })
		if !errors.Is(err, wire.ErrNotQuiescent) || attempt == attempts {
			return err
		}
		time.Sleep(pause)
	}
}

// turnedBack makes a time namespace in which the monotonic clock shows this time now. It is
// called on the tracer's thread, whose children, which it never has, would be in it.
func turnedBack(clock time.Duration) (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
		return nil, fmt.Errorf("make a time namespace: %w", err)
	}
	now, err := monotonic()
	if err != nil {
		return nil, err
	}
	offset := clock - now
	s := offset / time.Second
	if offset%time.Second < 0 {
		s--
	}
	text := fmt.Sprintf("monotonic %d %d\nboottime %d %d\n", s, offset-s*time.Second, s, offset-s*time.Second)
	thread := fmt.Sprintf("/proc/%d/", unix.Gettid())
	if err := os.WriteFile(thread+"timens_offsets", []byte(text), 0); err != nil {
		return nil, err
	}
	return os.Open(thread + "ns/time_for_children")
}

// timeOf opens the time namespace of a process.
func timeOf(pid int) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/ns/time", pid)) }

// readClock notes the monotonic time, which is to go on from there after a restore.
func (m *Image) readClock(pid int) error {
	text, err := procfs.Read(fmt.Sprintf("/proc/%d/timens_offsets", pid))
	if errors.Is(err, os.ErrNotExist) {
		return incarnation.Refuse("this Linux has no time namespaces")
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var clock string
		var s, ns int64
		if _, err := fmt.Sscan(line, &clock, &s, &ns); err != nil {
			return fmt.Errorf("the time namespace of process %d has %q", pid, line)
		}
		if clock == "monotonic" {
			m.offset = time.Duration(s)*time.Second + time.Duration(ns)
		}
	}
	now, err := monotonic()
	m.clock = now + m.offset
	return err
}

// monotonic is the machine's monotonic time.
func monotonic() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano()), err
}
