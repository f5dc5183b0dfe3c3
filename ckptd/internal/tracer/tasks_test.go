package tracer

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// TestKilledBeforeItStops: who waits for a process to come to its first stop does not wait for ever
// if it is killed before, though others are traced, and whether its end is seen in this wait or was
// in the one before.
func TestKilledBeforeItStops(t *testing.T) {
	for _, before := range []bool{false, true} {
		err := osthread.Run(func() error { return awaitOneAlive(before) })
		if err != nil {
			t.Errorf("its end was seen before: %v: %v", before, err)
		}
	}
}

// TestKilledDuringCalls: a wait for threads that carry out calls ends with ErrKilled if one of them
// was killed, which says nothing of what can be copied. It does not if one ends in another way.
func TestKilledDuringCalls(t *testing.T) {
	for signal, want := range map[unix.Signal]bool{unix.SIGKILL: true, unix.SIGSYS: false} {
		err := osthread.Run(func() error {
			cmd := exec.Command("sleep", "100")
			if err := cmd.Start(); err != nil {
				return err
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			pid := cmd.Process.Pid
			if _, err := ptrace.Request(unix.PTRACE_SEIZE, pid, 0, unix.PTRACE_O_EXITKILL); err != nil {
				return err
			}
			if err := unix.Kill(pid, signal); err != nil {
				return err
			}
			_, err := AwaitTraps(pid)
			return err
		})
		if err == nil || errors.Is(err, ErrKilled) != want {
			t.Errorf("after signal %v: %v", signal, err)
		}
	}
}

// awaitOneAlive waits for two processes, of which one is killed, and then for the other one.
func awaitOneAlive(before bool) error {
	killed, other := exec.Command("sleep", "100"), exec.Command("sleep", "100")
	for _, cmd := range []*exec.Cmd{killed, other} {
		if err := cmd.Start(); err != nil {
			return err
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		if _, err := ptrace.Request(unix.PTRACE_SEIZE, cmd.Process.Pid, 0,
			unix.PTRACE_O_EXITKILL); err != nil {
			return err
		}
	}
	if err := killed.Process.Kill(); err != nil {
		return err
	}
	var arrived NewTasks
	if before {
		tid, status, err := ptrace.AwaitAny()
		if err != nil {
			return err
		}
		arrived.Note(tid, status)
	}
	born, err := arrived.Await(1, func() bool { return !procfs.IsAlive(killed.Process.Pid) })
	if err == nil {
		return fmt.Errorf("%d has come to stop, and was killed", born)
	}
	pid := other.Process.Pid
	if _, err := ptrace.Request(unix.PTRACE_INTERRUPT, pid, 0, 0); err != nil {
		return err
	}
	born, err = NewTasks{}.Await(1, func() bool { return !procfs.IsAlive(pid) })
	if err == nil && !slices.Equal(born, []int{pid}) {
		err = fmt.Errorf("%d has come to stop, not %d", born, pid)
	}
	return err
}
