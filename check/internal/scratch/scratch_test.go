package scratch

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDirectoriesOfTheKilledAreRemoved: by the next command, and no other is.
func TestDirectoriesOfTheKilledAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used, remove, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(os.TempDir(), "tandem-1") // nobody holds its lock
	fresh := filepath.Join(os.TempDir(), "tandem-2")  // it has no lock yet
	for _, directory := range []string{killed, fresh} {
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{lockFile, "program"} {
		if err := os.WriteFile(filepath.Join(killed, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	another, removeOther, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	for directory, want := range map[string]bool{used: true, killed: false, fresh: true, another: true} {
		if _, err := os.Stat(directory); (err == nil) != want {
			t.Errorf("%s: %v", directory, err)
		}
	}
	remove()
	removeOther()
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
}

func TestNoDirectoryForTemporaryFiles(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if directory, _, err := Make(); err == nil {
		t.Errorf("%s was made", directory)
	}
}
