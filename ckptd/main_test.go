package ckptd

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/peers"
)

// binaries are the daemon and the proxy as this source makes them.
var binaries Options

// checkerVariable makes the test binary a checker that is there to be killed.
const checkerVariable = "TANDEM_TEST_CHECKER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(checkerVariable); mode != "" {
		beChecker(mode)
	}
	if role := os.Getenv(roleVariable); role != "" {
		bePeer(role)
	}
	os.Exit(func() int {
		directory, err := os.MkdirTemp("", "tandem-ckptd-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(directory)
		binaries.Daemon = filepath.Join(directory, "tandem-ckptd")
		binaries.Proxy = filepath.Join(directory, "tandem-proxy")
		for file, source := range map[string]string{binaries.Daemon: "../cmd/ckptd",
			binaries.Proxy: "../cmd/proxy"} {
			build := exec.Command("go", "build", "-ldflags=-w", "-o", file, source)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "build %s: %v\n%s", source, err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// beChecker runs a group for ever; the mode "busy" keeps restoring it, and the mode
// "attached" has it at a shared daemon.
func beChecker(mode string) {
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var c *Client
	var err error
	if mode == "attached" {
		c, err = Dial(ctx, os.Args[1], Options{Proxy: os.Args[2]})
	} else {
		c, err = Spawn(ctx, Options{Daemon: os.Args[1], Proxy: os.Args[2]})
	}
	fail(err)
	g, err := c.Start(ctx, merecat())
	fail(err)
	image, err := g.Checkpoint(ctx)
	fail(err)
	for mode == "busy" {
		fail(g.Restore(ctx, image.ID))
	}
	select {}
}

// startChecker runs beChecker in a process of its own.
func startChecker(t *testing.T, mode string) (pid int, wait func()) {
	t.Helper()
	checker := exec.Command(os.Args[0], binaries.Daemon, binaries.Proxy)
	checker.Env = append(os.Environ(), checkerVariable+"="+mode)
	checker.Stderr = os.Stderr
	if err := checker.Start(); err != nil {
		t.Fatal(err)
	}
	return checker.Process.Pid, func() { checker.Wait() }
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// spawn starts a daemon for a test, which must not be able to end without it. In tests it
// compares every restored group with its image; benchmarks measure what users have.
func spawn(t testing.TB, o Options) *Client {
	t.Helper()
	_, o.Verify = t.(*testing.T)
	return spawnPlain(t, o)
}

func spawnPlain(t testing.TB, o Options) *Client {
	t.Helper()
	if o.Daemon == "" {
		o.Daemon = binaries.Daemon
	}
	o.Proxy = binaries.Proxy
	c, err := Spawn(testContext(t), o)
	if err != nil {
		t.Fatalf("%v\n(these tests need root, CRIU, dropbear-bin and merecat: scripts/setup.sh)", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return c
}

func start(t testing.TB, c *Client, g peers.Group) *Group {
	t.Helper()
	group, err := c.Start(testContext(t), g)
	if err != nil {
		t.Fatal(err)
	}
	return group
}

const merecatPort = 8080

var merecatAddress = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), merecatPort)

func merecat() peers.Group {
	return peers.Group{
		Peers: []peers.Peer{{
			Name:    "merecat",
			Command: []string{"merecat", "-n", "-f", "{scratch}/merecat.conf", "-p", "8080", "{scratch}/www"},
			Listen:  "127.0.0.1:8080",
		}},
		Files: []peers.File{
			{Path: "merecat.conf", Content: []byte("username = root\nchroot = false\n")},
			{Path: "www/a.txt", Content: []byte("alpha\n")},
			{Path: "www/b.txt", Content: []byte("beta\n")},
		},
	}
}

// bothBackends runs a test with each of them.
func bothBackends(t *testing.T, test func(*testing.T, *Client)) {
	for _, backend := range []string{BackendCRIU, BackendMemory} {
		t.Run(backend, func(t *testing.T) { test(t, spawn(t, Options{Backend: backend})) })
	}
}
