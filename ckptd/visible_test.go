package ckptd

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/verify"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/testkit"
)

func bytesPointer(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
func int32Pointer(n *int32) uintptr { return uintptr(unsafe.Pointer(n)) }

// visible is what Processes says of the peers of a group.
func visible(t testing.TB, g *Group) []string {
	t.Helper()
	var pids []int
	for _, p := range g.processes {
		pids = append(pids, hostPID(t, g, p.PID))
	}
	var state []string
	testkit.Await(t, "the peers wait in system calls", func() (ok bool) {
		var err error
		state, err = verify.Processes(pids, g.PID())
		return err == nil
	})
	return state
}

// hostPID is the pid here of a peer with this pid in its group.
func hostPID(t testing.TB, g *Group, inner int) int {
	t.Helper()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", g.PID()))
	for _, file := range threads {
		for child := range strings.FieldsSeq(string(testkit.ReadFile(t, file))) {
			pid, _ := strconv.Atoi(child)
			if number, err := procfs.InnerPID(pid); err == nil && number == inner {
				return pid
			}
		}
	}
	t.Fatalf("peer process %d is not there", inner)
	return 0
}

// changes are the differences of a group that was just restored, as verify sees them: that a wait
// has a time-out cannot be seen where the kernel goes on with it by restart_syscall. Where one
// mapping ends and the next begins may be another place.
func changes(before, after []string) []string {
	before, after = verify.JoinMappings(before), verify.JoinMappings(after)
	return verify.Differences(verify.WithoutTimed(before, after, 0))
}

// TestCRIULosesTwoThings: these are the differences that KnownTo leaves out, and no others.
func TestCRIULosesTwoThings(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, ownPeer("sink with more"))
	before := visible(t, g)
	image, err := g.Checkpoint(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Restore(testContext(t), image.ID); err != nil {
		t.Fatal(err)
	}
	after := visible(t, g)
	got := changes(before, after)
	if len(got) != 4 || !slices.ContainsFunc(got,
		func(line string) bool { return strings.Contains(line, "eventfd-semaphore: 1") }) {
		t.Errorf("CRIU loses, or does not lose:\n%s", strings.Join(got, "\n"))
	}
	if left := changes(verify.KnownTo(BackendCRIU, before),
		verify.KnownTo(BackendCRIU, after)); len(left) > 0 {
		t.Errorf("not known to be lost by CRIU:\n%s", strings.Join(left, "\n"))
	}
}

// TestDifferences compares with counting each line anew.
func TestDifferences(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() (lines []string) {
		for range random.IntN(8) {
			lines = append(lines, string(rune('a'+random.IntN(4))))
		}
		return lines
	}
	count := func(all []string, line string) (n int) {
		for _, l := range all {
			if l == line {
				n++
			}
		}
		return n
	}
	for range 1000 {
		a, b := text(), text()
		got := verify.Differences(a, b)
		total := 0
		for line := 'a'; line < 'e'; line++ {
			n := count(a, string(line)) - count(b, string(line))
			if lost, new := count(got, "- "+string(line)), count(got, "+ "+string(line)); lost-new != n ||
				lost*new != 0 {
				t.Fatalf("%q and %q differ in %q", a, b, got)
			}
			total += max(n, -n)
		}
		if len(got) != total {
			t.Fatalf("%q and %q differ in %q", a, b, got)
		}
	}
}

func TestJoinMappings(t *testing.T) {
	state := []string{
		"process 1: mapping 1000-2000 r--p 00001000 fe:00 7  /lib/x",
		"process 1: mapping 2000-4000 r--p 00002000 fe:00 7  /lib/x",
		"process 1: mapping 4000-5000 r--p 00004000 fe:00 8  /lib/y",
		"process 1: mapping 5000-6000 r--p 00004000 fe:00 8  /lib/y", // does not continue it
		"process 1: mapping 6000-7000 rw-p 00005000 fe:00 8  /lib/y",
		"process 2: mapping 7000-8000 rw-p 00006000 fe:00 8  /lib/y",
		"process 2: mapping 8000-9000 rw-p 00000000 00:00 0 ",
		"process 2: mapping 9000-a000 rw-p 00000000 00:00 0  [heap]",
		"tcp socket [1 2]",
	}
	joined := verify.JoinMappings(state)
	if len(joined) != len(state)-2 || !strings.Contains(joined[0], "1000-4000 1000 ") ||
		!strings.Contains(joined[5], "8000-a000 ") {
		t.Errorf("%s", strings.Join(joined, "\n"))
	}
	if again := verify.JoinMappings(joined); !slices.Equal(again, joined) {
		t.Errorf("again: %s", strings.Join(again, "\n"))
	}
}

// TestHalfClosedConnectionsGoBack: the end of a stream stays one, and what is sent afterwards is
// answered by a reset as it was before.
func TestHalfClosedConnectionsGoBack(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *Client) {
		g := start(t, c, ownPeer("says goodbye"))
		talk := connectTo(t, g, sinkAddress)
		talk.listen()
		if state := visible(t, g); !talk.ended || !endedOneWay(state) {
			t.Fatalf("the connection has ended: %t\n%s", talk.ended, strings.Join(state, "\n"))
		}
		window := sendWindow(t, talk.fd)
		image := savedGroup(t, g)
		for range 3 {
			if err := g.Restore(testContext(t), image); err != nil { // which compares
				t.Fatal(err)
			}
			talk.obtain()
			if got := talk.listen(); got != "" || !talk.ended || !endedOneWay(visible(t, g)) {
				t.Fatalf("%q is read, the connection has ended: %t", got, talk.ended)
			}
			if got := sendWindow(t, talk.fd); got != window || got == 0 {
				t.Errorf("%d bytes may be sent, and at the checkpoint it was %d", got, window)
			}
		}
	})
}

// sendWindow is how many bytes the other end has room for.
func sendWindow(t *testing.T, fd int) uint32 {
	t.Helper()
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		t.Fatal(err)
	}
	return info.Snd_wnd
}

// endedOneWay tells whether a connection has been closed by one of its ends.
func endedOneWay(state []string) bool {
	return slices.ContainsFunc(state, func(line string) bool {
		return strings.Contains(line, " socket [") && strings.Contains(line, " 08 ") // CLOSE_WAIT
	})
}
