package process

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// MayEnterClock says why a process cannot enter another time namespace: it has filters of its own,
// which may end it for a call that it never makes, no right to, or several threads. It is asked of
// all processes first, so that none has entered it when another one cannot.
func MayEnterClock(pid int, s procfs.Status) error {
	if err := examineRights(pid, s); err != nil {
		return err
	}
	if threads := s.Field("Threads:"); threads != "1" {
		return fmt.Errorf("process %d has %s threads", pid, threads)
	}
	return nil
}

// EnterClock has a process enter a time namespace, which the kernel allows with one thread. It is
// for a group that CRIU is to save: CRIU wants all of it to be in one such namespace.
func EnterClock(pid int, clock *os.File) error {
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
		err = enterClock(p, clock)
	}
	if e := p.Thaw(); err == nil {
		err = e
	}
	return err
}

// enterClock sends a stopped process the time namespace, through a pair that it makes for that, and
// has it enter the namespace and close all three descriptors.
func enterClock(p *Frozen, clock *os.File) (err error) {
	if err := p.Inject(0); err != nil {
		return err
	}
	b := p.tracee().program().Batch()
	pair := b.Put(make([]byte, 8))
	b.Add("make a socket pair", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0,
		pair)
	if err := b.Run(p.PID, p.PID); err != nil {
		return err
	}
	number := func(at uint64) uint64 { return uint64(binary.NativeEndian.Uint32(b.Program.Read(at, 4))) }
	ends := [2]uint64{number(pair), number(pair + 4)}
	ours, err := sys.DuplicateOf(p.PID, int(ends[1]))
	if err != nil {
		return err
	}
	defer unix.Close(ours)
	if err := seqpacket.Send(ours, []byte{0}, []int{int(clock.Fd())}); err != nil {
		return err
	}
	b = p.tracee().program().Batch()
	control := b.Receive(ends[0], 1)
	if err := b.Run(p.PID, p.PID); err != nil {
		return err
	}
	received := number(control + unix.SizeofCmsghdr)
	b = p.tracee().program().Batch()
	b.Add("enter the time namespace of the group", unix.SYS_SETNS, received, unix.CLONE_NEWTIME)
	for _, fd := range []uint64{received, ends[0], ends[1]} {
		b.Add("close a descriptor", unix.SYS_CLOSE, fd)
	}
	return b.Run(p.PID, p.PID)
}
