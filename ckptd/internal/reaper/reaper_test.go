package reaper

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

func TestReaper(t *testing.T) {
	r := &Reaper{Children: map[int]*Child{}}
	fork := func() (int, error) {
		p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "exit 7"}, &os.ProcAttr{})
		if err != nil {
			return 0, err
		}
		pid := p.Pid // Release forgets it
		return pid, p.Release()
	}
	network, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	c, err := r.Start(network, fork)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the child has ended", func() bool { r.reap(); return c.Ended() })
	if c.Status.ExitStatus() != 7 || len(r.Children) != 0 {
		t.Errorf("status %v, %d children are left", c.Status, len(r.Children))
	}
	c.Kill() // does nothing to whoever has the pid now
	if late := r.Adopt(c.PID); !late.Ended() {
		t.Error("a child that was reaped is waited for")
	}
	pid, err := fork()
	if err != nil {
		t.Fatal(err)
	}
	adopted := r.Adopt(pid)
	testkit.Await(t, "the adopted child has ended", func() bool { r.reap(); return adopted.Ended() })
	if adopted.Status.ExitStatus() != 7 {
		t.Errorf("status %v", adopted.Status)
	}
	if _, err := r.Start(network, func() (int, error) { return 0, unix.EAGAIN }); err != unix.EAGAIN {
		t.Errorf("%v", err)
	}
}
