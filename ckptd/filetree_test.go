package ckptd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// describe shows everything about a tree that a copy must keep.
func describe(t rapid.TB, root, except string) string {
	var out strings.Builder
	inodes := map[uint64]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if name == except {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&out, "%s %v %d:%d %v", name, info.Mode(), st.Uid, st.Gid, info.ModTime().UnixNano())
		switch info.Mode().Type() {
		case 0:
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if _, ok := inodes[st.Ino]; !ok {
				inodes[st.Ino] = len(inodes)
			}
			fmt.Fprintf(&out, " %q inode %d", content, inodes[st.Ino])
		case fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " -> %s", target)
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// scribble changes a tree at random, as a peer might.
func scribble(t *rapid.T, root string) {
	path := filepath.Join(root, rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/e", "d/e/a", "skip"}).Draw(t, "path"))
	action := rapid.SampledFrom([]string{"write", "overwrite", "mkdir", "remove", "symlink", "fifo", "chmod", "chown", "touch", "link"}).Draw(t, "action")
	// Each may fail where it does not fit what is there, as it may for a peer.
	switch action {
	case "write":
		if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
			os.WriteFile(path, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "content"), 0o644)
		}
	case "overwrite": // without a change of size or time
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			os.WriteFile(path, rapid.SliceOfN(rapid.Byte(), int(info.Size()), int(info.Size())).Draw(t, "content"), 0o644)
			os.Chtimes(path, info.ModTime(), info.ModTime())
		}
	case "mkdir":
		os.Mkdir(path, 0o755)
	case "remove":
		if _, err := os.Lstat(path); err == nil { // RemoveAll would open a pipe that is the parent
			os.RemoveAll(path)
		}
	case "symlink":
		os.Symlink("target", path)
	case "fifo":
		unix.Mkfifo(path, 0o600)
	case "chmod":
		if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSymlink {
			unix.Chmod(path, rapid.SampledFrom([]uint32{0o700, 0o644, 0o4755, 0}).Draw(t, "mode"))
		}
	case "chown":
		os.Lchown(path, rapid.IntRange(0, 2).Draw(t, "user"), 1)
	case "touch":
		os.Chtimes(path, time.Time{}, time.Unix(1, int64(rapid.IntRange(0, 2).Draw(t, "time"))))
	case "link":
		os.Link(filepath.Join(root, "a"), path)
	}
}

// TestTreesGoBackAndForth saves a random tree several times, each copy based on the one
// before, and puts it back in any order.
func TestTreesGoBackAndForth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top, err := os.MkdirTemp("", "tandem-tree-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		live := filepath.Join(top, "live")
		if err := os.Mkdir(live, 0o755); err != nil {
			t.Fatal(err)
		}
		var saved, want []string
		base := ""
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				scribble(t, live)
			}
			if len(saved) == 0 || rapid.Bool().Draw(t, "save") {
				to := filepath.Join(top, fmt.Sprint(len(saved)))
				if err := os.Mkdir(to, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := (treeCopy{from: live, to: to, except: "skip", base: base}).save(); err != nil {
					t.Fatal(err)
				}
				saved, want = append(saved, to), append(want, describe(t, live, "skip"))
				base = to
				if got := describe(t, to, "skip"); withoutInodes(got) != withoutInodes(want[len(want)-1]) {
					t.Fatalf("saved:\n%s\nlive:\n%s", got, want[len(want)-1])
				}
				continue
			}
			i := rapid.IntRange(0, len(saved)-1).Draw(t, "image")
			skipped := identity(filepath.Join(live, "skip"))
			if err := (treeCopy{from: saved[i], to: live, except: "skip"}).putBack(); err != nil {
				t.Fatal(err)
			}
			if got := describe(t, live, "skip"); withoutInodes(got) != withoutInodes(want[i]) {
				t.Fatalf("put back:\n%s\nsaved:\n%s", got, want[i])
			}
			if after := identity(filepath.Join(live, "skip")); after != skipped {
				t.Fatalf("what was to be left alone was %v and is %v", skipped, after)
			}
			base = saved[i]
		}
		for i := range saved { // nothing may have written through a link
			if got := describe(t, saved[i], "skip"); withoutInodes(got) != withoutInodes(want[i]) {
				t.Fatalf("image %d is now:\n%s\nit was:\n%s", i, got, want[i])
			}
		}
	})
}

// identity changes when the file is replaced, removed, written or changed in its
// attributes. Reading it or unlinking another name of it is no change.
func identity(path string) unix.Stat_t {
	var st unix.Stat_t
	_ = unix.Lstat(path, &st) // zero where there is none
	st.Atim, st.Ctim, st.Nlink = unix.Timespec{}, unix.Timespec{}, 0
	return st
}

func withoutInodes(s string) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		before, _, _ := strings.Cut(line, " inode ")
		out.WriteString(strings.TrimSpace(before) + "\n")
	}
	return out.String()
}

func TestHardLinksAreKept(t *testing.T) {
	live, image := t.TempDir(), t.TempDir()
	write(t, filepath.Join(live, "a"), "one")
	if err := os.Link(filepath.Join(live, "a"), filepath.Join(live, "b")); err != nil {
		t.Fatal(err)
	}
	if err := (treeCopy{from: live, to: image}).save(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(live, "b")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(live, "a"), "two")
	if err := (treeCopy{from: image, to: live}).putBack(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(live, "a"), "three")
	for path, want := range map[string]string{filepath.Join(live, "b"): "three", filepath.Join(image, "a"): "one"} {
		if got := string(readFile(t, path)); got != want {
			t.Errorf("%s holds %q, not %q", path, got, want)
		}
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestUnchangedFilesAreShared: the store does not hold them once per image.
func TestUnchangedFilesAreShared(t *testing.T) {
	live, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(live, "same"), "same")
	write(t, filepath.Join(live, "changes"), "old")
	if err := (treeCopy{from: live, to: first}).save(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(live, "changes"), "new")
	if err := (treeCopy{from: live, to: second, base: first}).save(); err != nil {
		t.Fatal(err)
	}
	inode := func(path string) uint64 {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	if inode(filepath.Join(first, "same")) != inode(filepath.Join(second, "same")) {
		t.Error("a file that did not change was copied")
	}
	if inode(filepath.Join(first, "changes")) == inode(filepath.Join(second, "changes")) {
		t.Error("a file that changed is shared")
	}
	if inode(filepath.Join(live, "same")) == inode(filepath.Join(first, "same")) {
		t.Error("a file of the peers is shared with an image")
	}
	before := inode(filepath.Join(live, "same"))
	if err := (treeCopy{from: first, to: live}).putBack(); err != nil {
		t.Fatal(err)
	}
	if inode(filepath.Join(live, "same")) != before {
		t.Error("a file that did not change was replaced")
	}
}

// TestSameContent compares files that are read, and that are mapped, which differ in one byte or not.
func TestSameContent(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, size := range []int{1, 4096, 64 << 10, 64<<10 + 1, 1 << 20} {
		content := strings.Repeat("x", size)
		write(t, a, content)
		for _, at := range []int{-1, 0, size / 2, size - 1} {
			other := []byte(content)
			if at >= 0 {
				other[at] = 'y'
			}
			write(t, b, string(other))
			if same, err := sameContent(a, b, size); err != nil || same != (at < 0) {
				t.Errorf("%d bytes of which number %d differs: same is %v, %v", size, at, same, err)
			}
		}
	}
}

func TestDeviceInScratchDirectory(t *testing.T) {
	live, image := t.TempDir(), t.TempDir()
	if err := unix.Mknod(filepath.Join(live, "null"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
		t.Fatal(err)
	}
	err := treeCopy{from: live, to: image}.save()
	if err == nil || !strings.Contains(err.Error(), "null is a Dc") || cannotStore(image, err) == nil {
		t.Errorf("%v", err)
	}
}
