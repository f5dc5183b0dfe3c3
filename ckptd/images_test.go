package ckptd

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/containers"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/image"
)

// ofImage is a group with a peer from an image, which is kept in a cache of the test.
func ofImage(t *testing.T, i containers.Image) peers.Group {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := i.Save(file); err != nil {
		t.Fatal(err)
	}
	d, err := image.Describe(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	return peers.Group{Peers: []peers.Peer{peers.OfImage("imaged", d, nil)}}
}

// shellImage is an image of a shell that runs a script.
func shellImage(t *testing.T, script string) containers.Image {
	t.Helper()
	programs, err := containers.Programs("/bin/sh", "/usr/bin/mkfifo", "/usr/bin/id", "/usr/bin/cat",
		"/usr/bin/date")
	if err != nil {
		t.Fatal(err)
	}
	return containers.Image{Layers: []containers.Layer{programs, {
		{Name: "data/kept", Content: "kept\n"}, {Name: "data/changed", Content: "before\n"},
		{Name: "usr/share/volume/inner", Content: "inner\n"}, {Name: "usr/share/readonly", Content: "x"},
		{Name: "run/imaged/pid", Content: "7\n"},
	}}, Config: containers.Config{Entrypoint: []string{"/bin/sh", "-c", script}, WorkingDir: "/data",
		Volumes: map[string]struct{}{"/usr/share/volume": {}}}}
}

// wait is shell text that waits for ever, in a directory of the image.
const wait = "\nmkfifo /tmp/fifo; read x <>/tmp/fifo"

// TestMerecatOfAnImage: a server whose files are those of an image goes back within a request, by
// both backends. It has the shim, and so a clock of its own.
func TestMerecatOfAnImage(t *testing.T) {
	i, err := containers.Merecat()
	if err != nil {
		t.Fatal(err)
	}
	bothBackends(t, func(t *testing.T, c *Client) {
		group := ofImage(t, i)
		group.Peers[0].Listen, group.Peers[0].VirtualClock = "127.0.0.1:8080", true
		g := start(t, c, group)
		pagesGoBack(t, g)
		r, err := g.Reads()
		if err != nil || len(r.Uninstrumented) > 0 {
			t.Errorf("without the shim: %v, %v", r.Uninstrumented, err)
		}
		// The server is another one than that of the machine: its root shows that.
		root, err := os.Readlink(fmt.Sprintf("/proc/%d/root", onlyPeer(t, g)))
		if err != nil || root != "/run/roots/0" {
			t.Errorf("the root directory of the peer is %q, %v", root, err)
		}
	})
}

// onlyPeer is the pid of the only peer, as the machine sees it.
func onlyPeer(t *testing.T, g *Group) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/root")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range all {
		pid := 0
		fmt.Sscanf(link, "/proc/%d/root", &pid)
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !strings.Contains(string(text), fmt.Sprintf("PPid:\t%d\n", g.PID())) {
			continue
		}
		if strings.Contains(string(text), "\t100\n") { // its process ID inside of the group
			return pid
		}
	}
	t.Fatal("there is no peer")
	return 0
}

// TestFilesOfAnImageGoBack: whatever a peer writes below its root is put back, and what it has open
// there is open afterwards. Large directories are read-only, but for volumes. /run is the group's.
func TestFilesOfAnImageGoBack(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *Client) {
		group := ofImage(t, shellImage(t, "exec 5>>/data/log; echo first >&5; pwd >/run/tandem/where; "+
			"cat </dev/null >/usr/share/volume/written; echo no 2>/dev/null >/usr/share/readonly || echo "+
			"ro >>log; "+
			"cat /run/imaged/pid >>log; echo $(echo /proc/self/fd/0) >>log"+wait))
		g := start(t, c, group)
		root := inside(g, "/run/roots/0")
		before := treeOf(t, root)
		for _, line := range []string{"/data/kept kept\n", "/data/log first\nro\n7\n/proc/self/fd/0\n",
			"/usr/share/volume/inner inner\n", "/usr/share/volume/written ", "/usr/share/readonly x"} {
			if !strings.Contains(before, line) {
				t.Errorf("there is no %q in\n%s", line, before)
			}
		}
		if where, err := os.ReadFile(inside(g, "/run/tandem/where")); string(where) != "/data\n" {
			t.Errorf("it runs in %q, %v", where, err)
		}
		saved := savedGroup(t, g)
		for range 2 {
			root := inside(g, "/run/roots/0")
			for name, content := range map[string]string{"data/changed": "after", "new": "new",
				"usr/share/volume/inner": "other", "etc/passwd": ""} {
				if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if treeOf(t, root) == before {
				t.Fatal("the changes do not show")
			}
			if err := g.Restore(testContext(t), saved); err != nil {
				t.Fatal(err)
			}
			if after := treeOf(t, inside(g, "/run/roots/0")); after != before {
				t.Errorf("after the restore:\n%s\nbefore:\n%s", after, before)
			}
			pid := onlyPeer(t, g)
			for link, want := range map[string]string{"root": "/run/roots/0", "cwd": "/run/roots/0/data",
				"fd/5": "/run/roots/0/data/log"} {
				if got, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, link)); err != nil || got != want {
					t.Errorf("%s of the peer leads to %q, %v; want %q", link, got, err, want)
				}
			}
		}
	})
}

// treeOf lists the files of a root directory with their contents, without programs and without what
// the group has there.
func treeOf(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(path, root)
		switch below {
		case "/dev", "/proc", "/run", "/usr/lib", "/usr/bin", "/usr/lib64":
			return filepath.SkipDir
		}
		var content []byte
		if d.Type().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&out, "%v %s %s\n", d.Type(), below, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestUserOfAnImage: names of users are those of the image, and so is the home. Only the memory
// backend saves such peers everywhere: CRIU needs CAP_SYS_RESOURCE.
func TestUserOfAnImage(t *testing.T) {
	for user, want := range map[string]string{
		"web": "uid=1234 gid=1235 groups=1235 /var/web\n", "web:others": "uid=1234 gid=1236 groups=1236 " +
			"/var/web\n",
		"77": "uid=77 gid=0 groups=0 /\n", "": "uid=0 gid=0 groups=0 /root\n",
	} {
		t.Run(user, func(t *testing.T) {
			i := shellImage(t,
				`cd /run/tandem; echo "uid=$(id -u) gid=$(id -g) groups=$(id -G) $HOME" >who`+wait)
			i.Config.User = user
			g := start(t, spawn(t, Options{Backend: BackendMemory}), ofImage(t, i))
			saved := savedGroup(t, g)
			if err := g.Restore(testContext(t), saved); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(inside(g, "/run/tandem/who")); err != nil || string(got) != want {
				t.Errorf("it runs as %q, %v; want %q", got, err, want)
			}
		})
	}
}
