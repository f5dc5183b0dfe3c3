package saved

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/dials"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// someState is a state whose fields all have a value, with a number to tell it apart.
func someState(n int) *State {
	return &State{
		Asked: []byte(`{"package":"./x"}`), Build: "b1",
		Counts: execution.Counts{PeerCounts: execution.PeerCounts{Hits: n},
			Elapsed: time.Second}, Executions: n, Limited: "x.go:1",
		Violations: []Violation{{Schedule: []model.Action{{Goroutine: 1<<64 - 1, Choice: 2}},
			Hits: []bool{true, false}, Tests: []string{"TestA"}}},
		Dialled: &dials.Notes{Dials: []sut.Dial{{Name: "db.test", Result: syscall.ENOENT}, {Own: true,
			Serves: true, Address: proxy.Address{At: netip.MustParseAddrPort("[::]:80")}}}, Reached: true},
		Search: []byte("state\nof the search\x00"),
	}
}

// answers are records of the file of the cache, the first of them with its header.
func answers(first bool, entries ...iocache.Entry) []byte {
	var b []byte
	if first {
		b = iocache.AppendHeader(nil, "")
	}
	for _, e := range entries {
		b = iocache.AppendEntry(b, e)
	}
	return b
}

var (
	connected = iocache.Entry{Input: model.Input{Kind: model.Connect, Addr: "127.0.0.1:80"}}
	asked     = iocache.Entry{At: 1, Input: model.Input{Kind: model.Send, Data: []byte("a")},
		Reaction: model.Reaction{Deliveries: []model.Delivery{{Data: []byte("A")}}}}
)

// savedTwice is a directory with two states, the second of which rests on one more answer.
func savedTwice(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs", "x")
	r, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Save(someState(1), answers(true, connected)); err != nil {
		t.Fatal(err)
	}
	if err := r.Save(someState(2), answers(false, asked)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recalled is the cache of a run that is gone on with.
func recalled(t *testing.T, r *Run) *iocache.Cache {
	t.Helper()
	c := driver.NewCache()
	if err := r.Recall(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// sameAddress compares addresses, whose fields are not exported.
var sameAddress = cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })

func TestSavedRun(t *testing.T) {
	dir := savedTwice(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := someState(2)
	want.CacheBytes = int64(len(answers(true, connected, asked)))
	if diff := cmp.Diff(want, r.state, cmp.AllowUnexported(State{}), sameAddress); diff != "" ||
		string(r.Asked()) != `{"package":"./x"}` || r.Elapsed() != time.Second {
		t.Errorf("asked %s, elapsed %v, state (-saved +opened):\n%s", r.Asked(), r.Elapsed(), diff)
	}
	known := recalled(t, r)
	if _, served, _, hit, _ := known.Lookup(cursorAfter(t, known, connected), asked.Input); !hit ||
		string(served.Deliveries[0].Data) != "A" {
		t.Errorf("the cache answers %v, hit %v", served, hit)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "another process goes on with it") {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := New(dir); err == nil || !strings.Contains(err.Error(), "go on with it by --resume "+dir) {
		t.Errorf("a new run in the same place: %v", err)
	}
	if err := r.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	// A check that begins anew saves in the same place.
	if err := errors.Join(r.Remove(), r.Save(someState(3), answers(true, connected))); err != nil {
		t.Fatal(err)
	}
	r.Close()
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.state.Executions != 3 {
		t.Errorf("saved after the removal: %+v", again.state)
	}
}

func cursorAfter(t *testing.T, c *iocache.Cache, e iocache.Entry) iocache.NodeID {
	t.Helper()
	next, _, _, hit, err := c.Lookup(iocache.Root, e.Input)
	if !hit || err != nil {
		t.Fatalf("%v is not in the cache", e.Input)
	}
	return next
}

// TestDamagedState cuts the state off at every byte and flips its bits: the one from the time
// before is taken, and without that the error says what is wrong.
func TestDamagedState(t *testing.T) {
	dir := savedTwice(t)
	state, cache := filepath.Join(dir, stateFile), filepath.Join(dir, cacheFile)
	whole, previous, answered := read(t, state), read(t, filepath.Join(dir, previousFile)), read(t, cache)
	damaged := map[string][]byte{"nothing": nil}
	for length := 1; length < len(whole); length += 1 + length/20 {
		damaged[fmt.Sprintf("the first %d of %d bytes", length, len(whole))] = whole[:length]
	}
	for bit := 0; bit < len(whole)*8; bit += 1 + bit/50 {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		damaged[fmt.Sprintf("bit %d flipped", bit)] = flipped
	}
	for name, data := range damaged {
		write(t, state, data)
		write(t, filepath.Join(dir, previousFile), previous)
		write(t, cache, answered)
		r, err := Open(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.state.Executions != 1 || r.end != int64(len(answers(true, connected))) {
			t.Fatalf("%s: state %d is opened, with %d bytes of answers", name, r.state.Executions, r.end)
		}
		r.Close()
		if again := read(t, cache); len(again) != len(answers(true, connected)) {
			t.Fatalf("%s: %d bytes of answers are left", name, len(again))
		}
		write(t, state, data) // now the only one
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), dir+": state: ") {
			t.Fatalf("%s, and there is no previous one: %v", name, err)
		}
	}
}

// TestDamagedCache: a state is of no use without the answers that it rests on.
func TestDamagedCache(t *testing.T) {
	first := len(answers(true, connected))
	for name, test := range map[string]struct {
		damage func([]byte) []byte
		state  int // that is opened; 0: none
	}{
		"whole":                      {func(b []byte) []byte { return b }, 2},
		"a torn record more":         {func(b []byte) []byte { return append(b, 9, 0, 0, 0, 1) }, 2},
		"the last byte is missing":   {func(b []byte) []byte { return b[:len(b)-1] }, 1},
		"the last record is missing": {func(b []byte) []byte { return b[:first] }, 1},
		"the last record is damaged": {func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, 1},
		"the first one is too":       {func(b []byte) []byte { b[first-1] ^= 1; return b }, 0},
		"it is empty":                {func([]byte) []byte { return nil }, 0},
	} {
		dir := savedTwice(t)
		cache := filepath.Join(dir, cacheFile)
		write(t, cache, test.damage(read(t, cache)))
		r, err := Open(dir)
		switch {
		case err != nil && test.state == 0 && strings.Contains(err.Error(),
			"cache, on which state rests: the file of the I/O cache, at byte "):
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case r.state.Executions != test.state:
			t.Errorf("%s: state %d is opened, want %d", name, r.state.Executions, test.state)
		default:
			if got := int64(len(read(t, cache))); got != r.end {
				t.Errorf("%s: %d bytes of answers, and %d are of the state", name, got, r.end)
			}
			r.Close()
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNoRoom: when a state cannot be written, what was saved stays, and what was answered is
// written with the next.
func TestNoRoom(t *testing.T) {
	dir := savedTwice(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(dir, newFile)); err != nil {
		t.Fatal(err)
	}
	more := asked
	more.At = 2
	if err := r.Save(someState(3), answers(false, more)); err == nil ||
		!strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("saved on a full disk: %v", err)
	}
	r.Close()
	r, err = Open(dir)
	if err != nil || r.state.Executions != 2 {
		t.Fatalf("after a full disk: %v", err)
	}
	if err := r.Save(someState(4), answers(false, more)); err != nil {
		t.Error(err)
	}
	r.Close()
	if r, err = Open(dir); err != nil || r.state.Executions != 4 || recalled(t, r).Stats().Nodes != 4 {
		t.Errorf("after there was room again: %v", err)
	}
	r.Close()
}

// TestInterruptedSave: wherever the replacing of a state is interrupted, one is there.
func TestInterruptedSave(t *testing.T) {
	for name, interrupt := range map[string]func(dir string) error{
		"before the new state is whole": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, newFile), []byte("tandem"), 0o600)
		},
		"before the new state is in place": func(dir string) error {
			return os.Rename(filepath.Join(dir, stateFile), filepath.Join(dir, previousFile))
		},
	} {
		dir := savedTwice(t)
		if err := interrupt(dir); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err != nil || r.state.Executions != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		if err := r.Save(someState(3), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
}

// TestRuns: of the runs without a place of their own the newest are kept, and those in use.
func TestRuns(t *testing.T) {
	root := Runs(filepath.Join(t.TempDir(), "runs"))
	if _, err := root.Open("nosuch"); err == nil ||
		!strings.Contains(err.Error(), "there is no saved run nosuch in "+string(root)+", nor any other") {
		t.Errorf("opened what is not there: %v", err)
	}
	used, err := root.New("./used program\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := used.Save(someState(1), nil); err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	if name := filepath.Base(used.Path()); !strings.HasPrefix(name, "_used_program_-") {
		t.Errorf("the run is named %q", name)
	}
	for n := range maxRuns + 5 {
		dir := filepath.Join(string(root), fmt.Sprint("run-", n))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, stateFile), []byte("x"))
		at := time.Now().Add(time.Duration(n+1) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, stateFile), at, at); err != nil {
			t.Fatal(err)
		}
	}
	prune(string(root), maxRuns)
	runs := keptRuns(string(root))
	if len(runs) != maxRuns+1 || runs[0].name != filepath.Base(used.Path()) || runs[1].name != "run-5" {
		t.Errorf("left are %v", runs)
	}
	if _, err := root.Open("nosuch"); err == nil || !strings.Contains(err.Error(),
		"the newest are: run-24, run-23, run-22, and 18 more; check the name (a run that ends with holds") {
		t.Errorf("the error does not list the runs: %v", err)
	}
}

// TestForeignFiles: what is not of the run is not removed with it.
func TestForeignFiles(t *testing.T) {
	dir := savedTwice(t)
	write(t, filepath.Join(dir, "notes"), []byte("mine"))
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Remove(); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestStateErrors(t *testing.T) {
	good, err := someState(1).encode()
	if err != nil {
		t.Fatal(err)
	}
	for says, data := range map[string][]byte{
		"this is no saved run": []byte("#!/bin/sh\n"),
		"it is of version 99, and this program reads version 3": append([]byte(stateTitle+"99\n"),
			good...),
		"it is cut off": []byte(stateTitle + "3\n{}\n"),
		"it is cut off or damaged: its checksum is wrong":            append(bytes.Clone(good), 0),
		"it cannot be read: json: unknown field \"Unknown\"":         sealed(`{"Unknown":1}`),
		"it cannot be read: unexpected EOF":                          sealed(`{`),
		"it is damaged: a count is negative or too large":            sealed(`{"cache_bytes":-1}`),
		"it cannot be read: invalid character 'x' looking for begin": sealed(`x`),
	} {
		if _, err := decodeState(data); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v; want %s", err, says)
		}
	}
}

// sealed is a state with given fields.
func sealed(fields string) []byte {
	return seal([]byte(stateTitle + "3\n" + fields + "\n"))
}

// FuzzState reads arbitrary states; those that can be read are written as they were read.
func FuzzState(f *testing.F) {
	good, err := someState(1).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:len(good)-32])
	f.Add([]byte(stateTitle + "3\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeState(seal(bytes.Clone(data)))
		if err != nil {
			return
		}
		again, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		second, err := decodeState(again)
		if err != nil {
			t.Fatal(err)
		}
		if third, err := second.encode(); err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%v\n%s\n%s", err, again, third)
		}
	})
}

// TestForgottenRun: another check can be saved where one was, and nothing of that is left.
func TestForgottenRun(t *testing.T) {
	dir := savedTwice(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Forget(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || r.Asked() != nil || recalled(t, r).Stats().Nodes != 1 {
		t.Errorf("%v is left, which can be opened: %v", r.state, err)
	}
	if err := r.Save(someState(3), answers(true, connected)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.state.Executions != 3 || again.end != int64(len(answers(true, connected))) {
		t.Errorf("after another check, state %d with %d bytes of answers", again.state.Executions, again.end)
	}
}

// TestTwoChecksInOneDirectory: what one has saved is not replaced by another that began before it
// was.
func TestTwoChecksInOneDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	faster, err1 := New(dir)
	slower, err2 := New(dir)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := faster.create(); err != nil {
		t.Fatal(err)
	}
	if err := faster.replace([]byte("state")); err != nil {
		t.Fatal(err)
	}
	if err := slower.create(); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("while it goes on: %v", err)
	}
	faster.Close() // it was killed
	if err := slower.create(); err == nil || !strings.Contains(err.Error(), "has a saved run") {
		t.Errorf("after that: %v", err)
	}
	if state, err := os.ReadFile(filepath.Join(dir, stateFile)); string(state) != "state" {
		t.Errorf("the state is %q, %v", state, err)
	}
}
