package ckptd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// startShared runs a shared daemon until the test ends.
func startShared(t *testing.T, socket string, flags ...string) (pid int) {
	t.Helper()
	process := exec.Command(binaries.Daemon, append([]string{"--listen", socket}, flags...)...)
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		process.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		process.Process.Kill()
		<-ended
	})
	testkit.Await(t, "the shared daemon listens", func() bool {
		status, err := SharedDaemon{Socket: socket}.Status()
		return err == nil && status.PID == process.Process.Pid
	})
	return process.Process.Pid
}

func dial(t testing.TB, socket string) *Client {
	t.Helper()
	c, err := Dial(testContext(t), socket, Options{Proxy: binaries.Proxy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func askShared(t testing.TB, socket string) SharedStatus {
	t.Helper()
	status, err := SharedDaemon{Socket: socket}.Status()
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// TestStopIsAnswered: a daemon that is told to stop says so before it ends.
func TestStopIsAnswered(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	for range 20 {
		startShared(t, socket)
		if err := (SharedDaemon{Socket: socket}).Stop(false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSharedDaemon has several clients, one of which is killed: what it had is gone, and
// nothing else.
func TestSharedDaemon(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	l := watchLeftovers(t)
	pid := startShared(t, socket, "--max-clients", "3", "--max-bytes", "50000000", "--max-images", "7")
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the socket is %v, %v", info.Mode(), err)
	}
	a, b := dial(t, socket), dial(t, socket)
	g, h := start(t, a, merecat()), start(t, b, merecat())
	first, second := savedGroup(t, g), savedGroup(t, g)
	for _, id := range []string{first, second} {
		if err := g.Restore(testContext(t), id); err != nil {
			t.Error(err)
		}
		if err := h.Restore(testContext(t), id); !errors.Is(err, ErrImageGone) {
			t.Errorf("restore of another client's image: %v", err)
		}
	}
	checker := exec.Command(os.Args[0], socket, binaries.Proxy)
	checker.Env = append(os.Environ(), checkerVariable+"=attached")
	checker.Stderr = os.Stderr
	if err := checker.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the third client has an image", func() bool {
		s := askShared(t, socket)
		return len(s.Clients) == 3 && len(s.Clients[2].Groups) == 1 && len(s.Clients[2].Groups[0].Images) == 1
	})
	if _, err := Dial(testContext(t), socket, Options{Proxy: binaries.Proxy}); err == nil ||
		!strings.Contains(err.Error(), "has 3 clients, and may have no more") {
		t.Errorf("a client too many: %v", err)
	}
	checkShared(t, askShared(t, socket), pid, checker.Process.Pid, []string{first, second})
	l.note(t)
	kill(t, checker.Process.Pid)
	checker.Wait()
	testkit.Await(t, "the third client is forgotten",
		func() bool { return len(askShared(t, socket).Clients) == 2 })
	testkit.Await(t, "the third client's group has ended", func() bool { return len(find("merecat")) == 2 })
	if err := g.Restore(testContext(t), first); err != nil {
		t.Errorf("another client's end has ended an image: %v", err)
	}
	err := SharedDaemon{Socket: socket}.Stop(false)
	if err == nil || !strings.Contains(err.Error(), "it has 2 clients") {
		t.Errorf("stop with clients: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	testkit.Await(t, "the first client's group has ended", func() bool { return len(find("merecat")) == 1 })
	if err := (SharedDaemon{Socket: socket}).Stop(true); err != nil {
		t.Error(err)
	}
	if err := h.Quiesce(testContext(t), nil); !errors.Is(err, ErrDaemonDied) {
		t.Errorf("after the shared daemon was stopped: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	testkit.Await(t, "the shared daemon was waited for", func() bool { return stateOf(pid) == "" })
	l.check(t)
}

func checkShared(t *testing.T, s SharedStatus, pid, third int, images []string) {
	t.Helper()
	if s.PID != pid || s.MaxClients != 3 || s.Clients[0].PID != os.Getpid() || s.Clients[2].PID != third {
		t.Fatalf("%+v", s)
	}
	c := s.Clients[0]
	if c.UID != os.Getuid() || time.Since(c.Since) > time.Hour || c.MaxBytes != 50000000 ||
		c.MaxImages != 7 || c.Bytes < 1<<20 || c.Resident < 1<<20 || c.Descriptors < 5 {
		t.Errorf("%+v", c)
	}
	g := c.Groups[0]
	if len(c.Groups) != 1 || !slices.Equal(g.Peers, []string{"merecat"}) || g.State != "runs" ||
		g.Checkpoints.Count != 2 || g.Restores.Count != 2 || g.Restores.Mean() <= 0 {
		t.Errorf("%+v", g)
	}
	for n, i := range g.Images {
		if i.ID != images[n] || i.Backend != BackendCRIU || i.Bytes < 1<<20 || i.Uses != 1 ||
			i.Parent != strings.Join(images[:n], "") || time.Since(i.Taken) > time.Hour {
			t.Errorf("image %d: %+v", n, i)
		}
	}
}

// TestSharedDaemonIsKilled: its clients go on, and another one takes its place.
func TestSharedDaemonIsKilled(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	first := startShared(t, socket)
	c := dial(t, socket)
	g := start(t, c, merecat())
	kill(t, first)
	testkit.Await(t, "the shared daemon is dead", func() bool { return stateOf(first) == "" })
	if err := g.Restore(testContext(t), savedGroup(t, g)); err != nil {
		t.Errorf("the client does not go on: %v", err)
	}
	_, err := SharedDaemon{Socket: socket}.Status()
	if err == nil || !strings.Contains(err.Error(), "tandem ckptd start") {
		t.Errorf("status without a daemon: %v", err)
	}
	startShared(t, socket)
	if n := len(askShared(t, socket).Clients); n != 0 {
		t.Errorf("the new daemon has %d clients", n)
	}
	if err := g.Quiesce(testContext(t), nil); err != nil {
		t.Error(err)
	}
}

func TestSocketThatIsTaken(t *testing.T) {
	directory := t.TempDir()
	socket, file := filepath.Join(directory, "socket"), filepath.Join(directory, "file")
	startShared(t, socket)
	testkit.WriteFile(t, file, "precious\n")
	for path, want := range map[string]string{
		socket: "a daemon listens at " + socket + " already", file: "is there, and no socket",
		filepath.Join(directory, "no", "socket"):           "no such file or directory",
		filepath.Join(directory, strings.Repeat("x", 200)): "invalid argument",
	} {
		out, err := exec.Command(binaries.Daemon, "--listen", path).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("listen at %s: %v, %s", path, err, out)
		}
	}
	if got := string(testkit.ReadFile(t, file)); got != "precious\n" {
		t.Errorf("the file holds %q", got)
	}
}

// TestStrangersAreTurnedAway: even where the mode of the socket would let them in.
func TestStrangersAreTurnedAway(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	startShared(t, socket)
	for d := socket; d != "/"; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err == nil && d != os.TempDir() {
			err = os.Chmod(d, info.Mode().Perm()|0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
		if d == os.TempDir() {
			break
		}
	}
	const stranger = 65534
	result := make(chan error)
	go onThreadOfItsOwn(func() {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, stranger, stranger, stranger); errno != 0 {
			result <- errno
			return
		}
		connection, err := wire.ConnectToSocket(socket)
		if err == nil {
			_, err = wire.Ask(connection, 1, wire.Request{Operation: wire.OpStatus}, nil)
			unix.Close(connection)
		}
		result <- err
	})
	if err := <-result; err == nil || !strings.Contains(err.Error(), "user 65534 has no business") {
		t.Errorf("another user: %v", err)
	}
	askShared(t, socket)
}

// onThreadOfItsOwn calls f on a thread that ends with the goroutine, and is not the first of the
// process.
func onThreadOfItsOwn(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // as long as this goroutine has the first thread, it gets another one
		defer close(done)
		onThreadOfItsOwn(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// TestClientsThatSayNothingOrNonsense are no trouble for others.
func TestClientsThatSayNothingOrNonsense(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	daemon := startShared(t, socket)
	askShared(t, socket)
	before := len(glob(t, fmt.Sprintf("/proc/%d/fd/*", daemon)))
	silent, err := net.Dial("unixpacket", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	good, err := wire.Encode(wire.RequestKind, 7, wire.Request{Operation: wire.OpStatus})
	if err != nil {
		t.Fatal(err)
	}
	for want, message := range map[string][]byte{
		"a message of 5 bytes": []byte("hello"), "body of a message": good[:20],
		"with more than":      make([]byte, wire.MaxMessage+1),
		"a message of kind 2": append(append([]byte{}, good[:5]...), append([]byte{2}, good[6:]...)...),
	} {
		connection, err := wire.ConnectToSocket(socket)
		if err != nil {
			t.Fatal(err)
		}
		if err := seqpacket.Send(connection, message, []int{connection}); err != nil {
			t.Fatal(err)
		}
		answer, _, err := wire.Receive(connection)
		var r wire.Response
		if err == nil {
			_, err = wire.Decode(answer, wire.ReplyKind, &r)
		}
		if err != nil || !strings.Contains(r.Error, want) {
			t.Errorf("%.30q is answered by %q, %v", message, r.Error, err)
		}
		unix.Close(connection)
	}
	for _, r := range []wire.Request{{Operation: wire.OpSetup}, {Operation: wire.OpAttach},
		{Operation: "nonsense"}, {}} {
		connection, err := connectToDaemon(socket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.Ask(connection, 1, r, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
		unix.Close(connection)
	}
	silent.Close()
	testkit.Await(t, "the daemon has closed what it was sent",
		func() bool { return len(glob(t, fmt.Sprintf("/proc/%d/fd/*", daemon))) <= before })
}
