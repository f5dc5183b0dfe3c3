package toolchain

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGenericAtomics: generic functions that use functions of sync/atomic are told from others.
func TestGenericAtomics(t *testing.T) {
	for body, want := range map[string]bool{
		`import "sync/atomic"; func f[T any]() { atomic.AddInt32(nil, 1) }`:                       true,
		`import a "sync/atomic"; func f[T any]() { go func() { a.StoreInt32(nil, 1) }() }`:        true,
		`import . "sync/atomic"; func f[T any](p *uintptr) uintptr { return LoadUintptr(p) }`:     true,
		`import "sync/atomic"; type m[K, V any] int; func (*m[K, V]) f() { g(atomic.LoadInt64) }`: true,
		`import "sync/atomic"; type m[K any] int; func (m[_]) f() { atomic.AddInt64(nil, 1) }`:    true,
		`import "sync/atomic"; func f() { atomic.AddInt32(nil, 1) }; func g[T any]() { f() }`:     false,
		`import "sync/atomic"; func f[T any](p *atomic.Int32) { p.Add(1) }`:                       false,
		`import atomic "example.com/atomic"; func f[T any]() { atomic.AddInt32(nil, 1) }`:         false,
	} {
		path := filepath.Join(t.TempDir(), "x.go")
		if err := os.WriteFile(path, []byte("package x; "+body), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := callsAtomicsGenerically(path); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", body, got, err, want)
		}
	}
}

// TestStandardLibraryHasNoGenericAtomics: what atomicInstances says of the standard library is
// true.
func TestStandardLibraryHasNoGenericAtomics(t *testing.T) {
	files := 0
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || path == filepath.Join(root, "cmd")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		if generic, err := callsAtomicsGenerically(path); err != nil || generic {
			t.Errorf("%s: %v, %v: generic functions use functions of sync/atomic", path, generic, err)
		}
		return nil
	})
	if err != nil || files < 1000 {
		t.Errorf("%d files: %v", files, err)
	}
}
