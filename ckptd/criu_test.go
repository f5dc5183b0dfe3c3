package ckptd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

// TestCRIUThatMisbehaves runs groups with scripts in place of CRIU.
func TestCRIUThatMisbehaves(t *testing.T) {
	version := "case $1 in --version) echo Version: 4.2.1; exit;; esac\n"
	for name, test := range map[string]struct{ script, want string }{
		"exits":         {version + "exit 3", "CRIU exited with status 3 during a dump: it wrote no log"},
		"kills itself":  {version + "kill -KILL $$", "CRIU was killed by signal 9 (killed) during a dump"},
		"hangs":         {version + "exec sleep 1000", "CRIU was stopped during a dump: context deadline exceeded"},
		"talks at once": {version + "printf '\\377\\377garbage' >&3; exec sleep 1000", "dump: response of CRIU: proto:"},
		"fails": {version + "echo '(00.1) Error (a.c:1): RLIMIT_NOFILE' >criu.log; echo '(00.2) Error (b.c:2): the real one' >>criu.log;" +
			"echo '(00.3) Error (c.c:3): Dumping FAILED.' >>criu.log; exit 1", "during a dump: (00.2) Error (b.c:2): the real one"},
	} {
		t.Run(name, func(t *testing.T) {
			l := watchLeftovers(t)
			c := spawn(t, Options{CRIU: script(t, test.script)})
			g := start(t, c, merecat())
			ctx, cancel := context.WithTimeout(testContext(t), 5*time.Second)
			defer cancel()
			if name == "hangs" {
				// The daemon's limit comes first: the error is its own.
				_, err := c.call(ctx, request{Operation: operationCheckpoint, Group: g.id, TimeoutMillis: 50}, nil)
				checkMisbehaviour(t, err, test.want)
			} else {
				_, err := g.Checkpoint(ctx)
				checkMisbehaviour(t, err, test.want)
			}
			l.note(t)
			testkit.Await(t, "only the daemon is left", func() bool { return len(l.note(t)) == 1 })
			start(t, c, merecat())
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			l.check(t)
		})
	}
}

func checkMisbehaviour(t *testing.T, err error, want string) {
	t.Helper()
	// Text of package proto has a space at random, against those who rely on it.
	if err == nil || !errors.Is(err, ErrGroupDown) || !strings.Contains(strings.ReplaceAll(err.Error(), "\u00a0", " "), want) {
		t.Errorf("%v\nwant %q", err, want)
	}
}

func TestLogErrors(t *testing.T) {
	o := criuOperation{work: t.TempDir()}
	if got := o.logErrors(); got != "it wrote no log" {
		t.Errorf("%q", got)
	}
	for log, want := range map[string]string{
		"": "its log holds no error",
		"Error (1)\nWarn\nError (2)\nError (3)\nError (4)\nError (5): Restoring FAILED.\n": "Error (2); Error (3); Error (4)",
	} {
		write(t, filepath.Join(o.work, criuLog), log)
		if got := o.logErrors(); got != want {
			t.Errorf("%q: %q, want %q", log, got, want)
		}
	}
}

// TestProtocolOfTheDaemon talks to a daemon as no client does; it survives that.
func TestProtocolOfTheDaemon(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, merecat())
	if err := seqpacket.Send(c.channel, []byte("garbage"), []int{0}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		request request
		want    error
	}{
		"no operation":       {request{Operation: "dance", Group: g.id}, ErrInvalid},
		"no group":           {request{Operation: operationCheckpoint, Group: 99}, ErrGroupDown},
		"start of nothing":   {request{Operation: operationStart}, ErrInvalid},
		"empty second setup": {request{Operation: operationSetup}, ErrInvalid},
		"second setup":       {request{Operation: operationSetup, Setup: &setup{MaxBytes: 1, MaxImages: 1}}, ErrInvalid},
	} {
		if _, err := c.call(testContext(t), test.request, nil); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	escape := merecat()
	escape.Files = append(escape.Files, peers.File{Path: "../x"})
	for name, group := range map[string]peers.Group{"empty group": {}, "escape": escape} {
		pieces, err := encodeSpec(group)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := sys.MemoryFile("tandem group", pieces...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.call(testContext(t), request{Operation: operationStart}, []int{spec}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		unix.Close(spec)
	}
	if err := g.Quiesce(testContext(t), nil); err != nil {
		t.Error(err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var all strings.Builder
	kept := &tail{also: &all}
	for n := range 100 {
		io.WriteString(kept, strings.Repeat(string(rune('a'+n%26)), 1000))
	}
	if got := string(kept.bytes()); len(got) != tailSize || !strings.HasSuffix(all.String(), got) {
		t.Errorf("%d bytes are kept that end in %q", len(got), got[len(got)-3:])
	}
	if all.Len() != 100000 {
		t.Errorf("%d bytes were passed on", all.Len())
	}
}

func TestReaper(t *testing.T) {
	r := &reaper{children: map[int]*child{}}
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
	c, err := r.start(network, fork)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the child has ended", func() bool { r.reap(); return c.ended() })
	if c.status.ExitStatus() != 7 || len(r.children) != 0 {
		t.Errorf("status %v, %d children are left", c.status, len(r.children))
	}
	c.kill() // does nothing to whoever has the pid now
	if late := r.adopt(c.pid); !late.ended() {
		t.Error("a child that was reaped is waited for")
	}
	pid, err := fork()
	if err != nil {
		t.Fatal(err)
	}
	adopted := r.adopt(pid)
	testkit.Await(t, "the adopted child has ended", func() bool { r.reap(); return adopted.ended() })
	if adopted.status.ExitStatus() != 7 {
		t.Errorf("status %v", adopted.status)
	}
	if _, err := r.start(network, func() (int, error) { return 0, unix.EAGAIN }); err != unix.EAGAIN {
		t.Errorf("%v", err)
	}
}

// TestRestoreIsNotWatchedWhileHeldUp: what clears the way for a restore may take longer than a restore may stand still.
func TestRestoreIsNotWatchedWhileHeldUp(t *testing.T) {
	network, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	still := exec.Command("sleep", "1000") // as CRIU is, until it may go on
	if err := netns.InFile(network, still.Start); err != nil {
		t.Fatal(err)
	}
	defer still.Wait()
	defer still.Process.Kill()
	const interval = 2 * time.Millisecond
	for name, proceeds := range map[string]bool{"cleared": true, "not cleared": false} {
		t.Run(name, func(t *testing.T) {
			c := &criu{reaper: &reaper{children: map[int]*child{}}, interval: interval}
			proceed := make(chan struct{})
			parent, giveUp := context.WithCancel(testContext(t))
			defer giveUp()
			ctx, cancel := c.whileRestored(parent, network, proceed)
			defer cancel()
			select {
			case <-ctx.Done():
				t.Fatal("the restore is ended while it is held up")
			case <-time.After(500 * interval):
			}
			if proceeds {
				close(proceed)
			} else {
				giveUp()
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Second):
				t.Error("the restore is not ended although nothing happens in it")
			}
		})
	}
}
