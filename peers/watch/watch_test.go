package watch

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// TestPeersThatAreGone: a peer that the kernel has reaped is the end of the group, before its
// proxy counts as dead. A client may be gone.
func TestPeersThatAreGone(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer peers.Peer
		want error
	}{{peers.Peer{Name: "server"}, proxy.ErrDied}, {peers.Peer{Name: "client", After: "listen 80"}, nil}} {
		m := &members{
			proxy: os.Getpid(),
			peers: []peers.Process{{Peer: c.peer}},
			hosts: []int{gone.Process.Pid},
		}
		if err := m.walk(func(thread) error { return nil }); !errors.Is(err, c.want) {
			t.Errorf("%s is gone: %v, want %v", c.peer.Name, err, c.want)
		}
	}
}

// TestListThatBreaksOff: of a process whose list of threads is not complete nothing is known,
// although those on the list sleep.
func TestListThatBreaksOff(t *testing.T) {
	pid := startCrowd(t).Process.Pid
	c := &cutter{group: &members{}}
	var tids []int
	testkit.Await(t, "that all sleep", func() (all bool) {
		var err error
		if tids, err = c.group.proc.Threads(pid); err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			if _, err = c.look(&thread{tid: tid, pid: pid, listed: len(tids)}); err != nil {
				return false
			}
		}
		return true
	})
	for _, tid := range tids {
		if _, err := c.look(&thread{tid: tid, pid: pid, listed: len(tids) - 1}); err != errAwake {
			t.Errorf("where one is not on the list: %v", err)
		}
	}
}

// TestProcessThatIsEnding looks at processes of many threads while they end. The kernel's list of
// their threads may break off at any that ends, so that the first one, which stays, seems to be
// alone; what the others do in their end, they may do later. (Of those that believe the list,
// four in five pass here.)
func TestProcessThatIsEnding(t *testing.T) {
	const rounds = 60
	for range rounds {
		crowd := startCrowd(t)
		pid := crowd.Process.Pid
		client := peers.Process{Peer: peers.Peer{Name: "client", After: "listen 80"}}
		w := newWatch(&members{
			proxy: os.Getpid(), peers: []peers.Process{client},
			hosts: []int{pid}, hostPeers: map[int]int{pid: 0},
		}, nil)
		if err := crowd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		asleep := false
		for state := byte('S'); !asleep || state == 'S'; { // it sleeps until the signal has come to it
			var err error
			if asleep, err = w.cuts.pass(0); err != nil {
				t.Fatal(err)
			}
			s, err := w.group.proc.Stat(pid)
			if err != nil {
				t.Fatal(err)
			}
			state = s.State
		}
		if ended, err := w.Ended(); err != nil || len(ended) != 1 ||
			ended[0].Status.Signal() != unix.SIGKILL {
			t.Fatalf("it rests, and has not ended: %v, %v", ended, err)
		}
	}
}

// startCrowd starts a process of many threads, and kills it at the end of the test.
func startCrowd(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=crowd")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// BenchmarkLook is a look at all threads of a process that has 30 which sleep.
func BenchmarkLook(b *testing.B) {
	pid := startCrowd(b).Process.Pid
	w := newWatch(&members{
		proxy: os.Getpid(), hosts: []int{pid}, hostPeers: map[int]int{pid: 0},
		peers: []peers.Process{{Peer: peers.Peer{Name: "crowd"}}},
	}, nil)
	w.group.proc.KeepOpen()
	defer w.group.proc.Close()
	testkit.Await(b, "that all sleep", func() bool {
		asleep, err := w.cuts.pass(1)
		return asleep && err == nil
	})
	for b.Loop() {
		if asleep, err := w.cuts.pass(1); err != nil || !asleep {
			b.Fatal(asleep, err)
		}
	}
}
