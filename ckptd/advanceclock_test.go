package ckptd

import (
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
)

// passAll lets time pass until no peer waits for a time, and returns what they wrote meanwhile, and
// how often.
func passAll(t *testing.T, g *Group) (text string, times int) {
	t.Helper()
	for {
		passed, err := g.Pass(testContext(t), Wait{Once: true})
		if err != nil {
			t.Fatal(err)
		}
		if passed.Time == 0 {
			return text, times
		}
		text += strings.Join(g.Written(), "")
		times++
	}
}

// TestWaitsOnAVirtualClock: each kind of wait ends when it is let, and by its own clock in time.
func TestWaitsOnAVirtualClock(t *testing.T) {
	program := filepath.Join(t.TempDir(), "timers")
	if out, err := exec.Command("cc", "-D_GNU_SOURCE", "-O1", "-Wall", "-o", program, "testdata/timers.c",
		"-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const want = `poll 0: 100.0 s
ppoll 0: 101.0 s
select 0: 102.0 s
pselect 0: 103.0 s
epoll 0: 104.0 s
condition 0: 105.0 s
thread 0: 106.0 s
alarm 0: 107.0 s
interval 0: 108.0 s
timerfd 0: 109.0 s
pause 0: 110.0 s
sigsuspend 0: 111.0 s
sigwait 0: 112.0 s
sigtimedwait 0: 113.0 s
signalfd 0: 114.0 s
late 0: 115.0 s
jump 0: 118.0 s
sleep: long
`
	bothBackends(t, func(t *testing.T, c *Client) {
		g := start(t, c, peers.Group{
			Peers: []peers.Peer{{Name: "timers", Command: []string{"{scratch}/timers"}, VirtualClock: true}},
			Files: []peers.File{{Path: "timers", Content: testkit.ReadFile(t, program), Mode: 0o755}},
		})
		image := savedGroup(t, g)
		for range 2 {
			got, times := passAll(t, g)
			// late waits three times; interval, sigwait and jump wait twice
			if got != want || times != 23 {
				t.Errorf("after %d times:\n%s\nwant\n%s", times, got, want)
			}
			if err := g.Restore(testContext(t), image); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestMerecatClosesWhenAsked: it closes a connection that was idle for a second, by a clock that
// only the test moves; before and after it has gone back.
func TestMerecatClosesWhenAsked(t *testing.T) { bothBackends(t, merecatClosesWhenAsked) }

func merecatClosesWhenAsked(t *testing.T, c *Client) {
	group := merecat()
	group.Peers[0].VirtualClock = true
	g := start(t, c, group)
	talk := connectTo(t, g, merecatAddress)
	talk.listen()
	talk.ask(get("/a.txt"))
	image := savedGroup(t, g)
	for round := range 2 {
		if call := systemCall(t, g); !strings.HasPrefix(call, "271 ") || strings.Fields(call)[3] != "0x0" {
			t.Errorf("merecat waits in the system call %s, want ppoll (271) without a time-out", call)
		}
		idle := time.Duration(0)
		for ; !talk.ended && idle < time.Hour; talk.listen() {
			passed, err := g.Pass(testContext(t), Wait{Once: true, Drain: talk.drain(&strings.Builder{})})
			if err != nil || passed.Time == 0 {
				t.Fatal(passed, err)
			}
			idle += passed.Time
		}
		if !talk.ended || idle < time.Second || idle > 2*time.Second {
			t.Errorf("round %d: after %v the connection has ended: %t", round, idle, talk.ended)
		}
		if err := g.Restore(testContext(t), image); err != nil {
			t.Fatal(err)
		}
		talk.obtain()
		got := talk.ask(get("/b.txt"))
		if !strings.HasSuffix(got, "\r\n\r\nbeta\n") ||
			!strings.Contains(got, "Date: Thu, 01 Jan 2026 00:00:00 GMT") {
			t.Errorf("round %d: merecat, which has gone back, answers %q", round, got)
		}
		if err := g.Restore(testContext(t), image); err != nil {
			t.Fatal(err)
		}
		talk.obtain()
	}
}

// systemCall is that in which the only peer of a group waits, with its arguments.
func systemCall(t *testing.T, g *Group) string {
	t.Helper()
	return string(testkit.ReadFile(t, fmt.Sprintf("/proc/%d/syscall", hostPID(t, g, g.processes[0].PID))))
}

// TestTimerAfterAnother: a timer of a peer has ended, and the next one is too late to be waited
// for. Then nobody waits for the program's timer either, which may be due in an hour.
func TestTimerAfterAnother(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory})
	const script = "import time\nwhile True: time.sleep(0.2)"
	g := start(t, c, peers.Group{Peers: []peers.Peer{{Name: "sleeper",
		Command: []string{"python3", "-c", script}}}})
	how := Wait{Most: time.Hour, Patience: 300 * time.Millisecond,
		Shows: func() (bool, error) { return false, nil }}
	if passed, err := g.Pass(testContext(t), how); err != nil || passed.Time != time.Hour {
		t.Errorf("%+v, %v, want an hour", passed, err)
	}
}

// TestTimerThatEndsBeforeALook: the timer of a restored group ends, by the machine's clock, before
// anybody looks at the group. Time has passed as far as that timer, and not as far as the
// program's.
func TestTimerThatEndsBeforeALook(t *testing.T) { bothBackends(t, timerThatEndsBeforeALook) }

func timerThatEndsBeforeALook(t *testing.T, c *Client) {
	const delay = 3 * time.Second
	const script = `import socket, time
s = socket.create_server(("127.0.0.1", 7000))
c, _ = s.accept()
c.recv(1)
time.sleep(3)
c.send(b"late")
time.sleep(1000)`
	server := peers.Peer{Name: "server", Command: []string{"python3", "-c", script}, Listen: "127.0.0.1:7000"}
	g := start(t, c, peers.Group{Peers: []peers.Peer{server}})
	talk := connectTo(t, g, netip.MustParseAddrPort(server.Listen))
	if got := talk.ask("x"); got != "" {
		t.Fatalf("it has answered %q at once", got)
	}
	if err := g.Restore(testContext(t), savedGroup(t, g)); err != nil {
		t.Fatal(err)
	}
	talk.obtain()
	if n, err := sys.Poll([]unix.PollFd{{Fd: int32(talk.fd), Events: unix.POLLIN}}, 60_000); n != 1 {
		t.Fatal(n, err)
	}
	var text strings.Builder
	passed, err := g.Pass(testContext(t), Wait{
		Most: time.Hour, Patience: watch.DefaultPatience, Drain: talk.drain(&text),
		Shows: func() (bool, error) { return text.Len() > 0, nil },
	})
	off := (passed.Time - delay).Abs()
	if err != nil || text.String() != "late" || off > time.Second {
		t.Errorf("%+v, %v, and the answer is %q: want some %v, and late", passed, err, text.String(), delay)
	}
}
