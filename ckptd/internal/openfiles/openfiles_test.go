package openfiles

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
)

// TestParseLock reads lines as the kernel writes them, and no others.
func TestParseLock(t *testing.T) {
	for text, want := range map[string]lock{
		"1: POSIX  ADVISORY  WRITE 4032 00:26:123 0 EOF": {class: "POSIX", write: true},
		"2: FLOCK  ADVISORY  READ 4032 00:26:123 0 EOF":  {class: "FLOCK"},
		"1: OFDLCK ADVISORY  READ -1 00:26:123 5 9":      {class: "OFDLCK", from: 5, length: 5},
		"1: POSIX  ADVISORY  WRITE 1 00:26:123 7 7":      {class: "POSIX", write: true, from: 7, length: 1},
	} {
		if got, ok := parseLock(text); !ok || got != want {
			t.Errorf("%q is taken for %+v, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "1: LEASE  ACTIVE    READ 4032 00:26:123 0 EOF",
		"1: POSIX  MANDATORY WRITE 4032 00:26:123 0 EOF", "1: POSIX  ADVISORY  WRITE 4032 00:26:123 0",
		"1: POSIX  ADVISORY  WRITE 4032 00:26:123 x EOF", "1: POSIX  ADVISORY  WRITE 4032 00:26:123 9 8",
		"1: DELEG  ADVISORY  READ 4032 00:26:123 0 EOF"} {
		if l, ok := parseLock(text); ok {
			t.Errorf("%q is taken for %+v", text, l)
		}
	}
}

// TestDescriptors counts descriptors, descriptions and numbers.
func TestDescriptors(t *testing.T) {
	all := Descriptors{{Number: 0, Twin: -1}, {Number: 2, Twin: 0}, {Number: 7, Twin: -1}}
	if got := all.Descriptions(); got != 2 {
		t.Errorf("%d descriptions", got)
	}
	if got := all.Above(); got != 8 {
		t.Errorf("%d is above all", got)
	}
	if got := all.FreeNumbers(6); !slices.Equal(got, []int{1, 3, 4, 5, 6, 8}) {
		t.Errorf("%d are free", got)
	}
	none := Descriptors(nil)
	if none.Above() != 0 || none.Descriptions() != 0 || none.FreeNumbers(1)[0] != 0 {
		t.Error("no descriptors have numbers")
	}
}

// TestEnds knows a pipe and a pair of sockets by both ends, each of them once.
func TestEnds(t *testing.T) {
	const read, write = unix.O_RDONLY, unix.O_WRONLY
	end := func(flags, twin int, inherited bool) Descriptor {
		return Descriptor{pipe: "pipe:[7]", flags: flags, Twin: twin, inherited: inherited}
	}
	pair := func(own, other uint64) Descriptor {
		return Descriptor{pair: [2]uint64{own, other}, Twin: -1}
	}
	for name, test := range map[string]struct {
		all  []surveyed
		fine bool
	}{
		"nothing":   {nil, true},
		"both ends": {[]surveyed{{1, Descriptors{end(read, -1, false), end(write, -1, false)}}}, true},
		"an end each": {[]surveyed{{1, Descriptors{end(read, -1, false)}},
			{2, Descriptors{end(write, -1, false)}}}, true},
		"a twin": {[]surveyed{{1, Descriptors{end(read, -1, false), end(write, -1, false),
			end(write, 1, false)}}}, true},
		"of the parent": {[]surveyed{{1, Descriptors{end(read, -1, false), end(write, -1, false)}},
			{2, Descriptors{end(write, -1, true)}}}, true},
		"one end":          {[]surveyed{{1, Descriptors{end(read, -1, false)}}}, false},
		"an end twice":     {[]surveyed{{1, Descriptors{end(read, -1, false), end(read, -1, false)}}}, false},
		"a pair":           {[]surveyed{{1, Descriptors{pair(5, 6)}}, {2, Descriptors{pair(6, 5)}}}, true},
		"half a pair":      {[]surveyed{{1, Descriptors{pair(5, 6)}}}, false},
		"half of another":  {[]surveyed{{1, Descriptors{pair(5, 6), pair(7, 5)}}}, false},
		"neither, nothing": {[]surveyed{{1, Descriptors{{Twin: -1}}}}, true},
	} {
		err := errors.Join(checkPairs(test.all), checkPipes(test.all))
		if (err == nil) != test.fine || err != nil && !errors.Is(err, incarnation.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOwnFiles describes files of the test itself, and makes others like them.
func TestOwnFiles(t *testing.T) {
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	// again makes a file like one of the test, and returns a descriptor of it.
	again := func(fd int) int {
		t.Helper()
		f, err := openFileOf(os.Getpid(), pidfd, fd)
		if err != nil {
			t.Fatal(err)
		}
		d := Descriptor{Number: fd, flags: f.flags &^ unix.O_CLOEXEC, Twin: -1}
		s := NewSurvey(nil, nil, nil)
		if err := s.describe(&d, f); err != nil {
			t.Fatal(err)
		}
		of := s.record.Make()
		of.Root = root
		t.Cleanup(of.Close)
		made, err := d.make(of)
		if err != nil {
			t.Fatal(err)
		}
		of.CloseLater(made)
		return made
	}
	file, err := unix.Open(path, unix.O_RDWR|unix.O_APPEND|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(file)
	if _, err := unix.Seek(file, 4, unix.SEEK_SET); err != nil {
		t.Fatal(err)
	}
	made := again(file)
	flags, err := unix.FcntlInt(uintptr(made), unix.F_GETFL, 0)
	if err != nil || flags&(unix.O_ACCMODE|unix.O_APPEND) != unix.O_RDWR|unix.O_APPEND {
		t.Errorf("the file has the flags %#x: %v", flags, err)
	}
	rest := make([]byte, 10)
	if n, err := unix.Read(made, rest); string(rest[:max(n, 0)]) != "456789" {
		t.Errorf("the file goes on with %q: %v", rest[:max(n, 0)], err)
	}
	counter, err := unix.Eventfd(5, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(counter)
	var count [8]byte
	if n, err := unix.Read(again(counter), count[:]); n != 8 || count[0] != 5 {
		t.Errorf("the counter is at %d: %v", count, err)
	}
}

// TestOpenBelow takes a directory for the root: no link leads out of it.
func TestOpenBelow(t *testing.T) {
	below := t.TempDir()
	if err := errors.Join(os.WriteFile(below+"/inside", []byte("text"), 0o600),
		os.Symlink("/inside", below+"/link"),
		os.Symlink("../../../../etc/passwd", below+"/out")); err != nil {
		t.Fatal(err)
	}
	root, err := unix.Open(below, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	fd, err := OpenBelow(root, "/link", unix.O_RDONLY, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	text := make([]byte, 10)
	if n, err := unix.Read(fd, text); string(text[:max(n, 0)]) != "ext" {
		t.Errorf("the file goes on with %q: %v", text[:max(n, 0)], err)
	}
	if fd, err := OpenBelow(root, "/out", unix.O_RDONLY, 0, false); err == nil {
		unix.Close(fd)
		t.Error("a link leads out of the root directory")
	} else if !strings.HasPrefix(err.Error(), "open /out: ") {
		t.Error(err)
	}
}
