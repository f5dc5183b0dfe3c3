package openfiles

import (
	"fmt"
	"maps"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
)

// slot is an entry of a table of open files: of which description, and whether it is closed when a
// program is executed.
type slot struct {
	description int
	closeOnExec bool
}

// table is a table of open files that carries out the calls which Place adds.
type table map[uint64]slot

func (f table) carryOut(c tracer.Call) error {
	a := c.Arguments
	from, open := f[a[0]]
	if !open {
		return fmt.Errorf("%s: descriptor %d is not open", c.Name, a[0])
	}
	switch c.Number {
	case unix.SYS_DUP3:
		if a[0] == a[1] {
			return fmt.Errorf("%s: %d onto itself", c.Name, a[0])
		}
		f[a[1]] = slot{from.description, a[2]&unix.O_CLOEXEC != 0}
	case unix.SYS_CLOSE:
		delete(f, a[0])
	case unix.SYS_FCNTL:
		if a[1] == unix.F_SETFD {
			f[a[0]] = slot{from.description, a[2]&unix.FD_CLOEXEC != 0}
		}
	case unix.SYS_EPOLL_CTL:
		if _, open := f[a[2]]; !open {
			return fmt.Errorf("%s: descriptor %d is not open", c.Name, a[2])
		}
	default:
		return fmt.Errorf("%s is call %d", c.Name, c.Number)
	}
	return nil
}

// TestPlace: whatever numbers the descriptors of a process have, of how many descriptions they are,
// and which of them are duplicates: when the calls were carried out, on descriptions that came as
// 0, 1, 2 and so on, the table of open files is that of the process.
func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all Descriptors
		want, received := table{}, table{}
		number := -1
		for n := range rapid.IntRange(0, 8).Draw(t, "descriptors") {
			number += rapid.IntRange(1, 4).Draw(t, "step")
			d := Descriptor{Number: number, Twin: -1, closeOnExec: rapid.Bool().Draw(t, "close on exec")}
			description := len(received)
			if n > 0 && rapid.Bool().Draw(t, "a twin") {
				// Twins are of a first one: findTwin finds the earliest.
				d.Twin = rapid.IntRange(0, n-1).Draw(t, "of")
				for all[d.Twin].Twin >= 0 {
					d.Twin = all[d.Twin].Twin
				}
				description = want[uint64(all[d.Twin].Number)].description
			} else {
				received[uint64(description)] = slot{description, true}
				if rapid.Bool().Draw(t, "locked") {
					d.locks = []lock{{class: "POSIX"}, {class: "FLOCK"}}
				}
			}
			all = append(all, d)
			want[uint64(number)] = slot{description, d.closeOnExec}
		}
		for n := range all {
			if rapid.IntRange(0, 3).Draw(t, "watches") == 0 {
				all[n].watched = []registration{{number: rapid.SampledFrom(all).Draw(t, "watched").Number}}
			}
		}
		if all.Descriptions() != len(received) {
			t.Fatalf("%d descriptions, want %d", all.Descriptions(), len(received))
		}
		b := tracer.NewProgram(1 << 20).Batch()
		all.Place(b)
		locks := 0
		for _, c := range b.Calls() {
			if err := received.carryOut(c); err != nil {
				t.Fatal(err)
			}
			if c.Number == unix.SYS_FCNTL && c.Arguments[1] == unix.F_SETLK {
				locks++
			} else if locks > 0 && c.Number == unix.SYS_CLOSE {
				t.Errorf("%s after a lock was taken, which may lose it", c.Name)
			}
		}
		if !maps.Equal(received, want) {
			t.Errorf("%v are open, want %v", received, want)
		}
		wanted := 0
		for _, d := range all {
			wanted += len(d.locks) / 2 // those of the process
		}
		if locks != wanted {
			t.Errorf("%d locks are taken, want %d", locks, wanted)
		}
	})
}

// TestFreeNumbers against the table of open files: they are what the kernel would give next.
func TestFreeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		taken := rapid.SliceOfNDistinct(rapid.IntRange(0, 12), 0, 8, rapid.ID[int]).Draw(t, "numbers")
		var all Descriptors
		open := map[int]bool{}
		for _, n := range taken {
			all = append(all, Descriptor{Number: n})
			open[n] = true
		}
		for _, got := range all.FreeNumbers(rapid.IntRange(0, 5).Draw(t, "count")) {
			next := 0
			for open[next] {
				next++
			}
			if got != next {
				t.Fatalf("%d is free, and %d is given next", got, next)
			}
			open[got] = true
		}
	})
}

// FuzzParseLock: whatever it takes is a lock that can be taken.
func FuzzParseLock(f *testing.F) {
	f.Add("1: POSIX  ADVISORY  WRITE 4032 00:26:123 0 EOF")
	f.Add("1: OFDLCK ADVISORY  READ -1 00:26:123 5 9")
	f.Fuzz(func(t *testing.T, text string) {
		l, ok := parseLock(text)
		if ok && (l.length < 0 || l.class == "") {
			t.Errorf("%q is taken for %+v", text, l)
		}
	})
}

// FuzzParseRegistration: what an epoll instance watches is read, or refused.
func FuzzParseRegistration(f *testing.F) {
	f.Add("tfd:        5 events:       19 data:                5  pos:0 ino:8 sdev:9\n")
	f.Fuzz(func(t *testing.T, line string) {
		if r, _, ok := parseRegistration(line); ok && r.number < 0 {
			t.Errorf("%q is about descriptor %d", line, r.number)
		}
	})
}

// TestParseRegistration reads a line as the kernel writes it, in which one number is decimal.
func TestParseRegistration(t *testing.T) {
	const line = "tfd:       10 events: 80000019 data: 7f0000000a00  pos:0 ino:8f sdev:9\n"
	want := registration{number: 10, events: 0x80000019, data: 0x7f0000000a00}
	if got, inode, ok := parseRegistration(line); !ok || got != want || inode != 0x8f {
		t.Errorf("%+v, inode %#x, %t", got, inode, ok)
	}
	for _, line := range []string{"", "pos: 0", "inotify wd:1 ino:2", "tfd: x events: 1 data: 1 ino:1",
		"tfd: 1 events: x data: 1 ino:1", "tfd: 1 events: 1 data: 1",
		"tfd: 99999999999 events: 1 data: 1 ino:1"} {
		if r, _, ok := parseRegistration(line); ok {
			t.Errorf("%q is taken for %+v", line, r)
		}
	}
}
