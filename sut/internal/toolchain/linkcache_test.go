package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLinkedPrograms builds a program with and without an entry for it: they are equal, whatever is
// in the entry.
func TestLinkedPrograms(t *testing.T) {
	toolchain, dir := toolchainOfItsOwn(t)
	source := filepath.Join(dir, "main.go")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "go.mod"), "module kept\n\ngo 1.25\n")
	write(source, "package main\n\nfunc main() { println(1) }\n")
	build := func() *Program {
		t.Helper()
		o := BuildOptions{Dir: dir, Package: ".", Output: filepath.Join(dir, "out")}
		p, err := toolchain.Build(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if hash, err := HashFile(o.Output); err != nil || hash != p.Hash {
			t.Fatalf("the hash of the program is %s, not %s: %v", hash, p.Hash, err)
		}
		return p
	}
	entry := func() (dir string, file os.FileInfo) {
		t.Helper()
		found, _ := filepath.Glob(filepath.Join(filepath.Dir(toolchain.Root), entriesDir, "*"))
		if len(found) != 1 {
			t.Fatalf("%d entries, want one", len(found))
		}
		info, err := os.Stat(filepath.Join(found[0], entryProgram))
		if err != nil {
			t.Fatal(err)
		}
		return found[0], info
	}
	first := build().Hash
	at, before := entry()
	if again := build().Hash; again != first {
		t.Error("the second build differs from the first one")
	}
	if _, now := entry(); !os.SameFile(before, now) {
		t.Error("the second build has linked the program, though nothing has changed")
	}
	k := lockEntry(at)
	if k == nil {
		t.Fatal("the entry is in use, though nobody builds")
	}
	if alone := build().Hash; alone != first {
		t.Error("a build without an entry differs from one with it")
	}
	k.lock.Close()
	for name, damage := range map[string]func(program string) error{
		"half of a program": func(program string) error { return os.Truncate(program, before.Size()/2) },
		"no program": func(program string) error {
			return os.WriteFile(program,
				[]byte("something else"), 0o600)
		},
	} {
		if err := damage(filepath.Join(at, entryProgram)); err != nil {
			t.Fatal(err)
		}
		if got := build().Hash; got != first {
			t.Errorf("%s in the entry makes another program", name)
		}
	}
	write(source, "package main\n\nfunc main() { println(2) }\n")
	if build().Hash == first {
		t.Error("another program has the hash of the first one")
	}
}

// TestEntriesThatFail: whatever goes wrong with an entry, the program is that of the sources.
func TestEntriesThatFail(t *testing.T) {
	toolchain, dir := toolchainOfItsOwn(t)
	write := func(number int) {
		t.Helper()
		main := fmt.Sprintf("package main\n\nfunc main() { println(%d) }\n", number)
		err := errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module kept\n\ngo 1.25\n"),
			0o644),
			os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	o := BuildOptions{Dir: dir, Package: ".", Output: filepath.Join(dir, "out")}
	build := func() {
		t.Helper()
		if _, err := toolchain.Build(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	build()
	notes, err := filepath.Glob(filepath.Join(filepath.Dir(toolchain.Root), entriesDir, "*", entryHash))
	if err != nil || len(notes) != 1 {
		t.Fatalf("%d notes, %v", len(notes), err)
	}
	if err := errors.Join(os.Remove(notes[0]), os.Mkdir(notes[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	write(2)
	build() // the note cannot be written
	program := filepath.Join(filepath.Dir(notes[0]), entryProgram)
	if err := errors.Join(os.Remove(program), os.MkdirAll(filepath.Join(program, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	write(3)
	build()
	write(4)
	t.Setenv("GOFLAGS", "-n")
	o.Output = filepath.Join(dir, "new")
	if _, err := toolchain.Build(t.Context(), o); err == nil {
		t.Error("where the go command only says what it would do, there is a program")
	}
}

// toolchainOfItsOwn is a patched distribution at a path below which no program is kept.
func toolchainOfItsOwn(t *testing.T) (toolchain *Toolchain, dir string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	made, err := New(context.Background(), ".", filepath.Join(cache, "tandem"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	root := filepath.Join(dir, "cache", filepath.Base(made.Root))
	if err := os.Mkdir(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(made.Root, root); err != nil {
		t.Fatal(err)
	}
	return &Toolchain{Root: root, Version: made.Version, goFlags: made.goFlags}, dir
}

// TestLimitOfEntries removes the oldest, the old and the broken ones, and none in use.
func TestLimitOfEntries(t *testing.T) {
	cache := t.TempDir()
	add := func(name string, age time.Duration, size int64) string {
		t.Helper()
		dir := filepath.Join(cache, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if size == 0 {
			return dir
		}
		program := filepath.Join(dir, entryProgram)
		if err := os.WriteFile(program, make([]byte, size), 0o755); err != nil {
			t.Fatal(err)
		}
		if then := time.Now().Add(-age); os.Chtimes(program, then, then) != nil {
			t.Fatal("the time of a file cannot be set")
		}
		return dir
	}
	add("new", 0, 40)
	add("middle", time.Hour, 40)
	inUse := lockEntry(add("used", 2*time.Hour, 40))
	if inUse == nil {
		t.Fatal("an entry cannot be locked")
	}
	add("old", 3*time.Hour, 10)
	add("forgotten", unusedFor+time.Hour, 10)
	add("broken", 0, 0)
	limitEntries(cache, 100)
	left := func() (names []string) {
		entries, _ := os.ReadDir(cache)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if got := left(); len(got) != 3 || got[0] != "middle" || got[1] != "new" || got[2] != "used" {
		t.Errorf("left are %v, want middle, new and used", got)
	}
	inUse.lock.Close()
	if limitEntries(cache, 79); len(left()) != 1 {
		t.Errorf("left are %v, want new", left())
	}
}

// TestLinkerFlagsOfUsers: a variable that GOFLAGS has the linker set is set.
func TestLinkerFlagsOfUsers(t *testing.T) {
	t.Setenv("GOFLAGS", "-ldflags=-X=main.word=set-by-the-linker")
	toolchain, dir := toolchainOfItsOwn(t)
	for name, text := range map[string]string{
		"go.mod": "module kept\n\ngo 1.25\n", "main.go": "package main\n\nvar word = \"not " +
			"set\"\n\nfunc main() { println(word) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := toolchain.Build(t.Context(),
		BuildOptions{Dir: dir, Package: ".", Output: filepath.Join(dir, "out")})
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(p.Path); err != nil ||
		!bytes.Contains(content, []byte("set-by-the-linker")) {
		t.Errorf("the program does not have the value: %v", err)
	}
}
