package scripts_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// copyOfTree is a copy of the files of the repository, without those that git does not know. It is
// the tree of a release, and no repository.
func copyOfTree(t *testing.T, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = ".."
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join("..", name))
		if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // removed, and not committed yet; or a link
		}
		data, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}

// release makes a release in a tree, in an environment with additions. It returns the archive.
func release(t *testing.T, tree string, additions ...string) []byte {
	t.Helper()
	make := exec.Command("make", "-s", "release", "VERSION=v0.1.0")
	make.Dir = tree
	make.Env = append(os.Environ(), append(additions, "SOURCE_DATE_EPOCH=86400")...)
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(tree, "bin/release/tandem-v0.1.0-linux-amd64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestReleaseIsReproducible: two trees with the same files give the same archive, byte for byte,
// whatever directories and environments they are in.
func TestReleaseIsReproducible(t *testing.T) {
	here, there := t.TempDir(), filepath.Join(t.TempDir(), "a", "deeper", "directory")
	copyOfTree(t, here)
	copyOfTree(t, there)
	first := release(t, here, "TZ=Asia/Tokyo", "HOME="+os.Getenv("HOME"))
	second := release(t, there, "GOFLAGS=-buildvcs=false -tags=x", "LC_ALL=C.UTF-8", "GOAMD64=v2")
	if !bytes.Equal(first, second) {
		t.Errorf("the archives differ: %s", firstDifference(t, first, second))
	}
	check := exec.Command("sha256sum", "-c", "sha256sums")
	check.Dir = filepath.Join(here, "bin/release")
	sums, err := check.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, sums)
	}
	files := unpacked(t, first)
	for _, name := range []string{"tandem", "LICENSE", "README.md", "man/man1/tandem.1",
		"man/man1/tandem-check.1", "completions/tandem.bash", "completions/tandem.zsh",
		"completions/tandem.fish"} {
		if len(files["tandem-v0.1.0-linux-amd64/"+name]) == 0 {
			t.Errorf("there is no %s", name)
		}
	}
	program := filepath.Join(t.TempDir(), "tandem")
	if err := os.WriteFile(program, files["tandem-v0.1.0-linux-amd64/tandem"], 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "tandem version v0.1.0, go") {
		t.Errorf("%v: %s", err, out)
	}
	// The shim is a part of it, so that no C compiler is needed; and no directory is.
	text := files["tandem-v0.1.0-linux-amd64/tandem"]
	if !bytes.Contains(text, []byte("linux-vdso.so.1")) || bytes.Contains(text, []byte(here)) {
		t.Error("the shim is not in the program, or the directory of the build is")
	}
}

// unpacked are the files of an archive. All are of one date and owner, so that this is no source of
// differences.
func unpacked(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(86400, 0)) || h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 {
			t.Errorf("%s: %v, owner %d, mode %o", h.Name, h.ModTime, h.Uid, h.Mode)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// firstDifference names the files that differ, in the order of their names.
func firstDifference(t *testing.T, first, second []byte) string {
	a, b := unpacked(t, first), unpacked(t, second)
	var names []string
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// TestReleaseIsRefused: a version that go install would not take is refused, before anything is
// built.
func TestReleaseIsRefused(t *testing.T) {
	for _, version := range []string{"", "0.1.0", "v1", "v0.1.0;", "latest"} {
		out, err := exec.Command("./release.sh", version, t.TempDir()).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "is not like v0.1.0") {
			t.Errorf("%q: %v, %s", version, err, out)
		}
	}
}
