package ckptd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// shell is a peer that runs a shell script; "ready" is where it waits for ever.
func shell(text string) peers.Group {
	return peers.Group{
		Peers: []peers.Peer{{Name: "shell", Command: []string{"sh", "-c", text}}},
		Files: []peers.File{{Path: "wait/.keep"}},
	}
}

// forever is shell text that waits for input that never comes, without polling.
const forever = "\nmkfifo wait/fifo 2>/dev/null; read x <>wait/fifo"

// inside is the path, as this test sees it, of a file of the group.
func inside(g *Group, path string) string { return fmt.Sprintf("/proc/%d/root%s", g.PID(), path) }

// TestPIDInDescriptor: what the kernel tells of a process behind a pidfd.
func TestPIDInDescriptor(t *testing.T) {
	for _, c := range []struct {
		pid  string
		want int
		err  error
	}{{"4711", 4711, nil}, {"0", 0, errElsewhere}, {"-1", 0, proxy.ErrDied}, {"x", 0, proxy.ErrDied}} {
		fdinfo := "pos:\t0\nflags:\t02000002\nPid:\t" + c.pid + "\nNSpid:\t" + c.pid + "\n"
		if pid, err := pidIn([]byte(fdinfo)); pid != c.want || err != c.err {
			t.Errorf("Pid %s: %d, %v, want %d, %v", c.pid, pid, err, c.want, c.err)
		}
	}
	if pid, err := pidIn([]byte("pos:\t0\n")); err == nil {
		t.Errorf("without a pid: %d, no error", pid)
	}
}

func TestPeersRunWhereTheyAreTo(t *testing.T) { bothBackends(t, peersRunWhereTheyAreTo) }

func peersRunWhereTheyAreTo(t *testing.T, c *Client) {
	group := shell("pwd >/run/tandem/where; mkdir wait" + forever)
	group.Peers[0].Directory = "{scratch}/a/b"
	other := shell("pwd >/run/tandem/elsewhere; cd /run/tandem" + forever)
	other.Peers[0].Name, other.Peers[0].Directory = "other", "/etc"
	group.Peers = append(group.Peers, other.Peers[0])
	g := start(t, c, group)
	image, err := g.Checkpoint(testContext(t))
	if err == nil {
		err = g.Restore(testContext(t), image.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"where": "/run/tandem/a/b\n", "elsewhere": "/etc\n"} {
		if got, err := os.ReadFile(inside(g, "/run/tandem/"+file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
	children, err := procfs.AllChildren(g.PID())
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]bool{}
	for _, pid := range children { // copies are among them, if they are in memory
		place, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if err != nil {
			t.Error(err)
		}
		places[place] = true
	}
	if want := map[string]bool{"/run/tandem/a/b": true, "/run/tandem": true}; !maps.Equal(places, want) {
		t.Errorf("after the restore there are peers in %v, want %v", places, want)
	}
}

func TestScratchDirectoryGoesBack(t *testing.T) { bothBackends(t, scratchDirectoryGoesBack) }

func scratchDirectoryGoesBack(t *testing.T, c *Client) {
	group := shell("echo kept >a; mkdir -m 700 d; ln -s ../a d/link; echo pid >/run/shell.pid" + forever)
	group.Files = append(group.Files, peers.File{Path: "{scratch}/root/b", Content: []byte("{scratch}\n"),
		Mode: 0o640})
	group.Binds = map[string]string{"/root": "{scratch}/root"}
	g := start(t, c, group)
	before := listing(t, g)
	want := []string{
		"/root/b -rw-r----- /run/tandem\n", "/run/shell.pid -rw-r--r-- pid\n",
		"/run/tandem/a -rw-r--r-- kept\n",
		"/run/tandem/d drwx------ ", "/run/tandem/d/link Lrwxrwxrwx ../a",
		"/run/tandem/wait/fifo prw-r--r-- ",
	}
	for _, line := range want {
		if !strings.Contains(before, line) {
			t.Errorf("before the checkpoint there is no %q in\n%s", line, before)
		}
	}
	image, err := g.Checkpoint(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for path, content := range map[string]string{"/run/tandem/a": "changed", "/root/new": "new",
			"/run/tandem/d/x": "x"} {
			if err := os.WriteFile(inside(g, path), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(inside(g, "/run/shell.pid")); err != nil {
			t.Fatal(err)
		}
		if listing(t, g) == before {
			t.Fatal("the changes do not show")
		}
		if err := g.Restore(testContext(t), image.ID); err != nil {
			t.Fatal(err)
		}
		if after := listing(t, g); after != before {
			t.Errorf("after the restore:\n%s\nbefore:\n%s", after, before)
		}
	}
}

// listing shows /run and /root of a group: names, modes, contents and times.
func listing(t *testing.T, g *Group) string {
	t.Helper()
	var out strings.Builder
	for _, top := range []string{"/run", "/root"} {
		err := filepath.WalkDir(inside(g, top), func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == paths.ProxyDirectory {
				return filepath.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			var content []byte
			switch info.Mode().Type() {
			case 0:
				content, err = os.ReadFile(path)
			case os.ModeSymlink:
				var target string
				target, err = os.Readlink(path)
				content = []byte(target)
			}
			fmt.Fprintf(&out, "%s %v %s %v\n", strings.TrimPrefix(path, inside(g, "")), info.Mode(), content,
				info.ModTime())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestGroupSeesTheMachineReadOnly(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c,
		shell("touch /etc/tandem-test /dev/tandem-test; echo $PATH; hostname; pwd; tty; echo end"+forever))
	if err := g.Quiesce(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the output is read", func() bool {
		return strings.Contains(string(g.Output()),
			"end\n")
	})
	out := string(g.Output())
	for _, want := range []string{
		"'/etc/tandem-test': Read-only file system", "'/dev/tandem-test': Read-only file system",
		"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n", "tandem\n", "/run/tandem\n",
		"not a tty\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in the output:\n%s", want, out)
		}
	}
}

func TestGroupThatCannotStart(t *testing.T) {
	l := watchLeftovers(t)
	c := spawn(t, Options{})
	changed := func(change func(*peers.Group)) peers.Group {
		g := merecat()
		change(&g)
		return g
	}
	for name, test := range map[string]struct {
		group peers.Group
		want  string
	}{
		"exits": {shell("echo no such luck >&2; exit 3"),
			`peer shell \(pid \d+ of its group\) exited with status 3\nshell wrote:\nno such luck`},
		"is killed": {shell("kill -KILL $$"), `peer shell \(pid \d+ of its group\) was killed by signal 9`},
		"no command": {changed(func(g *peers.Group) { g.Peers[0].Command = []string{"no-such-server"} }),
			`start peer merecat: no command "no-such-server" in its PATH "/usr/local/sbin:`},
		"no file": {changed(func(g *peers.Group) { g.Peers[0].Command = []string{"/no/such/server"} }),
			`start peer merecat: execute /no/such/server: no such file or directory`},
		"never listens": {changed(func(g *peers.Group) {
			g.Peers[0].Listen = "127.0.0.1:8081"
			g.ReadyTimeout = 300 * time.Millisecond
		}), `peer merecat is not ready: nobody listens on 127.0.0.1:8081 \(.*\): context deadline exceeded`},
		"never quiescent": {func() peers.Group {
			g := shell("while :; do :; done")
			g.ReadyTimeout = 200 * time.Millisecond
			return g
		}(), `do not become quiescent \(peer shell: thread \d+ \(sh\) is in state R, wchan 0; ` +
			`in the last \d+ms it ran \d+ times, for .* \(user .*, system .*\)\): context deadline exceeded`},
		"bind over nothing": {changed(func(g *peers.Group) {
			g.Binds = map[string]string{
				"/no/such/place": "{scratch}/x"}
		}),
			`bind over /no/such/place: this machine does not have it`},
		"bind over a link to /run": {changed(func(g *peers.Group) {
			g.Binds = map[string]string{
				"/var/run": "{scratch}"}
		}),
			`bind over /var/run, which leads to /run: /run of a group is set up by tandem`},
		"bind of nothing": {changed(func(g *peers.Group) {
			g.Binds = map[string]string{
				"/mnt": "/no/such/place"}
		}),
			`bind /no/such/place over /mnt: .*no such file`},
		"invalid": {peers.Group{}, `peers: there are 0, allowed are 1 to 64`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Start(testContext(t), test.group)
			if err == nil || !regexp.MustCompile(test.want).MatchString(err.Error()) {
				t.Errorf("%v\nwant /%s/", err, test.want)
			}
			testkit.Await(t, "only the daemon is left", func() bool { return len(l.note(t)) == 1 })
		})
	}
	start(t, c, merecat()) // the daemon is none the worse for it
	l.note(t)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	l.check(t)
}

func TestBindOfTheMachineIsReadOnly(t *testing.T) {
	c := spawn(t, Options{})
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "file"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	group := shell("cat /mnt/file; echo x >/mnt/file" + forever)
	group.Binds = map[string]string{"/mnt": source}
	g := start(t, c, group)
	testkit.Await(t, "the output is read", func() bool {
		return strings.Contains(string(g.Output()),
			"Read-only")
	})
	if out := string(g.Output()); !strings.HasPrefix(out, "hello\n") {
		t.Errorf("the output is %q", out)
	}
	image, err := g.Checkpoint(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Restore(testContext(t), image.ID); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"/mnt/file", "/etc/tandem-test", "/dev/tandem-test"} {
		if err := os.WriteFile(inside(g, file), []byte("x"), 0o644); !errors.Is(err, unix.EROFS) {
			t.Errorf("write %s in a restored group: %v", file, err)
			os.Remove(inside(g, file))
		}
	}
}

// TestBindOverALink: what is bound over a symbolic link, also an absolute one, is over what the
// link leads to.
func TestBindOverALink(t *testing.T) { bothBackends(t, bindOverALink) }

func bindOverALink(t *testing.T, c *Client) {
	of := t.TempDir()
	if err := os.Chmod(of, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"file": "the machine's", "source": "bound"} {
		if err := os.WriteFile(filepath.Join(of, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"absolute": of + "/file", "relative": "absolute"} {
		if err := os.Symlink(target, filepath.Join(of, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"absolute", "relative"} {
		group := shell("cat " + of + "/file" + forever)
		group.Binds = map[string]string{filepath.Join(of, link): filepath.Join(of, "source")}
		g := start(t, c, group)
		testkit.Await(t, "the output is read", func() bool { return len(g.Output()) > 0 })
		if out := string(g.Output()); out != "bound" {
			t.Errorf("a peer reads %q, not what is bound over the link %s", out, link)
		}
		image, err := g.Checkpoint(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Restore(testContext(t), image.ID); err != nil {
			t.Fatal(err)
		}
		if content, err := os.ReadFile(inside(g, of+"/file")); err != nil || string(content) != "bound" {
			t.Errorf("after a restore there is %q over the link %s: %v", content, link, err)
		}
	}
	twice := shell("true" + forever)
	twice.Binds = map[string]string{of + "/absolute": of + "/source", of + "/file": of + "/source"}
	if _, err := c.Start(testContext(t), twice); err == nil ||
		!strings.Contains(err.Error(), "both are "+of+"/file") {
		t.Errorf("two binds over one file: %v", err)
	}
}

func TestRequestsThatCannotBeMet(t *testing.T) {
	c := spawn(t, Options{})
	g, other := start(t, c, merecat()), start(t, c, merecat())
	ctx := testContext(t)
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "nonsense", "../../etc", "g1-99", strings.Repeat("x", 30000)} {
		if err := g.Restore(ctx, id); !errors.Is(err, ErrImageGone) {
			t.Errorf("restore of image %.20q: %v", id, err)
		}
		if err := g.Drop(ctx, id); !errors.Is(err, ErrImageGone) {
			t.Errorf("drop of image %.20q: %v", id, err)
		}
	}
	if err := other.Restore(ctx, image.ID); !errors.Is(err, ErrImageGone) {
		t.Errorf("restore of another group's image: %v", err)
	}
	if err := g.Quiesce(ctx, nil); err != nil {
		t.Errorf("the group does not run on: %v", err)
	}
	if err := g.Drop(ctx, image.ID); err != nil {
		t.Errorf("drop: %v", err)
	}
	if err := g.Restore(ctx, image.ID); !errors.Is(err, ErrImageGone) {
		t.Errorf("restore of a dropped image: %v", err)
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := g.Checkpoint(ctx); !errors.Is(err, ErrGroupDown) {
		t.Errorf("checkpoint of a closed group: %v", err)
	}
	if err := g.Restore(ctx, image.ID); !errors.Is(err, ErrGroupDown) {
		t.Errorf("restore of a closed group: %v", err)
	}
	if err := other.Quiesce(ctx, nil); err != nil {
		t.Errorf("the other group: %v", err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Start(ctx, merecat()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("start after close: %v", err)
	}
}

// TestCheckpointIsRefusedWhereDataIsUnderWay: CRIU would not complain.
func TestCheckpointIsRefusedWhereDataIsUnderWay(t *testing.T) { bothBackends(t, checkpointIsRefused) }

func checkpointIsRefused(t *testing.T, c *Client) {
	g := start(t, c, merecat())
	ctx := testContext(t)
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(ctx, 1, merecatAddress); err != nil {
		t.Fatal(err)
	}
	talk.listen()
	if _, err := unix.Write(talk.fd, []byte(get("/a.txt"))); err != nil {
		t.Fatal(err)
	}
	if n, err := sys.Poll([]unix.PollFd{{Fd: int32(talk.fd), Events: unix.POLLIN}}, 10000); n != 1 {
		t.Fatal(n, err)
	}
	_, err := g.Checkpoint(ctx)
	if !errors.Is(err, ErrNotQuiescent) || !strings.Contains(err.Error(),
		"from 127.0.0.1:8080 to 127.0.0.1:61001 are") {
		t.Errorf("%v", err)
	}
	if !strings.HasSuffix(talk.listen(), "alpha\n") {
		t.Error("the answer is lost")
	}
	if _, err := g.Checkpoint(ctx); err != nil {
		t.Errorf("after the answer was read: %v", err)
	}
}

func TestBudgetOfImages(t *testing.T) {
	for _, backend := range []string{BackendCRIU, BackendMemory} {
		t.Run(backend, func(t *testing.T) {
			budgetOfImages(t,
				spawn(t, Options{MaxImages: 3, Backend: backend}))
		})
	}
}

func budgetOfImages(t *testing.T, c *Client) {
	g := start(t, c, shell("read x"+forever))
	ctx := testContext(t)
	var images []Image
	for range 5 {
		i, err := g.Checkpoint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if i.Bytes < 4096 || i.Took <= 0 {
			t.Errorf("an image of %d bytes, taken in %v", i.Bytes, i.Took)
		}
		images = append(images, i)
	}
	for i, want := range [][]string{nil, nil, nil, {images[1].ID}, {images[2].ID}} {
		if got := images[i].Dropped; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("image %d made room by dropping %v, want %v", i, got, want)
		}
	}
	if n := len(g.timers.byImage); n != 3 {
		t.Errorf("timers of %d images are kept, want 3", n)
	}
	for i, gone := range []bool{false, true, true, false, false} {
		if err := g.Restore(ctx, images[i].ID); errors.Is(err, ErrImageGone) != gone || (err != nil) != gone {
			t.Errorf("restore of image %d: %v", i, err)
		}
	}
}

func TestBudgetOfBytes(t *testing.T) {
	c := spawn(t, Options{MaxBytes: 1 << 12})
	g := start(t, c, shell("read x"+forever))
	if _, err := g.Checkpoint(testContext(t)); !errors.Is(err, ErrNotStored) {
		t.Errorf("an image over the budget: %v", err)
	}
	if err := g.Quiesce(testContext(t), nil); err != nil {
		t.Errorf("the group does not run on: %v", err)
	}
}

// TestProxiesAreOfTheFirstThread: of any other thread a tracer may come to be, which waits for all
// children that its thread has.
func TestProxiesAreOfTheFirstThread(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory})
	for range 8 {
		g := start(t, c, merecat())
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.pid, c.pid))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(strings.Fields(string(children)), strconv.Itoa(g.PID())) {
			t.Errorf("the proxy, process %d, is none of the children of the daemon's first thread, %s",
				g.PID(), children)
		}
	}
}

// TestGroupsDoNotCollide runs groups that listen on the same port and write the same
// files side by side, and takes them back and forth at the same time.
func TestGroupsDoNotCollide(t *testing.T) { bothBackends(t, groupsDoNotCollide) }

func groupsDoNotCollide(t *testing.T, c *Client) {
	var all sync.WaitGroup
	for number := range 3 {
		all.Go(func() {
			g := start(t, c, merecat())
			ctx := testContext(t)
			page := fmt.Sprintf("group %d\n", number)
			if err := os.WriteFile(inside(g, "/run/tandem/www/a.txt"), []byte(page), 0o644); err != nil {
				t.Error(err)
				return
			}
			for range 5 {
				image, err := g.Checkpoint(ctx)
				if err == nil {
					err = g.Restore(ctx, image.ID)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			talk := &conversation{t: t, group: g, id: 1}
			talk.fd, _ = g.Proxy().CreateSocket(ctx, 1)
			if err := g.Proxy().Connect(ctx, 1, merecatAddress); err != nil {
				t.Error(err)
				return
			}
			if got, err := talk.tryAsk(get("/a.txt")); err != nil || !strings.HasSuffix(got, page) {
				t.Errorf("group %d answers %q, %v", number, got, err)
			}
		})
	}
	all.Wait()
}

// TestOldChannelAfterARestore: what was got from a group before a restore is of no use.
func TestOldChannelAfterARestore(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, merecat())
	ctx := testContext(t)
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	old, pid := g.Proxy(), g.PID()
	if err := g.Restore(ctx, image.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := old.CreateSocket(ctx, 1); !errors.Is(err, proxy.ErrDied) ||
		!strings.Contains(err.Error(), "restored since") {
		t.Errorf("%v", err)
	}
	if g.PID() == pid {
		t.Errorf("the pid is %d as before", pid)
	}
}

func TestContextEnds(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, merecat())
	ended, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := g.Checkpoint(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("checkpoint: %v", err)
	}
	if _, err := g.Proxy().CreateSocket(ended, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("command: %v", err)
	}
	image, err := g.Checkpoint(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, patience := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond,
		15 * time.Millisecond} {
		short, cancel := context.WithTimeout(testContext(t), patience)
		// May be in time, or stopped by the daemon or on this side; and may end later.
		err := g.Restore(short, image.ID)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) &&
			!strings.Contains(err.Error(), "deadline exceeded") {
			t.Errorf("restore with %v: %v", patience, err)
		}
		if err := g.Restore(testContext(t), image.ID); err != nil {
			t.Errorf("restore after one with %v: %v", patience, err)
		}
		if err := g.Quiesce(testContext(t), nil); err != nil {
			t.Error(err)
		}
	}
	before := testkit.OpenFiles(t)
	for range 5 {
		short, cancel := context.WithTimeout(testContext(t), time.Millisecond)
		g.Restore(short, image.ID)
		cancel()
	}
	if err := g.Restore(testContext(t), image.ID); err != nil {
		t.Error(err)
	}
	if after := testkit.OpenFiles(t); after > before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// TestPeersThatStartAtATime: what one peer starts does not get the process ID that is meant for
// another, which begins at the same time.
func TestPeersThatStartAtATime(t *testing.T) {
	c := spawn(t, Options{})
	group := shell("mkfifo wait/fifo; i=0; while [ $i -lt 40 ]; do (read x <>wait/fifo) & i=$((i+1)); done" +
		forever)
	for i := range 10 {
		group.Peers = append(group.Peers, peers.Peer{Name: fmt.Sprint("another", i),
			Command: []string{"sh", "-c", forever}})
	}
	for range 10 {
		if err := start(t, c, group).Close(); err != nil {
			t.Fatal(err)
		}
	}
}
