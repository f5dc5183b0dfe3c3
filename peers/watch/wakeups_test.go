package watch

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/proxy"
)

// runner is run, or the same with wake-ups counted.
type runner func(t testing.TB, role string) (*Watch, *proxy.Client)

// bothMethods runs a test with each way to judge quiescence. Where the kernel does not let eBPF
// count, that is said, and what is left is tested.
func bothMethods(t *testing.T, test func(t *testing.T, run runner)) {
	t.Run(MethodProcfs, func(t *testing.T) { test(t, run) })
	t.Run(MethodEBPF, func(t *testing.T) {
		wakeups := counting(t)
		test(t, func(t testing.TB, role string) (*Watch, *proxy.Client) {
			w, c := run(t, role)
			if err := w.Count(wakeups); err != nil {
				t.Fatal(err)
			}
			return w, c
		})
	})
}

// counting opens Wakeups, or skips the test, saying why.
func counting(t testing.TB) *Wakeups {
	t.Helper()
	wakeups, err := OpenWakeups()
	if err != nil {
		t.Skipf("wake-ups cannot be counted here, and only %s is tested: %v", MethodProcfs, err)
	}
	t.Cleanup(func() {
		if err := wakeups.Close(); err != nil {
			t.Error(err)
		}
	})
	return wakeups
}

// TestMethodsAgree: what one method finds quiescent at the end of each step of a dialogue, the
// other one does, too, and nothing arrives meanwhile; and while there is something unread,
// neither does.
func TestMethodsAgree(t *testing.T) {
	wakeups := counting(t)
	for _, role := range []string{"answer", "sleeper", "parent"} {
		t.Run(role, func(t *testing.T) {
			w, c := run(t, role)
			fd := connect(t, w, c)
			other, err := New(w.group.proxy, w.group.peers)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if err := other.Count(wakeups); err != nil {
				t.Fatal(err)
			}
			for n := range 20 {
				judges := []*Watch{w, other}
				first, second := judges[n%2], judges[1-n%2]
				var got strings.Builder
				send(t, fd, byte(n))
				if err := first.Quiesce(testContext(t), drainer(fd, &got)); err != nil {
					t.Fatal(err)
				}
				at := got.String()
				if err := second.Quiesce(testContext(t), drainer(fd, &got)); err != nil || at == "" ||
					got.String() != at {
					t.Errorf(
						"round %d: one method found the group quiescent with %q, the other one with %q, %v",
						n,
						at,
						got.String(),
						err,
					)
				}
				send(t, fd, byte(n))
				if n, err := sys.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10000); n != 1 {
					t.Fatal(n, err)
				}
				for i, judge := range judges {
					if quiet, err := judge.cuts.cut(); err != nil || quiet {
						t.Errorf("round %d: an answer is not read, and method %d says: quiescent %t, %v",
							n, i, quiet, err)
					}
				}
				if err := second.Quiesce(testContext(t), drainer(fd, &got)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestWakeupsAreThoseOfTheGroup: a thread of another network does not count, and one of the group
// does.
func TestWakeupsAreThoseOfTheGroup(t *testing.T) {
	wakeups := counting(t)
	var watches [2]*Watch
	var fds [2]int
	for i := range watches {
		w, c := run(t, "answer")
		if err := w.Count(wakeups); err != nil {
			t.Fatal(err)
		}
		watches[i], fds[i] = w, connect(t, w, c)
		if err := w.Quiesce(testContext(t), nil); err != nil {
			t.Fatal(err)
		}
	}
	stopped := []int{
		watches[1].group.proxy,
		watches[1].group.hosts[0],
	} // Go programs wake up by themselves now and then
	for _, pid := range stopped {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "it is stopped", func() bool {
			s, err := watches[1].group.proc.Stat(pid)
			return err == nil && s.State == 'T'
		})
	}
	count := func(i int) uint64 {
		n, err := watches[i].cuts.wakeups.value()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := [2]uint64{count(0), count(1)}
	var got strings.Builder
	send(t, fds[0], 3)
	if err := watches[0].Quiesce(testContext(t), drainer(fds[0], &got)); err != nil {
		t.Fatal(err)
	}
	if count(0) == before[0] || count(1) != before[1] || got.String() != "3;" {
		t.Errorf("one of two groups has answered %q; the counts were %d, and are %d and %d",
			got.String(), before, count(0), count(1))
	}
	network := watches[0].cuts.wakeups.network
	watches[0].cuts.wakeups.close()
	var n uint64
	if err := wakeups.counts.Lookup(network, &n); err == nil {
		t.Error("a count that has been closed is kept")
	}
}
