package shim

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/peers"
)

func TestCountersCountReads(t *testing.T) {
	library, file := build(t)
	counters := open(t, file)
	group := []peers.Process{{Peer: peers.Peer{Name: "one", Env: []string{"PATH=/usr/bin:/bin"}}}}
	for _, own := range []string{"", strings.Repeat(":", 1000)} { // as with many libraries of the user
		group[0].Env = append(group[0].Env, "LD_PRELOAD="+own)
		const script = "date >/dev/null; env -i head -c 4 /dev/urandom >/dev/null; exec date >/dev/null"
		runWithShim(t, group[0].Peer, library, file, script)
		reads := counters.Reads(group)
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
	if rest := counters.Reads(group); len(rest) != 0 {
		t.Errorf("nothing was read since: %v", rest)
	}
}

// TestCountersNeverFill: slots of dead threads are given to others.
func TestCountersNeverFill(t *testing.T) {
	library, file := build(t)
	counters := open(t, file)
	group := []peers.Process{{Peer: peers.Peer{Name: "one", Env: []string{"PATH=/usr/bin:/bin"}}}}
	total := 0
	for range 6 {
		const script = `for i in 1 2 3 4 5 6 7 8 9 10; do
			for j in 1 2 3 4 5 6 7 8 9 10 11 12; do date; done
		done >/dev/null`
		runWithShim(t, group[0].Peer, library, file, script)
		for _, r := range counters.Reads(group) {
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
		return peers.Peer{
			Name:      "one",
			Env:       []string{"PATH=/usr/bin:/bin"},
			Choices:   3,
			Behaviour: behaviour,
		}
	}
	got := runWithShim(t, chosen(1), library, file, "exec date -u +%FT%T.%N")
	if got != "2031-05-06T07:08:09.000001000\n" {
		t.Errorf("the clock is at %s", got)
	}
	a, b := runWithShim(
		t,
		chosen(0),
		library,
		file,
		script,
	), runWithShim(
		t,
		chosen(1),
		library,
		file,
		script,
	)
	if a == b || len(a) != 16 {
		t.Errorf("behaviours 0 and 1 have read %x and %x", a, b)
	}
	out := runWithShim(t, chosen(1), library, file, "cat /proc/uptime /proc/loadavg 2>/dev/null || true")
	if out != "" {
		t.Errorf("a chosen peer sees what the machine does: %q", out)
	}
}

func TestSummary(t *testing.T) {
	s := Summary{}
	if s.String() != "" {
		t.Errorf("nothing was read: %q", s)
	}
	s.Add([]Read{
		{Peer: "b", Source: "time", Calls: 2}, {Peer: "a", Source: "time", Calls: 1},
		{Peer: "b", Source: "getrandom", Calls: 1}, {Peer: "b", Source: "time", Calls: 3},
	})
	if got, want := s.String(), "a: time 1; b: getrandom 1, time 5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestChosenStreams: threads and processes draw from streams of their own, which are the
// same in every run; process IDs are those of the run before, and a deadline is waited for.
func TestChosenStreams(t *testing.T) {
	library, file := build(t)
	reader := filepath.Join(t.TempDir(), "reader")
	compileC(t, reader, "testdata/reader.c")
	// Process IDs are chosen in a namespace of their own.
	script := "exec unshare --pid --fork --mount-proc sh -c '" + reader + "; true'"
	p := peers.Peer{Name: "one", Env: []string{"PATH=/usr/bin:/bin"}, Choices: 2}
	first := runWithShim(t, p, library, file, script)
	if again := runWithShim(t, p, library, file, script); again != first {
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
	if other := runWithShim(t, p, library, file, script); other == first {
		t.Error("another behaviour draws the same numbers")
	}
	p.Choices = 0
	if plain := runWithShim(t, p, library, file, script); !strings.HasSuffix(plain, "\nwaited\n") {
		t.Errorf("with the time of the machine:\n%s", plain)
	}
}

// FuzzCounters: the counters are memory of the peers, who may write anything there.
func FuzzCounters(f *testing.F) {
	f.Add([]byte{}, []byte{1})
	f.Add(slices.Repeat([]byte{0xff}, 4096), slices.Repeat([]byte{7}, int(CountersSize)))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		p := &Counters{mapped: make([]byte, CountersSize)}
		group := []peers.Process{{Peer: peers.Peer{Name: "one"}}}
		for _, content := range [][]byte{first, second, second} {
			copy(p.mapped, content)
			reads := p.Reads(group)
			if len(reads) > slotCount*len(sources)+1 {
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
