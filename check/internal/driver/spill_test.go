package driver

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/iocache"
)

// TestLostSpill: what was put on disk and is not there any more is an error, and not other bytes.
func TestLostSpill(t *testing.T) {
	s := &spillFile{}
	first, err := s.Append([]byte("an answer"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	second, err := s.Append([]byte("another"))
	if err != nil || second != first+int64(len("an answer")) {
		t.Fatalf("the second is at %d, the first at %d: %v", second, first, err)
	}
	data := make([]byte, len("another"))
	if _, err := s.ReadAt(data, second); err != nil || string(data) != "another" {
		t.Fatalf("%q, %v", data, err)
	}
	if err := s.file.Truncate(second + 1); err != nil {
		t.Fatal(err)
	}
	if n, err := s.ReadAt(data, second); err == nil {
		t.Errorf("%d bytes were read of what is lost", n)
	}
}

// TestSpillAgain: a file that could not be written is used as soon as it can, and what was written
// in part is written over. What the cache took meanwhile is told.
func TestSpillAgain(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 1 << 20
	c, file := NewCache(), &spillFile{file: full}
	c.SpillTo(file)
	c.Limit(limit)
	if notes := crowding(c).Notes(limit, 1); notes != nil {
		t.Errorf("at first: %q", notes)
	}
	cur, err := c.Record(iocache.Root, iocache.Input{Kind: iocache.Connect, Addr: "a:1"}, iocache.Reaction{})
	answer := func(i int) iocache.Reaction {
		return iocache.Reaction{Deliveries: []iocache.Delivery{{Data: fmt.Appendf(nil, "%1000d", i)}}}
	}
	in := iocache.Input{Kind: iocache.Send, Data: []byte("more")}
	var cursors []iocache.NodeID
	for i := 0; err == nil && i < 3000; i++ {
		cursors = append(cursors, cur)
		cur, err = c.Record(cur, in, answer(i))
		if file.file == full && c.Stats().Outage.Failed > 2 {
			file.file = nil // there is room
		}
	}
	defer file.Close()
	if s := c.Stats(); err != nil || s.Spilled == 0 || s.Bytes > limit ||
		!errors.Is(s.Outage.First, unix.ENOSPC) {
		t.Fatalf("%v, %+v", err, s)
	}
	for i, cur := range cursors {
		if _, served, _, hit, err := c.Lookup(cur, in); !hit || err != nil || !served.Equal(answer(i)) {
			t.Fatalf("request %d: %v, hit %v, %v", i, served, hit, err)
		}
	}
	notes := crowding(c).Notes(limit, 1)
	if len(notes) != 1 || !strings.Contains(notes[0], "cache_mib, which is 1:") ||
		!strings.Contains(notes[0], "no space left") ||
		!strings.Contains(notes[0], os.TempDir()) {
		t.Errorf("%q", notes)
	}
}

// TestNotCrowded: of a file that has failed nothing is said if the cache took no more than its
// limit all the same.
func TestNotCrowded(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	c, file := NewCache(), &spillFile{file: full}
	defer file.Close()
	c.SpillTo(file)
	c.Limit(1 << 10)
	cur, err := c.Record(iocache.Root, iocache.Input{Kind: iocache.Connect, Addr: "a:1"}, iocache.Reaction{})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{300, 1 << 20} { // the second one is refused
		_, err = c.Record(cur, iocache.Input{Kind: iocache.Send, Data: fmt.Append(nil, size)},
			iocache.Reaction{Deliveries: []iocache.Delivery{{Data: make([]byte, size)}}})
	}
	var refused *iocache.LimitError
	s := c.Stats()
	if !errors.As(err, &refused) || s.Outage.Failed != 1 || s.Bytes > 1<<10 {
		t.Fatalf("%v, %+v", err, s)
	}
	if notes := crowding(c).Notes(1<<10, 1); notes != nil {
		t.Errorf("%q", notes)
	}
}

// TestCrowdedShares: the number is the one in the configuration, also where several caches share
// it.
func TestCrowdedShares(t *testing.T) {
	notes := Crowding{Exceeded: 1, Why: "it is full"}.Notes(1<<30, 4)
	if len(notes) != 1 || !strings.Contains(notes[0], "took up to 1 KiB more than the share of cache_mib "+
		"that each of 4 workers has (cache_mib is 1024): ") {
		t.Errorf("%q", notes)
	}
	notes = Crowding{Exceeded: 1025, Why: "it is full"}.Notes(0, 1)
	if len(notes) != 1 ||
		!strings.Contains(notes[0], "took up to 2 KiB more than cache_mib, which is 1024: ") {
		t.Errorf("%q", notes)
	}
}
