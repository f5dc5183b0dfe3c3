//go:build amd64

package ckptd

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
)

// TestKilledBeforeItStops: who waits for a process to come to its first stop does not wait for ever if it is killed before,
// whoever has seen its end, and though others are traced.
func TestKilledBeforeItStops(t *testing.T) {
	for _, seen := range []bool{false, true} {
		err := peers.OnThread(func() error { return awaitOneAlive(seen) })
		if err != nil {
			t.Errorf("its end was seen by somebody else: %v: %v", seen, err)
		}
	}
}

// awaitOneAlive waits for two processes, of which one is killed, and then for the other one.
func awaitOneAlive(seen bool) error {
	killed, other := exec.Command("sleep", "100"), exec.Command("sleep", "100")
	for _, cmd := range []*exec.Cmd{killed, other} {
		if err := cmd.Start(); err != nil {
			return err
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
	}
	pid := other.Process.Pid
	if _, err := ptrace(unix.PTRACE_SEIZE, pid, 0, unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	if err := killed.Process.Kill(); err != nil {
		return err
	}
	if seen {
		if _, err := killed.Process.Wait(); err != nil {
			return err
		}
	}
	born, err := awaitBorn(nil, 1, func() bool { return !isAlive(killed.Process.Pid) })
	if err == nil {
		return fmt.Errorf("%d has come to stop, and was killed", born)
	}
	if _, err := ptrace(unix.PTRACE_INTERRUPT, pid, 0, 0); err != nil {
		return err
	}
	born, err = awaitBorn(nil, 1, func() bool { return !isAlive(pid) })
	if err == nil && !slices.Equal(born, []int{pid}) {
		err = fmt.Errorf("%d has come to stop, not %d", born, pid)
	}
	return err
}
