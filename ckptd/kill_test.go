package ckptd

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// A victim is killed some time after an operation has begun.
var delays = []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 6 * time.Millisecond,
	10 * time.Millisecond, 15 * time.Millisecond}

// chosenDelays are all of them in make deep, else every other one.
func chosenDelays() []time.Duration {
	if *deep {
		return delays
	}
	return []time.Duration{delays[0], delays[2], delays[4]}
}

// operations returns what a client can do to a running group that has an image.
func operations(t testing.TB, c *Client, g *Group, image string) map[string]func() error {
	ctx := testContext(t)
	return map[string]func() error{
		"start": func() error {
			other, err := c.Start(ctx, merecat())
			if err == nil {
				err = other.Close()
			}
			return err
		},
		"checkpoint": func() error { _, err := g.Checkpoint(ctx); return err },
		"restore":    func() error { return g.Restore(ctx, image) },
		"quiesce":    func() error { return g.Quiesce(ctx, nil) },
		"command":    func() error { return g.Proxy().Close(ctx, 99) },
	}
}

func TestDaemonIsKilled(t *testing.T) {
	for _, name := range []string{"start", "checkpoint", "restore", "quiesce", "command"} {
		t.Run(name, func(t *testing.T) { daemonIsKilled(t, name, BackendCRIU) })
	}
	for _, name := range []string{"checkpoint", "restore"} {
		t.Run(name+" in memory", func(t *testing.T) { daemonIsKilled(t, name, BackendMemory) })
	}
}

func daemonIsKilled(t *testing.T, name, backend string) {
	for _, delay := range chosenDelays() {
		l := watchLeftovers(t)
		c := spawn(t, Options{Backend: backend})
		g := start(t, c, merecat())
		image, err := g.Checkpoint(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		operation := operations(t, c, g, image.ID)[name]
		done := make(chan error)
		go func() { done <- operation() }()
		time.Sleep(delay) // to kill at another moment, not to wait for anything
		l.note(t)
		kill(t, c.process.Process.Pid)
		if err := <-done; err != nil && name != "command" && !namesDaemon(err) {
			t.Errorf("killed after %v: %v", delay, err)
		}
		testkit.Await(t, "the daemon's death is noticed", func() bool { return c.Err() != nil })
		for again, operation := range operations(t, c, g, image.ID) {
			if err := operation(); !namesDaemon(err) {
				t.Errorf("killed after %v, then %s: %v", delay, again, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		l.check(t)
	}
}

func namesDaemon(err error) bool {
	return errors.Is(err, ErrDaemonDied) && strings.Contains(err.Error(), "tandem-ckptd") &&
		strings.Contains(err.Error(), "signal: killed")
}

// TestCRIUIsKilled kills it at several moments of dumps and restores. The group is lost
// then, the daemon and the images are not.
func TestCRIUIsKilled(t *testing.T) {
	l := watchLeftovers(t)
	c := spawn(t, Options{})
	g := start(t, c, merecat())
	ctx := testContext(t)
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"checkpoint", "restore"} {
		// It may end before it is killed, and then it is tried again.
		for killed, attempt := 0, 0; killed < 4; attempt++ {
			if attempt == 50 {
				t.Fatalf("in %d attempts CRIU was killed in time %d times during a %s", attempt, killed, name)
			}
			err := killCRIUDuring(t, delays[killed], operations(t, c, g, image.ID)[name])
			if err == nil {
				continue
			}
			killed++
			if !errors.Is(err, ErrGroupDown) || !strings.Contains(err.Error(),
				"CRIU was killed by signal 9") {
				t.Errorf("%s: %v", name, err)
			}
			if err := g.Quiesce(ctx, nil); !errors.Is(err, proxy.ErrDied) {
				t.Errorf("CRIU was killed during a %s, then: %v", name, err)
			}
			if err := g.Restore(ctx, image.ID); err != nil {
				t.Fatalf("CRIU was killed during a %s, then: %v", name, err)
			}
			if left := len(l.note(t)); left != 3 {
				t.Errorf("CRIU was killed during a %s: %d processes run, not daemon, proxy and merecat", name,
					left)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	l.check(t)
}

// killCRIUDuring kills CRIU some time after it has begun with the operation.
func killCRIUDuring(t *testing.T, delay time.Duration, operation func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- operation() }()
	var pids []int
	testkit.Await(t, "CRIU runs", func() bool {
		pids = find("criu") // it says "criu: dump ..." of itself later
		return len(pids) > 0 || len(done) > 0
	})
	time.Sleep(delay) // to kill at another moment, not to wait for anything
	for _, pid := range pids {
		if strings.Contains(commandLine(pid), "criu") { // it may just have ended
			unix.Kill(pid, unix.SIGKILL)
		}
	}
	return <-done
}

func TestProxyIsKilled(t *testing.T) {
	l := watchLeftovers(t)
	c := spawn(t, Options{})
	g := start(t, c, merecat())
	ctx := testContext(t)
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name := range operations(t, c, g, image.ID) {
		if name == "start" {
			continue // starts another group
		}
		pid := g.PID()
		kill(t, pid)
		testkit.Await(t, "the proxy is dead", func() bool { return stateOf(pid) == "" })
		err := operations(t, c, g, image.ID)[name]()
		if name == "restore" {
			if err != nil {
				t.Errorf("restore of a group whose proxy died: %v", err)
			}
		} else if !errors.Is(err, proxy.ErrDied) && !errors.Is(err, ErrGroupDown) {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(err.Error(), "proxy") ||
			!strings.Contains(err.Error(), "killed by signal 9") {
			t.Errorf("%s: the error does not say that the proxy was killed: %v", name, err)
		}
		if err := g.Restore(ctx, image.ID); err != nil {
			t.Fatal(err)
		}
	}
	l.note(t)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	l.check(t)
}

func TestProxyIsKilledDuringAnOperation(t *testing.T) {
	l := watchLeftovers(t)
	c := spawn(t, Options{})
	g := start(t, c, merecat())
	ctx := testContext(t)
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, delay := range chosenDelays() {
		done := make(chan error, 1)
		go func() {
			_, err := g.Checkpoint(ctx)
			done <- err
		}()
		time.Sleep(delay) // to kill at another moment, not to wait for anything
		unix.Kill(g.PID(), unix.SIGKILL)
		if err := <-done; err != nil && !errors.Is(err, ErrGroupDown) && !errors.Is(err, proxy.ErrDied) {
			t.Errorf("killed after %v: %v", delay, err)
		}
		if err := g.Restore(ctx, image.ID); err != nil {
			t.Fatal(err)
		}
		l.note(t)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	l.check(t)
}

func TestPeerIsKilled(t *testing.T) { bothBackends(t, peerIsKilled) }

func peerIsKilled(t *testing.T, c *Client) {
	g := start(t, c, merecat())
	ctx := testContext(t)
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"checkpoint", "quiesce"} {
		pid := hostPID(t, g, g.processes[0].PID)
		kill(t, pid)
		testkit.Await(t, "merecat is dead", func() bool { return stateOf(pid) == "Z" })
		err := operations(t, c, g, image.ID)[name]()
		var died *watch.Died
		if !errors.As(err, &died) || died.Peer != "merecat" || died.Status.Signal() != unix.SIGKILL {
			t.Errorf("%s: %v", name, err)
		}
		if err := g.Restore(ctx, image.ID); err != nil {
			t.Fatal(err)
		}
		if err := g.Quiesce(ctx, nil); err != nil {
			t.Errorf("after the restore: %v", err)
		}
	}
}

// TestSessionIsKilled kills the child that Dropbear has for a connection, which is not
// the death of the peer.
func TestSessionIsKilled(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, dropbear(t))
	listener := find("dropbear -F")
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(testContext(t), 1, dropbearAddress); err != nil {
		t.Fatal(err)
	}
	if greeting := talk.listen(); !strings.HasPrefix(greeting, "SSH-2.0-dropbear") {
		t.Fatalf("the greeting is %q", greeting)
	}
	for _, pid := range find("dropbear -F") {
		if pid != listener[0] {
			kill(t, pid)
		}
	}
	if talk.listen(); !talk.ended {
		t.Error("the connection of the killed session goes on")
	}
	if _, err := g.Checkpoint(testContext(t)); err != nil {
		t.Errorf("checkpoint after a session was killed: %v", err)
	}
}

// TestCheckerIsKilled runs a checker in a process of its own: see TestMain.
func TestCheckerIsKilled(t *testing.T) {
	for _, busy := range []string{"idle", "busy"} {
		t.Run(busy, func(t *testing.T) {
			l := watchLeftovers(t)
			checker, wait := startChecker(t, busy)
			testkit.Await(t, "the checker has its group", func() bool { return len(find("merecat -n")) > 0 })
			tree := l.note(t)
			if len(tree) < 4 {
				t.Fatalf("below the test run only %d processes", len(tree))
			}
			kill(t, checker)
			wait()
			testkit.Await(t, "everything below the checker is gone", func() bool { return !anyAlive(tree) })
			l.check(t)
		})
	}
}

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		if len(namespacesOf(pid)) > 0 {
			return true
		}
	}
	return false
}
