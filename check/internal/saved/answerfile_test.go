package saved

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
)

func openKept(t testing.TB, path string) *AnswerFile {
	t.Helper()
	k, err := OpenAnswerFile(path, "these peers", nil, 0, isThese, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func isThese(description string) error {
	if description != "these peers" {
		return fmt.Errorf("it is of %s", description)
	}
	return nil
}

// TestAnswerFileOfAnotherRun: answers that contradict those of the run are left as they are, and
// the check goes on.
func TestAnswerFileOfAnotherRun(t *testing.T) {
	path, whole, _ := keptFile(t)
	var said []string
	k, err := OpenAnswerFile(path, "these peers", nil, 0, isThese, func(err error) {
		said = append(said, err.Error())
	})
	if err != nil {
		t.Fatal(err)
	}
	other := asked
	other.Reaction = model.Reaction{}
	run := driver.NewCache()
	for _, e := range []iocache.Entry{connected, other, {At: 2, Input: model.Input{Kind: model.Close}}} {
		if err := run.Restore(e); err != nil {
			t.Fatal(err)
		}
		k.Follow(run, e)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "the run that goes on has other answers than it") ||
		!bytes.Equal(read(t, path), whole) {
		t.Errorf("%q, %d bytes of %d", said, len(read(t, path)), len(whole))
	}
}

// keptFile is a file with some answers.
func keptFile(t *testing.T) (path string, whole []byte, ends map[int]bool) {
	path, ends = filepath.Join(t.TempDir(), "kept"), map[int]bool{}
	k := openKept(t, path)
	ends[int(k.end)] = true
	for _, e := range []iocache.Entry{connected, asked, {At: 2, Input: model.Input{Kind: model.Close}}} {
		k.Record(e)
		ends[int(k.end)] = true
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	return path, read(t, path), ends
}

// TestTruncatedAnswerFile cuts the file off at every byte: what is whole is kept, and gone on with.
func TestTruncatedAnswerFile(t *testing.T) {
	path, whole, ends := keptFile(t)
	for length := range len(whole) {
		write(t, path, whole[:length])
		k, err := OpenAnswerFile(path, "these peers", nil, 0, isThese, nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", length, err)
		}
		if !ends[int(k.end)] || ends[length] && int(k.end) != length {
			t.Fatalf("of %d bytes %d are whole", length, k.end)
		}
		end := k.end
		k.Record(iocache.Entry{Input: model.Input{Kind: model.Connect, Addr: "127.0.0.1:81"}})
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		again := openKept(t, path)
		if again.end <= end {
			t.Fatalf("%d bytes: what was kept afterwards is lost", length)
		}
		again.Close()
	}
}

// TestDamagedAnswerFile flips bits in the middle: that is an error that names the file, and loses
// nothing.
func TestDamagedAnswerFile(t *testing.T) {
	path, whole, _ := keptFile(t)
	for at := range len(whole) - 20 { // the last record may be torn
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		write(t, path, damaged)
		if _, err := OpenAnswerFile(path, "these peers", nil, 0, isThese, nil); err == nil ||
			!strings.Contains(err.Error(), path) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if left := read(t, path); !bytes.Equal(left, damaged) {
			t.Fatalf("byte %d: of %d bytes %d are left", at, len(damaged), len(left))
		}
	}
}

// TestAnswerFileIsOfOneCheck: it is locked, and for the same peers.
func TestAnswerFileIsOfOneCheck(t *testing.T) {
	path, _, _ := keptFile(t)
	k := openKept(t, path)
	if _, err := OpenAnswerFile(path, "these peers", nil, 0, isThese, nil); err == nil ||
		!strings.Contains(err.Error(), "another check uses it") {
		t.Errorf("opened twice: %v", err)
	}
	k.Close()
	others := errors.New("these are others")
	if _, err := OpenAnswerFile(path, "those peers", nil, 0, func(string) error {
		return others
	}, nil); !errors.Is(err, others) {
		t.Errorf("opened for other peers: %v", err)
	}
	if _, err := OpenAnswerFile(t.TempDir(), "these peers", nil, 0, isThese, nil); err == nil {
		t.Error("a directory is opened")
	}
}

// TestAnswerFileOnFullDisk: the check goes on, and what was kept stays.
func TestAnswerFileOnFullDisk(t *testing.T) {
	path, whole, _ := keptFile(t)
	told := 0
	k, err := OpenAnswerFile(path, "these peers", nil, 0, isThese, func(error) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	k.file.Close()
	k.file = readOnly // nothing can be written any more
	k.Record(connected)
	k.Record(connected)
	if left := read(t, path); told != 1 || !bytes.Equal(left, whole) {
		t.Errorf("told %d times; %d bytes were kept, and %d are left", told, len(whole), len(left))
	}
	readOnly.Close()
}

// TestNoRoomForWhatIsKept: what cannot be read for want of room is not damaged. The error says what
// to do about the room, of a file that is kept and of a saved run.
func TestNoRoomForWhatIsKept(t *testing.T) {
	const limit = 1 << 16
	dir := t.TempDir()
	path, long := filepath.Join(dir, "kept"), []iocache.Entry{connected}
	k := openKept(t, path)
	for i := range 200 {
		long = append(long, iocache.Entry{At: iocache.NodeID(i + 1), Input: asked.Input,
			Reaction: model.Reaction{Deliveries: []model.Delivery{{Data: fmt.Appendf(nil, "%1000d", i)}}}})
	}
	for _, e := range long {
		k.Record(e)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	whole := read(t, path)
	r, err := New(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Save(someState(1), answers(true, long...)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "missing")) // so nothing can be spilled
	_, kept := OpenAnswerFile(path, "these peers", nil, limit, isThese, nil)
	for what, err := range map[string]error{"a file that is kept": kept,
		"a saved run": r.Recall(driver.RoomyCache(nil, limit))} {
		var full *iocache.LimitError
		if !errors.As(err, &full) || strings.Contains(err.Error(), "damaged") ||
			!strings.Contains(err.Error(), "make room in the directory for temporary files") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !bytes.Equal(read(t, path), whole) {
		t.Error("the file was changed")
	}
	t.Setenv("TMPDIR", dir)
	again, err := OpenAnswerFile(path, "these peers", nil, limit, isThese, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Cache().Stats().Spilled == 0 {
		t.Error("nothing was spilled where there is room")
	}
}

// TestKeptUnderMasks: answers that agree only by a rule are read back under the same rule, and
// refused without it.
func TestKeptUnderMasks(t *testing.T) {
	masks := []iocache.Mask{{Pattern: regexp.MustCompile(`Date: \d`)}}
	path := filepath.Join(t.TempDir(), "kept")
	k, err := OpenAnswerFile(path, "these peers", masks, 0, isThese, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := k.cache.Cursor(iocache.Group)
	for _, execution := range [][]struct{ request, answer string }{
		{{"GET", "Date: 1"}},
		{{"G", ""}, {"ET", "Date: 2"}}, // the same request in two pieces
		{{"G", ""}, {"ET", "Date: 3"}, {"GETGET", "Date: 1Date: 2"}},
		{{"G", ""}, {"ET", "Date: 3"}, {"GET", "Date: 4"}},
	} {
		x.Rewind()
		inputs := []model.Input{{Kind: model.Connect, Addr: "127.0.0.1:80"}}
		reactions := []model.Reaction{{}}
		for _, said := range execution {
			inputs = append(inputs, model.Input{Kind: model.Send, Data: []byte(said.request)})
			reactions = append(reactions,
				model.Reaction{Deliveries: []model.Delivery{{Data: []byte(said.answer)}}})
		}
		for i, in := range inputs {
			_, rest, hit, err := x.Lookup(in)
			if err != nil {
				t.Fatal(err)
			}
			if hit {
				continue
			}
			e, err := x.Record(rest, reactions[i])
			if err != nil {
				t.Fatal(err)
			}
			k.Record(e)
		}
	}
	want := k.cache.Stats().Nodes
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenAnswerFile(path, "these peers", masks, 0, isThese, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.cache.Stats().Nodes; got != want {
		t.Errorf("read back, the cache has %d places, and had %d", got, want)
	}
	again.Close()
	if _, err := OpenAnswerFile(path, "these peers", nil, 0, isThese, nil); err == nil ||
		!strings.Contains(err.Error(), "other masks") {
		t.Errorf("without the rules: %v", err)
	}
}
