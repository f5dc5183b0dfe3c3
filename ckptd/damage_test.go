package ckptd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/daemon"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// storeOf is the directory of the images as the test sees it.
func storeOf(c *Client) string {
	return fmt.Sprintf("/proc/%d/root%s", c.process.Process.Pid, paths.Images)
}

// imageFiles are the files that an image consists of, by their paths in it.
func imageFiles(t testing.TB, image string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(image, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(image, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// newestCopy is the copy of a file that the store has made last.
func newestCopy(t testing.TB, c *Client) (path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(storeOf(c), "contents"))
	if err != nil {
		t.Fatal(err)
	}
	newest := 0
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		newest = max(newest, number)
	}
	return filepath.Join(storeOf(c), "contents", strconv.Itoa(newest))
}

// damages are what can happen to a file, and what is then said of it.
var damages = map[string]func(file string) error{
	"has changed": func(file string) error {
		content, err := os.ReadFile(file)
		if err == nil && len(content) > 0 {
			content[len(content)/2] ^= 4
			err = os.WriteFile(file, content, 0)
		}
		return err
	},
	"bytes, not": func(file string) error {
		info, err := os.Stat(file)
		if err == nil {
			err = os.Truncate(file, info.Size()/2)
		}
		return err
	},
	"is missing": os.Remove,
}

// TestDamagedImageIsGone damages every file of images, each in every way. The image is gone
// then, with a word about why; the group goes on, and an older image is as good as ever.
func TestDamagedImageIsGone(t *testing.T) { bothBackends(t, damagedImageIsGone) }

func damagedImageIsGone(t *testing.T, c *Client) {
	g := start(t, c, merecat())
	first := savedGroup(t, g)
	// Files that have not changed are shared with older images: change one.
	page := inside(g, "/run/tandem/www/a.txt")
	testkit.WriteFile(t, page, "another page\n")
	for want, damage := range damages {
		const copied = "files/tandem/www/a.txt"
		for _, name := range append(imageFiles(t, filepath.Join(storeOf(c), savedGroup(t, g))), copied) {
			testkit.WriteFile(t, page, want+name) // else the next image shares it
			id := savedGroup(t, g)
			image := filepath.Join(storeOf(c), id)
			file := filepath.Join(image, name)
			if name == copied {
				file = newestCopy(t, c)
			}
			testkit.WriteFile(t, page, id)
			if info, err := os.Stat(file); err != nil || info.Size() == 0 {
				t.Fatal(name, err)
			}
			if err := damage(file); err != nil {
				t.Fatal(err)
			}
			err := g.Restore(testContext(t), id)
			if !errors.Is(err, ErrImageGone) || !strings.Contains(err.Error(),
				"is damaged: its file "+name+" ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v", name, want, err)
			}
			if err := g.Quiesce(testContext(t), nil); err != nil {
				t.Errorf("%s %s, and the group does not go on: %v", name, want, err)
			}
			if _, err := os.Stat(image); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the damaged image is kept: %v", err)
			}
		}
	}
	if err := g.Restore(testContext(t), first); err != nil {
		t.Errorf("restore of the undamaged image: %v", err)
	}
	if got := string(testkit.ReadFile(t, inside(g, "/run/tandem/www/a.txt"))); got != "alpha\n" {
		t.Errorf("with it comes the page %q", got)
	}
}

// fill leaves no room where the images are; free makes room again.
func fill(t testing.TB, c *Client) (free func()) {
	t.Helper()
	file := filepath.Join(storeOf(c), "fill")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize); err != nil {
		t.Fatal(err)
	}
	return func() { must(os.Remove(file)) }
}

// TestStoreWithoutRoom: an image that cannot be written is an error that says so, and the
// group can be brought back at once, although there is still no room.
func TestStoreWithoutRoom(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *Client) {
		g := start(t, c, merecat())
		first := savedGroup(t, g)
		testkit.WriteFile(t, inside(g, "/run/tandem/www/a.txt"), "another page\n")
		free := fill(t, c)
		_, err := g.Checkpoint(testContext(t))
		if !errors.Is(err, ErrNotStored) || !strings.Contains(err.Error(), "no space left") &&
			!strings.Contains(err.Error(), "CRIU") {
			t.Errorf("without room: %v", err)
		}
		goesBack(t, g, first)
		free()
		goesBack(t, g, savedGroup(t, g))
	})
}

// TestReadOnlyStore: likewise where nothing can be written at all; the group goes on, and goes
// back.
func TestReadOnlyStore(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *Client) {
		g := start(t, c, merecat())
		first := savedGroup(t, g)
		amongMountsOf(t, c, func() error { return daemon.BindReadOnly(paths.Images, paths.Images) })
		if _, err := g.Checkpoint(testContext(t)); !errors.Is(err, ErrNotStored) ||
			!strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("in a read-only directory: %v", err)
		}
		if err := g.Quiesce(testContext(t), nil); err != nil {
			t.Errorf("the group does not go on: %v", err)
		}
		goesBack(t, g, first)
		amongMountsOf(t, c, func() error { return unix.Unmount(paths.Images, unix.MNT_DETACH) })
		goesBack(t, g, first)
		goesBack(t, g, savedGroup(t, g))
		if left := must1(os.ReadDir(fmt.Sprintf("/proc/%d/root%s", c.process.Process.Pid, paths.Work))); len(
			left) > 0 {
			t.Errorf("of CRIU's operations %v is left", left)
		}
	})
}

// amongMountsOf calls f in the mount namespace of the daemon.
func amongMountsOf(t testing.TB, c *Client, f func() error) {
	t.Helper()
	err := osthread.Run(func() error {
		namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", c.process.Process.Pid))
		if err != nil {
			return err
		}
		defer namespace.Close()
		// a thread alone may change its mount namespace
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS); err != nil {
			return err
		}
		return f()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// goesBack restores the group and asks for a page.
func goesBack(t *testing.T, g *Group, image string) {
	t.Helper()
	if err := g.Restore(testContext(t), image); err != nil {
		t.Errorf("restore of %s: %v", image, err)
		return
	}
	talk := connectTo(t, g, merecatAddress)
	if got := talk.ask(get("/a.txt")); !strings.HasSuffix(got, "alpha\n") {
		t.Errorf("after a restore of %s merecat answers %q", image, got)
	}
	unix.Close(talk.fd)
	if err := g.Restore(testContext(t), image); err != nil { // without the connection
		t.Errorf("restore of %s again: %v", image, err)
	}
}

func BenchmarkSeal(b *testing.B) {
	c := spawn(b, Options{})
	image := filepath.Join(storeOf(c), savedGroup(b, start(b, c, merecat())))
	bytes, err := store.OwnBytes(image)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(bytes)
	for b.Loop() {
		if _, err := store.ManifestOf(image); err != nil {
			b.Fatal(err)
		}
	}
}
