package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestScratchOfTheKilledIsRemoved: by the next command, and nothing else is.
func TestScratchOfTheKilledIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used, remove, err := makeScratch()
	if err != nil {
		t.Fatal(err)
	}
	killed, fresh := filepath.Join(os.TempDir(), "tandem-1"), filepath.Join(os.TempDir(), "tandem-2") // nobody holds the lock; it is not there yet
	for _, directory := range []string{killed, fresh} {
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(killed, scratchLock), "")
	writeFile(t, filepath.Join(killed, "program"), "")
	another, removeOther, err := makeScratch()
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
