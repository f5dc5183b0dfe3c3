package sut

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// FuzzDisk reads disks that nobody has written. What is accepted keeps what a worker relies on: a
// directory comes before what is in it, and each link leads to a file before it.
func FuzzDisk(f *testing.F) {
	text := func(s string) string { return string(rune(len(s))) + s }
	const attributes = "\x01\x01\x01\x02\x03"                           // ids, links, time
	file := "f" + text("/d/a") + "\xa4\x83\x02" + attributes + text("") // 0100644
	for _, seed := range []string{"", "\x01", "\x02", "\x01g" + text("/a"),
		"\x01" + file + "\x01\x05\x01\x01hello\x00",
		"\x01" + file + "\x00", "\x01" + file + "\x01\x00\x00l" + text("/d/b") + "\x00",
		"\x01f" + text("/d") + "\xed\x83\x01\x01\x01\x00\x02\x03" + text("/d"),
		"\x01f" + text("/l") + "\xff\xc3\x02" + attributes + text("") + text("to"),
		"\x01g" + text("/b") + "g" + text("/a"), "\x01g" + text("/a") + "g" + text("/a/b"),
		"\x01l" + text("/a") + "\x00", "\x01g" + text("/a/../b")} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := readDisk(data)
		if err != nil {
			return
		}
		for i := range files {
			names, ok := namesOf(files[i].Path)
			if !ok {
				t.Errorf("path %q", files[i].Path)
			}
			if i > 0 {
				if before, _ := namesOf(files[i-1].Path); slices.Compare(before, names) >= 0 {
					t.Errorf("%v comes after %v", names, before)
				}
			}
			if same := files[i].Same; same > i {
				t.Errorf("%s is the same as record %d of %d", files[i].Path, same, i)
			}
			end := int64(0)
			for _, run := range files[i].Runs {
				if run.At < end || run.At%abi.DiskBlock != 0 || len(run.Bytes) == 0 {
					t.Errorf("%s has %d bytes at %d, after %d", files[i].Path, len(run.Bytes), run.At, end)
				}
				end = run.At + int64(len(run.Bytes))
			}
			if end > max(files[i].Size, 0) {
				t.Errorf("%s has %d bytes of %d", files[i].Path, end, files[i].Size)
			}
		}
	})
}

// TestDiskDamage: what is wrong with a disk is said, with the number of the record. Each rule that
// readDisk has is broken once.
func TestDiskDamage(t *testing.T) {
	const file = "\x01f\x04/d/a\xa4\x83\x02\x01\x01\x01\x02\x03\x00" // mode 0100644, not on the machine
	for disk, want := range map[string]string{
		"":                     "it does not begin with the version that is known",
		"\x02":                 "it does not begin with the version that is known",
		"\x01x\x02/a":          "record 0: its kind is 120, which is unknown",
		"\x01g\x02/":           "record 0: 1 bytes are missing",
		"\x01g\x04/a/.":        `record 0: "/a/." is no path`,
		"\x01g\x02/bg\x02/a":   "record 1: /a comes after /b",
		"\x01g\x02/ag\x04/a/b": "record 1: /a/b is below /a, which is no directory",
		"\x01g\x01/":           "record 0: the root is no directory of the machine",
		"\x01l\x02/a\x00":      "record 0: /a is a name of nothing that can have several",
		file + "\x00": "record 0: its content is that of a file which the " +
			"machine does not have",
		file + "\x01\x05\x02\x01hello\x00": "record 0: a number is missing or too large",
		file + "\x01\x05\x01\x02":          "record 0: a number is missing or too large",
		file + "\x01\x05\x01\x01hell":      "record 0: 1 bytes are missing",
		"\x01f\x02/a\x80\x80\x01":          "record 0: a number is missing or too large",
		"\x01f\x02/a\xa4\x23\x01\x01\x01\x02\x03\x00": "record 0: its mode is 10644, and the machine does " +
			"not have it",
	} {
		if _, err := readDisk([]byte(disk)); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", disk, err, want)
		}
	}
}
