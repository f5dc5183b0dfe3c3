package fileutil

import (
	"os"
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
