package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit"
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
	path := filepath.Join(root, rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/e", "d/e/a",
		"skip"}).Draw(t, "path"))
	action := rapid.SampledFrom([]string{"write", "overwrite", "mkdir", "remove", "symlink", "fifo", "chmod",
		"chown", "touch", "link"}).Draw(t, "action")
	// Each may fail where it does not fit what is there, as it may for a peer.
	switch action {
	case "write":
		if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
			os.WriteFile(path, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "content"), 0o644)
		}
	case "overwrite": // without a change of size or time
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			os.WriteFile(path, rapid.SliceOfN(rapid.Byte(), int(info.Size()), int(info.Size())).Draw(t,
				"content"), 0o644)
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

// copies is a store of contents, and how trees are saved there.
type copies struct {
	store contentStore
	known Stamps
}

func (c *copies) save(
	t rapid.TB, directory string, base *FileNode, mapped ...string,
) (root *FileNode, used []*Content) {
	t.Helper()
	s := TreeSaver{
		FileComparison: FileComparison{Known: c.known, Mapped: MappedFiles{Names: map[string]bool{}}},
		Except:         "skip",
		CopyOf: func(path string, _ int64) (*Content, error) {
			return c.store.CopyOf(path, make([]byte, 100)) // less than some files have
		},
	}
	for _, name := range mapped {
		s.Mapped.Names[name] = true
	}
	root, err := s.Save(directory, base)
	if err != nil {
		t.Fatal(err)
	}
	return root, s.Used
}

func (c *copies) restore(t rapid.TB, root *FileNode, directory string) {
	t.Helper()
	r := TreeRestorer{FileComparison: FileComparison{Known: c.known}, Except: "skip"}
	if err := r.Check(root, directory); err != nil {
		t.Fatal(err)
	}
	if err := r.Restore(root, directory); err != nil {
		t.Fatal(err)
	}
}

// TestTreesGoBackAndForth saves a random tree several times, each time on the base of the tree that
// was saved or put back last, drops some trees, and puts the others back in any order.
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
		c := copies{store: contentStore{directory: filepath.Join(top, "contents")}}
		type saved struct {
			root *FileNode
			used []*Content
			want string
		}
		var trees []saved
		var base *FileNode
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				scribble(t, live)
			}
			action := rapid.SampledFrom([]string{"save", "put back", "drop"}).Draw(t, "action")
			if len(trees) == 0 || action == "save" {
				want := describe(t, live, "skip")
				root, used := c.save(t, live, base)
				if after := describe(t, live, "skip"); after != want {
					t.Fatalf("to save the files has changed them:\n%s\nbefore:\n%s", after, want)
				}
				trees, base = append(trees, saved{root, used, want}), root
				continue
			}
			i := rapid.IntRange(0, len(trees)-1).Draw(t, "tree")
			if action == "drop" { // it may be the base
				if err := c.store.release(trees[i].used); err != nil {
					t.Fatal(err)
				}
				trees = slices.Delete(trees, i, i+1)
				continue
			}
			skipped := identity(filepath.Join(live, "skip"))
			c.restore(t, trees[i].root, live)
			if got := describe(t, live, "skip"); got != trees[i].want {
				t.Fatalf("put back:\n%s\nsaved:\n%s", got, trees[i].want)
			}
			if after := identity(filepath.Join(live, "skip")); after != skipped {
				t.Fatalf("what was to be left alone was %v and is %v", skipped, after)
			}
			base = trees[i].root
		}
		for _, tree := range trees { // nothing may have written to what is saved
			c.restore(t, tree.root, live)
			if got := describe(t, live, "skip"); got != tree.want {
				t.Fatalf("put back in the end:\n%s\nsaved:\n%s", got, tree.want)
			}
			if err := c.store.release(tree.used); err != nil {
				t.Fatal(err)
			}
		}
		left, err := os.ReadDir(c.store.directory)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
			t.Fatalf("of all that was released there are still %v, %v", left, err)
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

func TestHardLinksAreKept(t *testing.T) {
	live := t.TempDir()
	a, b := filepath.Join(live, "a"), filepath.Join(live, "b")
	testkit.WriteFile(t, a, "one")
	if err := os.Link(a, b); err != nil {
		t.Fatal(err)
	}
	c := copies{store: contentStore{directory: t.TempDir()}}
	linked, _ := c.save(t, live, nil)
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, b, "one") // another file, which looks the same
	info, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(b, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	apart, _ := c.save(t, live, linked)
	for _, test := range []struct {
		tree *FileNode
		want string
	}{{linked, "three"}, {apart, "one"}, {linked, "three"}} {
		c.restore(t, test.tree, live)
		testkit.WriteFile(t, a, "three")
		if got := string(testkit.ReadFile(t, b)); got != test.want {
			t.Errorf("after a write to the other name b holds %q, not %q", got, test.want)
		}
	}
}

// TestUnchangedFilesAreShared: the store holds them once for all images, and a restore leaves them.
func TestUnchangedFilesAreShared(t *testing.T) {
	live := t.TempDir()
	same, changes := filepath.Join(live, "same"), filepath.Join(live, "d", "changes")
	testkit.WriteFile(t, same, "same")
	if err := os.Mkdir(filepath.Dir(changes), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, changes, "old")
	c := copies{store: contentStore{directory: t.TempDir()}, known: Stamps{}}
	copied := func() int {
		t.Helper()
		entries, err := os.ReadDir(c.store.directory)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	first, _ := c.save(t, live, nil)
	if copied() != 2 {
		t.Errorf("%d files are copied, not 2", copied())
	}
	if again, _ := c.save(t, live, first); again != first || copied() != 2 {
		t.Errorf("a tree that did not change: %d copies, the same node: %v", copied(), again == first)
	}
	testkit.WriteFile(t, changes, "new")
	second, _ := c.save(t, live, first)
	if copied() != 3 || second.children["same"] != first.children["same"] {
		t.Errorf("after a change of one file there are %d copies, not 3, or other nodes", copied())
	}
	before := identity(same)
	c.restore(t, first, live)
	if after := identity(same); after != before {
		t.Errorf("a file that did not change was %v, and is %v", before, after)
	}
	if got := string(testkit.ReadFile(t, changes)); got != "old" {
		t.Errorf("the other one holds %q", got)
	}
}

// TestKnownFilesAreNotRead: a file that is known to be the same is not compared, unless it may be
// written to without a trace.
func TestKnownFilesAreNotRead(t *testing.T) {
	live := t.TempDir()
	file := filepath.Join(live, "file")
	testkit.WriteFile(t, file, "content")
	c := copies{store: contentStore{directory: t.TempDir()}, known: Stamps{}}
	first, used := c.save(t, live, nil)
	testkit.Await(t, "the file is trusted", func() bool {
		again, more := c.save(t, live, first)
		return again == first && len(c.known) == 1 && c.store.release(more) == nil
	})
	if err := os.WriteFile(used[0].path, []byte("CONTENT"), 0o600); err != nil {
		t.Fatal(err)
	}
	trusting := FileComparison{Known: c.known}
	if err := trusting.Check(first, live); err != nil {
		t.Errorf("a copy that is not read is damaged, and found so: %v", err)
	}
	if again, _ := c.save(t, live, first); again != first {
		t.Error("a file that is known was read")
	}
	if again, _ := c.save(t, live, first, "file"); again == first || len(c.known) != 0 {
		t.Error("a file that is mapped was not read")
	}
	if err := trusting.Check(first, live); err == nil || err.Error() != "its file files/file has changed" {
		t.Errorf("a damaged copy, which is to be read: %v", err)
	}
	if err := (&FileComparison{}).Check(first, ""); err == nil {
		t.Error("a damaged copy is not found where there is no directory")
	}
}

// TestForgottenFiles: nothing is kept of files that are gone.
func TestForgottenFiles(t *testing.T) {
	live := t.TempDir()
	c := copies{store: contentStore{directory: t.TempDir()}, known: Stamps{7: {}}}
	testkit.WriteFile(t, filepath.Join(live, "file"), "content")
	if c.save(t, live, nil); len(c.known) > 1 || c.known[7].content != nil {
		t.Errorf("known are %v", c.known)
	}
}

// TestSameContent compares files, which differ in one byte or not. One that is damaged is another
// one.
func TestSameContent(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, size := range []int{1, 4096, 64 << 10, 64<<10 + 1, 1 << 20} {
		content := strings.Repeat("x", size)
		testkit.WriteFile(t, a, content)
		for _, at := range []int{-1, 0, size / 2, size - 1} {
			other := []byte(content)
			if at >= 0 {
				other[at] = 'y'
			}
			testkit.WriteFile(t, b, string(other))
			if same, err := sameContent(a, b, int64(size)); err != nil || same != (at < 0) {
				t.Errorf("%d bytes of which number %d differs: same is %v, %v", size, at, same, err)
			}
		}
	}
}

func TestSameContentOfDamagedCopies(t *testing.T) {
	live, copied := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "copied")
	const size = 1 << 20
	if err := errors.Join(os.WriteFile(live, nil, 0o600), os.Truncate(live, size)); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, copied, strings.Repeat("\x00", size/2))
	if same, err := sameContent(live, copied, size); same || err != nil {
		t.Errorf("with half of a copy: %v, %v", same, err)
	}
	if bytes := identity(live).Blocks; bytes != 0 {
		t.Errorf("to compare a file of holes has filled %d blocks of it", bytes)
	}
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	if same, err := sameContent(live, copied, size); same || err != nil {
		t.Errorf("with no copy: %v, %v", same, err)
	}
	if _, err := sameContent(copied, live, size); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with no file of the group: %v", err)
	}
}

// TestSavedBesideDamagedCopies: what is wrong with the copies of older images does not matter to a
// new one.
func TestSavedBesideDamagedCopies(t *testing.T) {
	live := t.TempDir()
	for _, name := range []string{"a", "b"} {
		testkit.WriteFile(t, filepath.Join(live, name), strings.Repeat(name, 1<<17))
	}
	c := copies{store: contentStore{directory: t.TempDir()}}
	first, used := c.save(t, live, nil)
	if err := errors.Join(os.Truncate(used[0].path, 100), os.Remove(used[1].path)); err != nil {
		t.Fatal(err)
	}
	want := describe(t, live, "skip")
	second, _ := c.save(t, live, first)
	testkit.WriteFile(t, filepath.Join(live, "a"), "another")
	if c.restore(t, second, live); describe(t, live, "skip") != want {
		t.Errorf("put back:\n%s\nsaved:\n%s", describe(t, live, "skip"), want)
	}
}

func TestDeviceInScratchDirectory(t *testing.T) {
	live, image := t.TempDir(), t.TempDir()
	if err := unix.Mknod(filepath.Join(live, "null"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
		t.Fatal(err)
	}
	s := TreeSaver{}
	_, err := s.Save(live, nil)
	if err == nil || !strings.Contains(err.Error(), "null is a Dc") || CannotStore(image, err) == nil {
		t.Errorf("%v", err)
	}
}
