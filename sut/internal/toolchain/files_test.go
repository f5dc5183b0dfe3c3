package toolchain

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// fakeGo puts a go command into PATH that prints what a script does, and nothing else.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// TestUnsuitableDistributions: what is wrong with the Go in use is said with what to do about it.
func TestUnsuitableDistributions(t *testing.T) {
	lines := func(list ...string) string { return "printf '%s\\n' '" + strings.Join(list, "' '") + "'\n" }
	for name, test := range map[string]struct{ script, want string }{
		"another architecture": {lines("/go", "", "go1.26.1", "arm64", "linux"),
			"this machine builds for linux/arm64: run Tandem on linux/amd64"},
		"another system": {lines("/go", "", "go1.26.1", "amd64", "darwin"),
			"this machine builds for darwin/amd64"},
		"too old": {lines("/go", "", "go1.24.9", "amd64", "linux"),
			"go1.24.9 is not supported: use one of go1.25, go1.26, go1.27 (the go line or toolchain line"},
		"nothing there": {lines("/nowhere", "", "go1.26.1", "amd64", "linux"), "/nowhere/src/"},
		"odd output":    {"echo /go\n", "go env printed 1 lines instead of 5"},
		"it fails":      {"echo go.mod is wrong >&2; exit 1\n", "go env: exit status 1: go.mod is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeGo(t, test.script)
			_, err := New(t.Context(), ".", t.TempDir())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	t.Setenv("PATH", "/nowhere")
	if _, err := New(t.Context(), ".", t.TempDir()); !errors.Is(err, exec.ErrNotFound) ||
		!strings.Contains(err.Error(), "is Go installed and in PATH?") {
		t.Errorf("without Go: %v", err)
	}
}

// TestCommandErrors: an error has what the command wrote, if it wrote something.
func TestCommandErrors(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3":                        "exit status 3",
		"echo ' why ' >&2; exit 3":      "exit status 3: why",
		"echo not this; exit 3":         "exit status 3",
		"printf 'a\\nb\\n' >&2; exit 4": "exit status 4: a\nb",
	} {
		_, err := exec.Command("sh", "-c", script).Output()
		if got := commandError(err); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", script, got, want)
		}
	}
	if err := commandError(context.Canceled); err != context.Canceled {
		t.Errorf("what is no command's: %v", err)
	}
	if err := commandError(nil); err != nil {
		t.Errorf("no error: %v", err)
	}
}

// treeOf lists what is below a directory: kind, mode, and content or target.
func treeOf(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(path, root) + " " + info.Mode().String()
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + target
		case !d.IsDir():
			line += " " + string(testkit.ReadFile(t, path))
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// someTree makes a directory with files, directories and links.
func someTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(
		os.MkdirAll(filepath.Join(root, "a/b"), 0o755),
		os.WriteFile(filepath.Join(root, "a/run"), []byte("#!"), 0o755),
		os.WriteFile(filepath.Join(root, "a/b/text"), []byte("text"), 0o644),
		os.Symlink("run", filepath.Join(root, "a/link")),
		os.Symlink("nowhere", filepath.Join(root, "dangling")),
	); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestLinkTree: a tree of links is the same tree; files are shared, and links stay links.
func TestLinkTree(t *testing.T) {
	from, to := someTree(t), filepath.Join(t.TempDir(), "copy")
	if err := linkTree(from, to); err != nil {
		t.Fatal(err)
	}
	if got, want := treeOf(t, to), treeOf(t, from); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var a, b unix.Stat_t
	if err := errors.Join(unix.Stat(filepath.Join(from, "a/run"), &a),
		unix.Stat(filepath.Join(to, "a/run"), &b)); err != nil || a.Ino != b.Ino {
		t.Errorf("it is another file: %v", err)
	}
	if err := linkTree(filepath.Join(from, "none"), to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a tree that is not there: %v", err)
	}
}

// TestCopyFile: a copy has the content and the permissions, and replaces nothing.
func TestCopyFile(t *testing.T) {
	from := filepath.Join(someTree(t), "a/run")
	to := filepath.Join(t.TempDir(), "run")
	if err := copyFile(from, to); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(to)
	if err != nil || info.Mode().Perm() != 0o755 || string(testkit.ReadFile(t, to)) != "#!" {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := copyFile(from, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it was there already: %v", err)
	}
	if err := copyFile(to+"x", to+"y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is nothing to copy: %v", err)
	}
}

// TestMakeRoot: a distribution is there as a whole or not at all, and one that another process has
// made is as good.
func TestMakeRoot(t *testing.T) {
	goroot := t.TempDir()
	for _, part := range []string{"bin", "lib", "pkg", "src/runtime"} {
		if err := os.MkdirAll(filepath.Join(goroot, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"go.env": "", "VERSION": "go1.26.1", "src/runtime/proc.go": "old", "src/runtime/stack.go": "stays",
	} {
		testkit.WriteFile(t, filepath.Join(goroot, name), text)
	}
	cache := t.TempDir()
	root := filepath.Join(cache, "patched")
	files := map[string][]byte{"runtime/proc.go": []byte("new"), "runtime/tandem.go": []byte("added")}
	for range 2 { // the second time it is there
		if err := makeRoot(goroot, root, files); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"proc.go": "new", "stack.go": "stays", "tandem.go": "added",
	} {
		if got := string(testkit.ReadFile(t, filepath.Join(root, "src/runtime", name))); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := string(testkit.ReadFile(t, filepath.Join(goroot, "src/runtime/proc.go"))); got != "old" {
		t.Errorf("the distribution itself was changed: %q", got)
	}
	if err := os.Remove(filepath.Join(goroot, "go.env")); err != nil {
		t.Fatal(err)
	}
	if err := makeRoot(goroot, filepath.Join(cache, "other"), files); err == nil ||
		!strings.HasPrefix(err.Error(), "copying the Go distribution: ") {
		t.Errorf("a part is missing: %v", err)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestForgetUnused: what nobody has used for long is removed, and nothing that is not ours.
func TestForgetUnused(t *testing.T) {
	cache := t.TempDir()
	old := time.Now().Add(-2 * unusedFor)
	for name, isOld := range map[string]bool{
		"go1.26.1-abc": true, "go1.25.3-def": false, "new-123": true, "new-456": false,
		"programs": true, "something": true,
	} {
		dir := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Join(dir, "src"), 0o755); err != nil {
			t.Fatal(err)
		}
		if isOld {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	forgetUnused(cache)
	var left []string
	entries, err := os.ReadDir(cache)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"go1.25.3-def", "new-456", "programs", "something"}; err != nil ||
		!slices.Equal(left, want) {
		t.Errorf("%q is left, want %q; %v", left, want, err)
	}
	forgetUnused(filepath.Join(cache, "none")) // has nothing to forget
}

// TestReadFirst: of several paths the first file that exists is read; an error of another kind ends
// the search.
func TestReadFirst(t *testing.T) {
	dir := t.TempDir()
	testkit.WriteFile(t, filepath.Join(dir, "b"), "B")
	testkit.WriteFile(t, filepath.Join(dir, "c"), "C")
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for paths, want := range map[string]string{"b": "b B", "a|b|c": "b B", "c|b": "c C"} {
		if path, text, err := readFirst(dir, paths); err != nil || path+" "+string(text) != want {
			t.Errorf("%s: %s %s, %v; want %s", paths, path, text, err, want)
		}
	}
	if _, _, err := readFirst(dir, "a|x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none is there: %v", err)
	}
	if path, _, err := readFirst(dir, "d|b"); err == nil || path != "d" {
		t.Errorf("a directory is read as %s", path)
	}
}

// TestAdaptToRelease: files of the overlay import a package from where the release has it.
func TestAdaptToRelease(t *testing.T) {
	const line = `linux "internal/runtime/syscall/linux"`
	text := func() map[string][]byte {
		return map[string][]byte{"runtime/tandem.go": []byte(line), "runtime/proc.go": []byte(line)}
	}
	old, now := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(now, "src/internal/runtime/syscall/linux"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := text()
	if err := adaptToRelease(now, files); err != nil || string(files["runtime/tandem.go"]) != line {
		t.Errorf("a release that has it: %s, %v", files["runtime/tandem.go"], err)
	}
	if err := adaptToRelease(old, files); err != nil ||
		string(files["runtime/tandem.go"]) != `linux "internal/runtime/syscall"` ||
		string(files["runtime/proc.go"]) != line {
		t.Errorf("one that has it elsewhere: %q, %v", files, err)
	}
}

// TestHashFile: equal contents have equal hashes, and a file that is not there has none.
func TestHashFile(t *testing.T) {
	dir := t.TempDir()
	testkit.WriteFile(t, filepath.Join(dir, "a"), "x")
	testkit.WriteFile(t, filepath.Join(dir, "b"), "x")
	testkit.WriteFile(t, filepath.Join(dir, "c"), "y")
	hash := func(name string) string {
		h, err := HashFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if a := hash("a"); a != hash("b") || a == hash("c") || len(a) != 64 {
		t.Errorf("%s, %s, %s", a, hash("b"), hash("c"))
	}
	if h, err := HashFile(filepath.Join(dir, "none")); err == nil || h != "" {
		t.Errorf("%q of a file that is not there", h)
	}
}
