package fileutil

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTryLock: a lock keeps others out until the file is closed.
func TestTryLock(t *testing.T) {
	open := func() *os.File {
		f, err := os.Open(t.TempDir() + "/..")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := TryLock(first); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(second); err != ErrLocked {
		t.Errorf("the second lock: %v", err)
	}
	first.Close()
	if err := TryLock(second); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
	second.Close()
	if err := TryLock(second); err == nil || err == ErrLocked {
		t.Errorf("of a closed file: %v", err)
	}
}

// TestOpenable: the path that is returned is one of the same file.
func TestOpenable(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(filepath.Join(mkdir(t, dir, "a/b"), ".."))
	for path, want := range map[string]string{
		filepath.Join(dir, "a/main.go"):   "./main.go",
		filepath.Join(dir, "a/b/main.go"): "b/main.go",
		filepath.Join(dir, "c/main.go"):   "../c/main.go",
		"/c.go":                           "/c.go",
		"main.go":                         "main.go",
	} {
		if got := Openable(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func mkdir(t *testing.T, dir, path string) string {
	t.Helper()
	path = filepath.Join(dir, path)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
