package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
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
		if err := mayJoinClock(pid, procfs.Status(text)); err != nil {
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

// mayJoinClock says why a process cannot enter another time namespace: it has filters of its own,
// which may end it for a call that it never makes, no right to, or several threads.
func mayJoinClock(pid int, s procfs.Status) error {
	p := &process{pid: pid, common: s}
	if err := p.examineRights(); err != nil {
		return err
	}
	if threads := s.Field("Threads:"); threads != "1" {
		return fmt.Errorf("process %d has %s threads", pid, threads)
	}
	return nil
}

// joinQuietly is joinClock, again where the process has not come back to its system call yet
// since the memory backend let go of it.
func (g *Group) joinQuietly(pid int, clock *os.File) error {
	const attempts, pause = 20, time.Millisecond
	for attempt := 1; ; attempt++ {
		err := g.tracer.Do(func() error { return joinClock(pid, clock) })
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

// joinClock has a process enter a time namespace, which the kernel allows with one thread.
func joinClock(pid int, clock *os.File) error {
	here, leave, err := osthread.Stay()
	if err != nil {
		return err
	}
	defer leave()
	p, err := freeze(pid, here)
	if err == nil && len(p.threads) > 1 {
		err = fmt.Errorf("it has %d threads: use the backend criu from the beginning", len(p.threads))
	}
	if err == nil {
		err = p.threads[0].examine(pid, make([]byte, ptrace.MaxXstate))
	}
	if err == nil {
		err = p.enterTime(clock)
	}
	if e := p.thaw(); err == nil {
		err = e
	}
	return err
}

func (p *process) enterTime(clock *os.File) (err error) {
	if err := p.inject(0); err != nil {
		return err
	}
	b := tracer.NewProgram(p.injected).Batch()
	pair := b.Put(make([]byte, 8))
	b.Add("make a socket pair", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0,
		pair)
	if err := b.Run(p.pid, p.pid); err != nil {
		return err
	}
	number := func(at uint64) uint64 { return uint64(binary.NativeEndian.Uint32(b.Program.Read(at, 4))) }
	ends := [2]uint64{number(pair), number(pair + 4)}
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	ours, err := unix.PidfdGetfd(pidfd, int(ends[1]), 0)
	if err != nil {
		return err
	}
	defer unix.Close(ours)
	if err := seqpacket.Send(ours, []byte{0}, []int{int(clock.Fd())}); err != nil {
		return err
	}
	b = tracer.NewProgram(p.injected).Batch()
	control := b.Receive(ends[0], 1)
	if err := b.Run(p.pid, p.pid); err != nil {
		return err
	}
	received := number(control + unix.SizeofCmsghdr)
	b = tracer.NewProgram(p.injected).Batch()
	b.Add("enter the time namespace of the group", unix.SYS_SETNS, received, unix.CLONE_NEWTIME)
	for _, fd := range []uint64{received, ends[0], ends[1]} {
		b.Add("close a descriptor", unix.SYS_CLOSE, fd)
	}
	return b.Run(p.pid, p.pid)
}

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
