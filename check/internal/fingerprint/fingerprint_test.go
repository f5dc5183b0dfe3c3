package fingerprint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/peers"
)

// TestFiles: a change of any file that a command names, or that is bound, is noticed. No other is.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{
		"program", "server.py", "x.conf", "script", "relative", "www/a/b", "bound/c", "unrelated",
	} {
		writeFile(t, file(name), name)
	}
	changed := changesSince(t, &peers.Group{
		Peers: []peers.Peer{
			{Name: "one", Command: []string{
				file("program"), file("server.py"), "--config=" + file("x.conf"), file("www"),
				"{scratch}/x", "/", "/dev/null", "/proc",
			}},
			{Name: "two", Command: []string{"sh", "-c", "cd /;exec '" + file("script") + "'>/dev/null"}},
			{Name: "three", Command: []string{"sh", "relative", file("missing")}, Directory: dir},
		},
		Binds: map[string]string{"/root": file("bound"), "/mnt": "{scratch}/mnt"},
	})
	writeFile(t, file("unrelated"), "changed")
	if got := changed(); got != nil {
		t.Errorf("nothing that matters has changed: %q", got)
	}
	for name, want := range map[string][]string{
		"program":   {"peer one: " + file("program"), "peer one: its program"},
		"server.py": {"peer one: " + file("server.py")},
		"x.conf":    {"peer one: " + file("x.conf")},
		"www/a/b":   {"peer one: " + file("www")},
		"www/new":   {"peer one: " + file("www")},
		"script":    {"peer two: " + file("script")},
		"relative":  {"peer three: " + file("relative")},
		"missing":   {"peer three: " + file("missing")},
		"bound/c":   {"what is bound over /root"},
	} {
		was, missing := os.ReadFile(file(name))
		info, _ := os.Stat(file(name))
		writeFile(t, file(name), name+", changed")
		if diff := cmp.Diff(want, changed()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if missing != nil {
			os.Remove(file(name))
			continue
		}
		writeFile(t, file(name), string(was))
		if err := os.Chtimes(file(name), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	if got := changed(); got != nil {
		t.Errorf("all is as it was: %q", got)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// changesSince describes the files of peers. What it returns names what has changed since.
func changesSince(t *testing.T, g *peers.Group) func() []string {
	before := Files(g)
	return func() (list []string) {
		t.Helper()
		for _, line := range Changed(before, Files(g)) {
			what, ok := strings.CutSuffix(line, " has changed")
			if !ok {
				t.Errorf("an unexpected line: %q", line)
			}
			list = append(list, what)
		}
		return list
	}
}

// TestLinksAreFollowed: what a link leads to counts, be it the directory itself or a file in it.
func TestLinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	made := errors.Join(os.Mkdir(in("release"), 0o700), os.Symlink("release", in("current")),
		os.Symlink("../real", in("release/linked")))
	if made != nil {
		t.Fatal(made)
	}
	writeFile(t, in("real"), "good")
	writeFile(t, in("release/own"), "good")
	seen := map[string]bool{hashPath(in("current")): true}
	writeFile(t, in("release/own"), "worse")
	seen[hashPath(in("current"))] = true
	writeFile(t, in("real"), "worse")
	seen[hashPath(in("current"))] = true
	if len(seen) != 3 {
		t.Errorf("three states are told apart as %d: %v", len(seen), seen)
	}
	if hashPath(in("current")) != hashPath(in("release")) {
		t.Error("the same directory by another name has changed")
	}
}

// TestLargeFiles are told apart by their size and time.
func TestLargeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	writeFile(t, path, "")
	seen := map[string]bool{}
	for _, change := range []func() error{
		func() error { return os.Truncate(path, maxRead+1) },
		func() error { return os.Truncate(path, maxRead+2) },
		func() error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		seen[hashPath(path)] = true
	}
	if len(seen) != 3 {
		t.Errorf("three files are told apart as %d: %v", len(seen), seen)
	}
}

// TestLargeDirectories: directories with more files than are looked at count as the same.
func TestLargeDirectories(t *testing.T) {
	dir := t.TempDir()
	few := hashTree(dir)
	for n := range maxListed {
		name := string(rune('a'+n%26)) + strings.Repeat("x", n/26%200) + strings.Repeat("y", n/5200)
		if err := os.Symlink("x", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if hash := hashTree(dir); hash != errTooMany.Error() || few == hash {
		t.Errorf("the hash of many files is %q, that of none %q", hash, few)
	}
}
