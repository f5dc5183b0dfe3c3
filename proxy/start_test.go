package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// buildProxy builds the real proxy.
func buildProxy(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tandem-proxy")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", file, "../cmd/proxy")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// runProxy runs the real proxy in namespaces of its own, on the machine's own tree.
func runProxy(t testing.TB, file string, peers ...Command) (*os.File, *exec.Cmd) {
	t.Helper()
	directory := t.TempDir()
	for i := range peers {
		peers[i].Dir = cmp.Or(peers[i].Dir, directory)
	}
	config := Config{
		Root: filepath.Join(directory, "root"), Executable: file,
		File:     filepath.Join(directory, "config.json"),
		Hostname: "inside", Peers: peers,
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(config.File, text, 0o600), os.Mkdir(config.Root, 0o755)); err != nil {
		t.Fatal(err)
	}
	ours, theirs := channelPair(t)
	channel := os.NewFile(uintptr(theirs), "channel")
	defer channel.Close()
	// The mount namespace must have the new root as a mount before the proxy starts. The proxy is
	// where temporary files are, which may be a mount of its own.
	shell := `mount --make-rprivate / && mount --bind / "$1" && mount --bind /dev "$1/dev" &&
		mount --bind "$4" "$1$4" && exec "$2" mount "$3"`
	c := exec.Command("sh", "-c", shell, "sh", config.Root, file, config.File, os.TempDir())
	c.ExtraFiles = []*os.File{channel}
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS,
		Pdeathsig:  unix.SIGKILL,
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return ours, c
}

var path = []string{"PATH=/nonexistent:/usr/bin:/bin"}

func TestProxyStartsPeers(t *testing.T) {
	file := buildProxy(t)
	ours, process := runProxy(t, file,
		Command{Name: "one", Args: []string{"sh", "-c", "hostname >name; tty >tty; exec sleep 1000"},
			Env: path},
		Command{Name: "two", Args: []string{"sh", "-c", "exit 3"}, Env: path},
		// Leaves an orphan that ends: the proxy must reap it, and it only.
		Command{Name: "three", Args: []string{"sh", "-c", "sh -c 'sleep 0.01 &'; exec sleep 1000"},
			Env: path})
	pids, err := ReceiveHello(testContext(t), int(ours.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{100, 120, 140}; !slices.Equal(pids, want) {
		t.Fatalf("the pids of three peers are %v, want %v, whatever threads the proxy has", pids, want)
	}
	c, err := NewClient(ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	create(t, c, 1)
	inside := fmt.Sprintf("/proc/%d/root/proc", process.Process.Pid)
	testkit.Await(t, "the shells and the orphan have ended", func() bool {
		return commands(t, inside) == "(tandem-proxy) S, (sleep) S, (sh) Z, (sleep) S"
	})
	directory := fmt.Sprintf("/proc/%d/root%s/", process.Process.Pid,
		filepath.Dir(configOf(t, process.Process.Pid)))
	for name, want := range map[string]string{"name": "inside\n", "tty": "not a tty\n"} {
		if b, err := os.ReadFile(directory + name); err != nil || string(b) != want {
			t.Errorf("%s in the group: %q, %v", name, b, err)
		}
	}
	c.Disconnect()
	if err := process.Wait(); err != nil {
		t.Errorf("the checker is gone, and the proxy says: %v", err)
	}
}

// TestProxyStartsOnDemand starts a peer when it is asked to, with the process ID that is kept for
// it, and again when it has gone.
func TestProxyStartsOnDemand(t *testing.T) {
	file := buildProxy(t)
	ours, process := runProxy(t, file,
		Command{Name: "one", Args: []string{"sleep", "1000"}, Env: path},
		Command{Name: "two", Args: []string{"sleep", "1000"}, Env: path, OnDemand: true},
		Command{Name: "three", Args: []string{"sh", "-c", "exit 3"}, Env: path, OnDemand: true})
	pids, err := ReceiveHello(testContext(t), int(ours.Fd()))
	if err != nil || !slices.Equal(pids, []int{100, 120, 140}) {
		t.Fatalf("pids %v, %v", pids, err)
	}
	c, err := NewClient(ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Disconnect() // the proxy ends with its channel
	inside := fmt.Sprintf("/proc/%d/root/proc", process.Process.Pid)
	testkit.Await(t, "there is one peer",
		func() bool { return commands(t, inside) == "(tandem-proxy) S, (sleep) S" })
	for _, step := range []struct {
		peer int
		says string
	}{
		{1, ""}, {2, ""}, {1, "start of peer 1: the peer runs already, or has ended and is still there"},
		{0, "start of peer 0: there is no peer with this number that is started on demand"},
		{3, "start of peer 3: there is no peer with this number that is started on demand"},
	} {
		err := c.Start(testContext(t), step.peer)
		if (err == nil) != (step.says == "") || err != nil && err.Error() != step.says {
			t.Errorf("start of peer %d: %v", step.peer, err)
		}
	}
	testkit.Await(t, "the last peer has ended", func() bool {
		return commands(t, inside) == "(tandem-proxy) S, (sleep) S, (sleep) S, (sh) Z"
	})
	for _, pid := range pids {
		if _, err := os.Stat(fmt.Sprintf("%s/%d", inside, pid)); err != nil {
			t.Error(err)
		}
	}
	ours, _ = runProxy(t, file, Command{Name: "none", Args: []string{"nonesuch"}, Env: path, OnDemand: true})
	if _, err := ReceiveHello(testContext(t), int(ours.Fd())); err == nil ||
		!strings.Contains(err.Error(), `start peer none: no command "nonesuch"`) {
		t.Errorf("a command that there is not: %v", err)
	}
}

func configOf(t testing.TB, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	arguments := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	return arguments[len(arguments)-1]
}

// commands lists the processes of a pid namespace, by pid, with their states.
func commands(t testing.TB, proc string) string {
	t.Helper()
	var all []string
	for pid := range 200 {
		b, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", proc, pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b))
		// A thread has a stat file, too, though it is not listed: those come after.
		if leader, err := os.ReadFile(fmt.Sprintf("%s/%d/status", proc, pid)); err != nil ||
			!strings.Contains(string(leader), fmt.Sprintf("\nTgid:\t%d\n", pid)) {
			continue
		}
		all = append(all, fields[1]+" "+fields[2])
	}
	return strings.Join(all, ", ")
}

func TestProxySaysWhyItCannotStart(t *testing.T) {
	file := buildProxy(t)
	for want, peer := range map[string]Command{
		`start peer x: no command "no-such-command" in its PATH "/nonexistent:/usr/bin:/bin": install ` +
			`it, or name its file`: {Name: "x",
			Args: []string{"no-such-command"}, Env: path},
		`start peer x: execute /etc/passwd: permission denied`: {Name: "x",
			Args: []string{"/etc/passwd"}},
		`start peer x: it has no command: give it one`: {Name: "x"},
		`start peer x: there is no directory /nonexistent for it to run in: name another one`: {Name: "x",
			Args: []string{"sh"}, Env: path, Dir: "/nonexistent"},
		`start peer x: there is no directory /etc/passwd for it to run in: name another one`: {Name: "x",
			Args: []string{"sh"}, Env: path, Dir: "/etc/passwd"},
	} {
		ours, process := runProxy(t, file, peer)
		if _, err := ReceiveHello(testContext(t), int(ours.Fd())); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if err := process.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
		ours.Close()
	}
}

func TestHelloThatDoesNotCome(t *testing.T) {
	ours, theirs := channelPair(t)
	defer ours.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := ReceiveHello(ctx, int(ours.Fd())); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	unix.Close(theirs)
	if _, err := ReceiveHello(context.Background(), int(ours.Fd())); !errors.Is(err, ErrDied) {
		t.Errorf("%v", err)
	}
}
