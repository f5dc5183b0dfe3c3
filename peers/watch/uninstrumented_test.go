package watch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
)

// TestWhyUninstrumented: programs of several kinds, of which the shim sees all or nothing.
func TestWhyUninstrumented(t *testing.T) {
	none := shim.Libraries{Library: "/no/such/library", VDSO: "/no/such/vdso"}
	if why := (uninstrumented{}).why(os.Getpid(), "test", none, false); !strings.Contains(
		why,
		"it is a Go program",
	) {
		t.Errorf("this program: %q", why)
	}
	// What is mapped as the vDSO of the shim serves a Go program, unless its time-outs are to be
	// frozen.
	mapped := shim.Libraries{Library: "/no/such/library", VDSO: filepath.Base(os.Args[0])}
	for frozen, want := range map[bool]string{false: "", true: "it is a Go program"} {
		if why := (uninstrumented{}).why(os.Getpid(), "test", mapped, frozen); !strings.HasPrefix(
			why,
			want,
		) ||
			want == "" && why != "" {
			t.Errorf("with a vDSO, frozen %t: %q", frozen, why)
		}
	}
	sleeper := exec.Command("cat")
	in, err := sleeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleeper.Wait()
	defer in.Close()
	pid := sleeper.Process.Pid
	testkit.Await(t, "it has loaded its libraries", func() bool {
		maps, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
		return strings.Contains(string(maps), "libc")
	})
	if why := (uninstrumented{}).why(pid, "cat", none, true); !strings.Contains(
		why,
		"did not load the shim",
	) {
		t.Errorf("a program with a C library: %q", why)
	}
	u := uninstrumented{}
	if why := u.why(pid, "cat", shim.Libraries{Library: "libc", VDSO: "/no/such/vdso"}, true); why != "" {
		t.Errorf("with its library: %q", why)
	}
	if why := u.why(pid, "cat", none, true); why != "" {
		t.Errorf("what is known of a program is asked again: %q", why)
	}
	if why := u.why(pid, "another", none, true); why == "" {
		t.Error("what is known of a program is believed of another one")
	}
	if why := (uninstrumented{}).why(1<<22+1, "gone", none, true); why != "" {
		t.Errorf("a process that has ended: %q", why)
	}
}

// TestUninstrumentedOfAGroup names the peer, once for each process.
func TestUninstrumentedOfAGroup(t *testing.T) {
	w, _ := run(t, "deaf")
	if err := w.Ready(testContext(t)); err != nil {
		t.Fatal(err)
	}
	all := w.Uninstrumented(shim.Libraries{Library: "/no/such/library", VDSO: "/no/such/vdso"})
	if len(all) != 1 || all[0].Peer != "peer deaf" || all[0].Chosen ||
		!strings.Contains(all[0].String(), "it is a Go program") {
		t.Errorf("%+v", all)
	}
}

// TestWhoseBehaviourIsChosen: an orphan may be anybody's.
func TestWhoseBehaviourIsChosen(t *testing.T) {
	m := &members{
		peers: []peers.Process{{Peer: peers.Peer{Name: "a"}}, {Peer: peers.Peer{Name: "b", Choices: 1}}},
	}
	if m.isChosen(0) || !m.isChosen(1) || !m.isChosen(-1) {
		t.Error("the peers")
	}
	m.peers = m.peers[:1]
	if m.isChosen(-1) {
		t.Error("an orphan where nothing is chosen")
	}
	if m.nameOf(0) != "peer a" || m.nameOf(-1) != "an orphan of a peer" {
		t.Errorf("%s, %s", m.nameOf(0), m.nameOf(-1))
	}
}

// TestInnerKeys: what names a timer in a group is the number that its thread, or its process, has
// there.
func TestInnerKeys(t *testing.T) {
	w, _ := run(t, "deaf")
	host, inner := w.group.hosts[0], w.group.peers[0].PID
	if key, ok := w.group.innerKey(timerKey{host, host, -1}); !ok || key != (timerKey{0, inner, -1}) {
		t.Errorf("a thread: %+v, %t", key, ok)
	}
	if key, ok := w.group.innerKey(timerKey{host, 0, 5}); !ok || key != (timerKey{inner, 0, 5}) {
		t.Errorf("a timerfd: %+v, %t", key, ok)
	}
	if key, ok := w.group.innerKey(timerKey{tid: 1<<22 + 1, fd: -1}); ok {
		t.Errorf("a thread that never was: %+v", key)
	}
}
