package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestStamps: a file is trusted once it has been left alone for a while, until it is written or
// read, and not if it was changed just now.
func TestStamps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.WriteFile(t, file, "content")
	s, held := Stamps{}, &Content{}
	now := func() *unix.Stat_t {
		var st unix.Stat_t
		if err := unix.Lstat(file, &st); err != nil {
			t.Fatal(err)
		}
		return &st
	}
	note := func() {
		settled, err := settledBefore()
		if err != nil {
			t.Fatal(err)
		}
		s.note(now(), held, settled)
	}
	trusted := func() bool { return s.same(now(), held) }
	const old = 10 * time.Second
	if note(); trusted() {
		t.Error("a file is trusted that was written just now")
	}
	times := []unix.Timespec{unix.NsecToTimespec(time.Now().Add(-old).UnixNano()),
		unix.NsecToTimespec(time.Now().Add(-old).UnixNano())}
	// its time of change cannot be set
	testkit.Await(t, "the file is trusted", func() bool { note(); return trusted() })
	for what, change := range map[string]func() error{
		"written":  func() error { return os.WriteFile(file, []byte("CONTENT"), 0o600) },
		"its time": func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, file, times, 0) },
		"its mode": func() error { return os.Chmod(file, 0o640) },
	} {
		testkit.Await(t, "the file is trusted", func() bool { note(); return trusted() })
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if trusted() {
			t.Errorf("a file is trusted that was changed: %s", what)
		}
	}
}
