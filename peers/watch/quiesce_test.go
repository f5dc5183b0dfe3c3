package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// TestNothingComesAfterQuiescence: each byte has exactly one answer, which takes two
// processes and some time; when the group is quiescent the answer must be there.
func TestNothingComesAfterQuiescence(t *testing.T) { bothMethods(t, nothingComesAfterQuiescence) }

func nothingComesAfterQuiescence(t *testing.T, run runner) {
	w, c := run(t, "answer")
	fd := connect(t, w, c)
	var got strings.Builder
	drain := drainer(fd, &got)
	for n := range 60 {
		got.Reset()
		b := byte(n * 7)
		send(t, fd, b)
		if err := w.Quiesce(testContext(t), drain); err != nil {
			t.Fatal(err)
		}
		if got.String() != itoa(b)+";" {
			t.Fatalf("round %d: when the group was quiescent the answer was %q", n, got.String())
		}
	}
}

// TestPeerThatSleepsIsNotQuiescent: it does not wait for input, it goes on by itself.
func TestPeerThatSleepsIsNotQuiescent(t *testing.T) { bothMethods(t, peerThatSleepsIsNotQuiescent) }

func peerThatSleepsIsNotQuiescent(t *testing.T, run runner) {
	for _, role := range []string{
		"sleeper", "sleeper by poll", "sleeper by ppoll", "sleeper by select",
		"sleeper by select of no set", "sleeper by pselect",
	} {
		t.Run(role, func(t *testing.T) {
			w, c := run(t, role)
			fd := connect(t, w, c)
			for range 3 {
				var got strings.Builder
				send(t, fd, 'x')
				if err := w.Quiesce(testContext(t), drainer(fd, &got)); err != nil {
					t.Fatal(err)
				}
				if got.String() != "done" {
					t.Errorf("when the group was quiescent the answer was %q", got.String())
				}
			}
		})
	}
}

// TestChildOfAPeerMayEnd: only the end of the peer's own process is its death.
func TestChildOfAPeerMayEnd(t *testing.T) { bothMethods(t, childOfAPeerMayEnd) }

func childOfAPeerMayEnd(t *testing.T, run runner) {
	w, c := run(t, "parent")
	fd := connect(t, w, c)
	for range 3 {
		var got strings.Builder
		send(t, fd, 'x')
		if err := w.Quiesce(testContext(t), drainer(fd, &got)); err != nil {
			t.Fatal(err)
		}
		if got.String() != "done" {
			t.Errorf("when the group was quiescent the answer was %q", got.String())
		}
	}
}

// TestThreadThatIsEnding: while a thread ends, it looks like one that has ended long ago; the
// process may be about to end with it.
func TestThreadThatIsEnding(t *testing.T) { bothMethods(t, threadThatIsEnding) }

func threadThatIsEnding(t *testing.T, run runner) {
	w, c := run(t, "thread")
	fd := connect(t, w, c)
	tid := 0
	testkit.Await(t, "a thread", func() bool {
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", w.group.hosts[0]))
		for _, file := range all {
			if name, _ := os.ReadFile(file); string(name) == endingThread+"\n" {
				tid, _ = strconv.Atoi(filepath.Base(filepath.Dir(file)))
			}
		}
		return tid != 0
	})
	// This thread traces the other one: until it has waited for that, the end is not over.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := ptrace.Request(unix.PTRACE_SEIZE, tid, 0, 0); err != nil {
		t.Fatal(err)
	}
	send(t, fd, 'x')
	testkit.Await(t, "its end", func() bool {
		s, err := w.group.proc.Stat(tid)
		return err == nil && s.State == 'Z'
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.Quiesce(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it ends, the group is quiescent: %v", err)
	}
	if _, err := unix.Wait4(tid, nil, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Quiesce(testContext(t), nil); err != nil {
		t.Error(err)
	}
}

func TestResetArrives(t *testing.T) { bothMethods(t, resetArrives) }

func resetArrives(t *testing.T, run runner) {
	w, c := run(t, "resetter")
	fd := connect(t, w, c)
	send(t, fd, 'x')
	if err := w.Quiesce(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Read(fd, make([]byte, 1)); err != unix.ECONNRESET {
		t.Errorf("when the group was quiescent: %d, %v", n, err)
	}
}

// TestGroupThatDoesNotBecomeQuiescent: the error says which peer is doing what.
func TestGroupThatDoesNotBecomeQuiescent(t *testing.T) {
	bothMethods(t, groupThatDoesNotBecomeQuiescent)
}

func groupThatDoesNotBecomeQuiescent(t *testing.T, run runner) {
	for role, test := range map[string]struct {
		drain bool
		want  string
	}{
		"spinner": {true, `peer spinner: thread \d+ \(watch.test\) is in state R, wchan 0; ` +
			`in the last \d+ms it ran \d+ times, for \d.*s \(user \d+m?s, system \d+m?s\)`},
		"ticker": {true, `peer ticker: thread \d+ \(watch.test\) is in state ., wchan [\w.]+` +
			`(, in ppoll with a time-out of 7µs)?; in the last \d+ms it ran \d+ times`},
		"timer":  {true, `its process has a timerfd with an interval of 250ms`},
		"answer": {false, `4 bytes from 127.0.0.1:2000 to 127.0.0.1:61001 are not read`},
	} {
		t.Run(role, func(t *testing.T) {
			w, c := run(t, role)
			fd := connect(t, w, c)
			send(t, fd, 200)
			if !test.drain { // let the answer come
				if n, err := sys.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10000); n != 1 {
					t.Fatal(n, err)
				}
			}
			ctx, cancel := context.WithTimeout(testContext(t), 100*time.Millisecond)
			defer cancel()
			drain := drainer(fd, &strings.Builder{})
			if !test.drain {
				drain = nil
			}
			err := w.Quiesce(ctx, drain)
			if !errors.Is(err, context.DeadlineExceeded) ||
				!regexp.MustCompile(test.want).MatchString(err.Error()) {
				t.Errorf("%v\nwant /%s/", err, test.want)
			}
		})
	}
}

func TestDeathOfAPeerIsNamed(t *testing.T) { bothMethods(t, deathOfAPeerIsNamed) }

func deathOfAPeerIsNamed(t *testing.T, run runner) {
	for name, test := range map[string]struct {
		byte byte
		want string
	}{
		"exits":  {7, `exited with status 7`},
		"killed": {'k', `was killed by signal 9 \(killed\)`},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := run(t, "mortal")
			fd := connect(t, w, c)
			if err := w.Check(); err != nil {
				t.Fatal(err)
			}
			send(t, fd, test.byte)
			err := w.Quiesce(testContext(t), nil)
			var died *Died
			if !errors.As(err, &died) ||
				!regexp.MustCompile(`^peer mortal \(pid \d+ of its group\) `+test.want).
					MatchString(err.Error()) {
				t.Errorf("%v", err)
			}
			if again := w.Check(); again == nil || again.Error() != err.Error() {
				t.Errorf("%v, then %v", err, again)
			}
		})
	}
}

func TestPeerDiesBeforeItIsReady(t *testing.T) {
	w, _ := run(t, "dead")
	err := w.Ready(testContext(t))
	var died *Died
	if !errors.As(err, &died) || died.Peer != "dead" || died.Status.ExitStatus() != 3 {
		t.Errorf("%v", err)
	}
}

func TestPeerIsNotReady(t *testing.T) {
	w, _ := run(t, "deaf")
	if err := w.Ready(testContext(t)); err != nil {
		t.Fatal(err)
	}
	w.group.peers[0].Listen = "127.0.0.1:1"
	ctx, cancel := context.WithTimeout(testContext(t), 20*time.Millisecond)
	defer cancel()
	err := w.Ready(ctx)
	if !errors.Is(err, context.DeadlineExceeded) ||
		err.Error() != "peer deaf is not ready: nobody listens on 127.0.0.1:1 "+
			"(the peers only wait for input): context deadline exceeded" {
		t.Errorf("%v", err)
	}
}

func TestDeathOfTheGroup(t *testing.T) {
	w, c := run(t, "deaf")
	connect(t, w, c)
	pid := w.group.proxy
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the proxy is dead", w.group.isGone)
	for name, err := range map[string]error{
		"Check":   w.Check(),
		"Quiesce": w.Quiesce(testContext(t), nil),
		"Ready":   w.Ready(testContext(t)),
	} {
		if !errors.Is(err, proxy.ErrDied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(1<<22+1, nil); !errors.Is(err, proxy.ErrDied) {
		t.Errorf("watch of a process that never was: %v", err)
	}
}

func TestDrainFails(t *testing.T) {
	w, _ := run(t, "deaf")
	broken := func() (bool, error) { return false, syscall.EIO }
	if err := w.Quiesce(testContext(t), broken); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v", err)
	}
}

// TestDeathBesideAPeerThatRuns: a peer that never goes to sleep does not hide that another one
// has died.
func TestDeathBesideAPeerThatRuns(t *testing.T) {
	for _, behaviour := range []string{"spinner", "relay"} {
		t.Run(behaviour, func(t *testing.T) {
			bothMethods(t, func(t *testing.T, run runner) { deathBesideAPeerThatRuns(t, run, behaviour) })
		})
	}
}

func deathBesideAPeerThatRuns(t *testing.T, run runner, behaviour string) {
	w, c := run(t, behaviour)
	fd := connect(t, w, c)
	other := exec.Command("false") // not waited for until the test ends, as the proxy does
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	pid := other.Process.Pid
	w.group.hosts, w.group.hostPeers[pid] = append(w.group.hosts, pid), len(w.group.peers)
	w.group.peers = append(w.group.peers, peers.Process{Peer: peers.Peer{Name: "other"}, PID: 7, Host: pid})
	send(t, fd, 1)
	err := w.Quiesce(testContext(t), nil)
	var died *Died
	if !errors.As(err, &died) || died.Peer != "other" {
		t.Errorf("%v", err)
	}
}

func TestQuiesceForASingleUse(t *testing.T) {
	w, c := run(t, "answer")
	fd := connect(t, w, c)
	before := testkit.OpenFiles(t)
	var got strings.Builder
	send(t, fd, 9)
	if err := Quiesce(testContext(t), w.group.proxy, w.group.peers, drainer(fd, &got)); err != nil ||
		got.String() != "9;" {
		t.Errorf("%q, %v", got.String(), err)
	}
	if after := testkit.OpenFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

func BenchmarkQuiesce(b *testing.B) {
	b.Run(MethodProcfs, func(b *testing.B) { benchmarkQuiesce(b, func(*Watch) error { return nil }) })
	b.Run(MethodEBPF, func(b *testing.B) {
		wakeups := counting(b)
		benchmarkQuiesce(b, func(w *Watch) error { return w.Count(wakeups) })
	})
}

// benchmarkQuiesce is about an answer and the judgement after it; of the time for it all, µs/cut
// is that of one cut.
func benchmarkQuiesce(b *testing.B, prepare func(*Watch) error) {
	w, c := run(b, "answer")
	if err := prepare(w); err != nil {
		b.Fatal(err)
	}
	fd := connect(b, w, c)
	var got strings.Builder
	drain := drainer(fd, &got)
	for b.Loop() {
		send(b, fd, 0)
		if err := w.Quiesce(testContext(b), drain); err != nil {
			b.Fatal(err)
		}
	}
	e := w.ResetEffort()
	b.ReportMetric(float64(e.Time.Microseconds())/float64(e.Cuts), "µs/cut")
	b.ReportMetric(float64(e.Time.Microseconds())/float64(b.N), "µs-of-cuts/op")
}
