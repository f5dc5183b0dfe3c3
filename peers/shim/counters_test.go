package shim

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/peers"
)

// shim builds the shim from its source, and makes an empty page.
func build(t *testing.T) (library, page string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	directory := t.TempDir()
	if err := os.CopyFS(directory, sourceFiles); err != nil {
		t.Fatal(err)
	}
	library, page = filepath.Join(directory, "src", "nd.so"), filepath.Join(directory, "nd")
	if err := compile(ctx, filepath.Dir(library), "nd"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, make([]byte, CountersSize), 0o600); err != nil {
		t.Fatal(err)
	}
	return library, page
}

func openPage(t *testing.T, file string) *Counters {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := OpenCounters(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// watchedStart is when the clocks start of those that runWatched executes.
var watchedStart = time.Date(2031, time.May, 6, 7, 8, 9, 0, time.UTC)

// runWatched executes a command of a shell as peer number 0 of some, and returns what it prints.
func runWatched(t *testing.T, p peers.Peer, library, page, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = Environment(p, 0, library, page, watchedStart)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestPageCountsReads(t *testing.T) {
	library, file := build(t)
	page := openPage(t, file)
	group := []peers.Process{{Peer: peers.Peer{Name: "one", Env: []string{"PATH=/usr/bin:/bin"}}}}
	for _, own := range []string{"", strings.Repeat(":", 1000)} { // the second as if the user had many libraries of his own
		group[0].Env = append(group[0].Env, "LD_PRELOAD="+own)
		runWatched(t, group[0].Peer, library, file, "date >/dev/null; env -i head -c 4 /dev/urandom >/dev/null; exec date >/dev/null")
		reads := page.Reads(group)
		s := Summary{}
		s.Add(reads)
		if s[[2]string{"one", "clock_gettime"}] != 2 || s[[2]string{"one", "/dev/urandom"}] != 1 {
			t.Errorf("two programs that read the time once, and one that reads a random number: %v", s)
		}
		threads := map[int]bool{}
		for _, r := range reads {
			if threads[r.Thread] = true; r.Chosen {
				t.Errorf("%+v was not chosen", r)
			}
		}
		if len(threads) < 3 {
			t.Errorf("three processes have counted as %v", slices.Sorted(maps.Keys(threads)))
		}
	}
	if rest := page.Reads(group); len(rest) != 0 {
		t.Errorf("nothing was read since: %v", rest)
	}
}

// TestPageNeverFills: slots of dead threads are given to others.
func TestPageNeverFills(t *testing.T) {
	library, file := build(t)
	page := openPage(t, file)
	group := []peers.Process{{Peer: peers.Peer{Name: "one", Env: []string{"PATH=/usr/bin:/bin"}}}}
	total := 0
	for range 6 {
		runWatched(t, group[0].Peer, library, file, "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10 11 12; do date; done; done >/dev/null")
		for _, r := range page.Reads(group) {
			if r.Source == "clock_gettime" {
				total += r.Calls
			}
			if r.Thread == 0 {
				t.Fatalf("there was no slot: %+v", r)
			}
		}
	}
	if total != 720 {
		t.Errorf("720 programs have read the time %d times", total)
	}
}

// TestChosenValues: they follow from the behaviour, and not from when they are asked for.
func TestChosenValues(t *testing.T) {
	library, file := build(t)
	const script = "exec head -c 16 /dev/urandom"
	chosen := func(behaviour int) peers.Peer {
		return peers.Peer{Name: "one", Env: []string{"PATH=/usr/bin:/bin"}, Choices: 3, Behaviour: behaviour}
	}
	got := runWatched(t, chosen(1), library, file, "exec date -u +%FT%T.%N")
	if got != "2031-05-06T07:08:09.000001000\n" {
		t.Errorf("the clock is at %s", got)
	}
	a, b := runWatched(t, chosen(0), library, file, script), runWatched(t, chosen(1), library, file, script)
	if a == b || len(a) != 16 {
		t.Errorf("behaviours 0 and 1 have read %x and %x", a, b)
	}
	if out := runWatched(t, chosen(1), library, file, "cat /proc/uptime /proc/loadavg 2>/dev/null || true"); out != "" {
		t.Errorf("a chosen peer sees what the machine does: %q", out)
	}
}

func TestSummary(t *testing.T) {
	s := Summary{}
	if s.String() != "" {
		t.Errorf("nothing was read: %q", s)
	}
	s.Add([]Read{{Peer: "b", Source: "time", Calls: 2}, {Peer: "a", Source: "time", Calls: 1}, {Peer: "b", Source: "getrandom", Calls: 1}, {Peer: "b", Source: "time", Calls: 3}})
	if got, want := s.String(), "a: time 1; b: getrandom 1, time 5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEnvironmentOfAWatchedPeer(t *testing.T) {
	p := peers.Peer{Env: []string{"A=1", "LD_PRELOAD=/own.so"}, Choices: 2, Behaviour: 1}
	want := []string{"A=1", "LD_PRELOAD=/nd.so:/own.so", "TANDEM_ND=/nd 3 machine 1935817689 1"}
	if got := Environment(p, 3, "/nd.so", "/nd", watchedStart); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShimIsBuiltOnce: the files stay, and their sources decide which they are.
func TestShimIsBuiltOnce(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "shim")
	shim, err := Find(context.Background(), directory)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(shim.VDSO)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Find(context.Background(), directory)
	if err != nil || again != shim {
		t.Errorf("%v, then %v: %v", shim, again, err)
	}
	if after, err := os.Stat(shim.VDSO); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was built again: %v", err)
	}
	if entries, _ := os.ReadDir(directory); len(entries) != 2 {
		t.Errorf("building leaves %v", entries)
	}
}

// TestChosenStreams: threads and processes draw from streams of their own, which are the
// same in every run; process IDs are those of the run before, and a deadline is waited for.
func TestChosenStreams(t *testing.T) {
	library, file := build(t)
	reader := filepath.Join(t.TempDir(), "reader")
	if out, err := exec.Command("cc", "-O1", "-o", reader, "testdata/reader.c", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Process IDs are chosen in a namespace of their own.
	script := "exec unshare --pid --fork --mount-proc sh -c '" + reader + "; true'"
	p := peers.Peer{Name: "one", Env: []string{"PATH=/usr/bin:/bin"}, Choices: 2}
	first := runWatched(t, p, library, file, script)
	if again := runWatched(t, p, library, file, script); again != first {
		t.Errorf("once\n%sand once\n%s", first, again)
	}
	seen := map[string]bool{}
	lines := strings.Split(strings.TrimSpace(first), "\n")
	for _, line := range lines[:len(lines)-1] {
		seen[strings.Fields(line)[1]] = true
	}
	if len(seen) != 8 || lines[len(lines)-1] != "waited" {
		t.Errorf("8 numbers, and a wait of 50 ms:\n%s", first)
	}
	p.Behaviour = 1
	if other := runWatched(t, p, library, file, script); other == first {
		t.Error("another behaviour draws the same numbers")
	}
	p.Choices = 0
	if plain := runWatched(t, p, library, file, script); !strings.HasSuffix(plain, "\nwaited\n") {
		t.Errorf("with the time of the machine:\n%s", plain)
	}
}

// FuzzPage: the page is memory of the peers, who may write anything there.
func FuzzPage(f *testing.F) {
	f.Add([]byte{}, []byte{1})
	f.Add(slices.Repeat([]byte{0xff}, 4096), slices.Repeat([]byte{7}, int(CountersSize)))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		p := &Counters{mapped: make([]byte, CountersSize)}
		group := []peers.Process{{Peer: peers.Peer{Name: "one"}}}
		for _, content := range [][]byte{first, second, second} {
			copy(p.mapped, content)
			reads := p.Reads(group)
			if len(reads) > pageSlots*len(sources)+1 {
				t.Errorf("%d reads", len(reads))
			}
			s := Summary{}
			s.Add(reads)
			_ = s.String()
		}
		if rest := p.Reads(group); len(rest) != 0 && !bytes.Equal(p.mapped, make([]byte, CountersSize)) {
			t.Errorf("nothing has changed, and there are %d reads", len(rest))
		}
	})
}
