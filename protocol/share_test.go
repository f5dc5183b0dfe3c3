package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/overflow"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// whose is how a share is divided: by its numbers of local states. One of one part has all states.
func whose(parts int) global.ShareConfig {
	return global.ShareConfig{Digest: func(*system.State) (uint64, error) { return 1, nil },
		Owner: func(s *system.State) (int, error) {
			sum := 0
			for _, l := range s.Locals {
				sum += int(l)
			}
			return sum % parts, nil
		}}
}

// TestShareKept: a share that is read has the own states and the transitions of the one that was
// written, whatever the form of its states, whether they are in files, and however often it was
// written. Of other bytes comes an error, or a share that can be expanded, and never a panic.
func TestShareKept(t *testing.T) {
	dir := t.TempDir()
	anew, compared, others := 0, 0, 0
	checkSpecs(t, mostSparse, drawSpec, func(t *rapid.T, s *spec, _ *twin) {
		machine, err := newMachine(s.model())
		if err != nil {
			t.Fatal(err)
		}
		c := newSearch(machine, Options{}, newBounds(Options{}, time.Now()))
		if failed, err := global.FailsAtStart(c); failed != nil || err != nil {
			return // there is nothing to go on with
		}
		if rapid.Bool().Draw(t, "external") {
			c.Disk = &global.Disk{Directory: dir}
			drawSizes(t)(c.Disk)
		}
		config := overflow.Config{Global: c, Whose: whose(rapid.IntRange(1, 2).Draw(t, "parts")),
			HasCheckpoints: true}
		h, err := overflow.New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer release(t, h)
		var states bytes.Buffer
		levels := rapid.IntRange(1, 5).Draw(t, "levels")
		for level := range levels {
			mustBegin(t, h)
			mustExpand(t, h)
			if level == levels-1 || rapid.Bool().Draw(t, "isWritten") {
				if h.IsAnew() {
					anew++
					states.Reset()
				}
				if err := h.WriteStates(&states); err != nil {
					t.Fatal(err)
				}
			}
		}
		head := h.AppendHead(nil)
		read, err := overflow.Read(config, levels, head, bufio.NewReader(bytes.NewReader(states.Bytes())))
		if err != nil {
			t.Fatal(err)
		}
		defer release(t, read)
		for level := levels; level < levels+4; level++ {
			if a, b := mustBegin(t, h), mustBegin(t, read); a != b {
				t.Fatalf("level %d has %d states, and %d where it was read", level, a, b)
			}
			// A step that commutes is left out where the worker has met its message before in that
			// local state (vector.Local.Single). So a worker that has just begun may leave out
			// less at first, and other states of others are handed on. That is rare, but where
			// states are in files, which are expanded in full then.
			handed, again := mustExpand(t, h), mustExpand(t, read)
			if compared++; c.Disk == nil && handed != again {
				others++
			}
			if a, b := h.Tally().Transitions, read.Tally().Transitions; a != b {
				t.Fatalf("level %d: %d transitions, and %d where it was read", level, a, b)
			}
		}
		damage(t, config, levels, head, states.Bytes())
	})
	if anew == 0 {
		t.Error("no share has gone to files")
	}
	if t.Logf("%d of %d levels hand on others", others, compared); others > 1+compared/50 {
		t.Error("that is too often")
	}
}

// release gives back what a share has.
func release(t *rapid.T, h *overflow.Share) {
	t.Helper()
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}

// mustBegin begins a level.
func mustBegin(t *rapid.T, h *overflow.Share) int {
	t.Helper()
	states, _, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// mustExpand expands a level.
func mustExpand(t *rapid.T, h *overflow.Share) (handed int) {
	t.Helper()
	_, _, err := h.Expand(func(int, uint64, *system.State, *system.State, uint8) error {
		handed++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return handed
}

// drop is a global.Hand.
func drop(int, uint64, *system.State, *system.State, uint8) error { return nil }

// damage changes a byte, or leaves out some at the end.
func damage(t *rapid.T, c overflow.Config, levels int, head, states []byte) {
	t.Helper()
	both := append(bytes.Clone(head), states...)
	// The first byte says what the rest is, and the second one how wide counters are.
	at := 1
	if rapid.IntRange(0, 3).Draw(t, "isAnywhere") > 0 {
		at = rapid.IntRange(1, len(both)-1).Draw(t, "at")
	}
	if rapid.Bool().Draw(t, "isCut") {
		both = both[:max(at, len(head))]
	} else {
		both[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
	}
	h, err := overflow.Read(c, levels, both[:len(head)], bufio.NewReader(bytes.NewReader(both[len(head):])))
	switch {
	case err == nil:
		_, _, _ = h.Begin()
		_, _, _ = h.Expand(drop) // it may be any state, even one that no model has
		release(t, h)
	case !errors.Is(err, global.ErrKept):
		t.Fatalf("%v, and not that it cannot be read", err)
	}
}

// TestShareAlike: whoever reads a share may choose other names of alike nodes than whoever has
// written it. No state counts twice then, whether states are in files or not.
func TestShareAlike(t *testing.T) {
	if err := flag.Set("rapid.checks", strconv.Itoa(*protocols/4)); err != nil {
		t.Fatal(err)
	}
	dir, compared := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawHerd(t)
		m := h.model()
		m.Properties = nil
		if _, _, ok := h.orbits(t, m, 1000); !ok {
			return
		}
		machine, err := newMachine(m)
		if err != nil {
			t.Fatal(err)
		}
		c := newSearch(machine, Options{}, newBounds(Options{}, time.Now()))
		if c.Alike == nil {
			return
		}
		if failed, err := global.FailsAtStart(c); failed != nil || err != nil {
			return // there is nothing to go on with
		}
		if rapid.Bool().Draw(t, "external") {
			c.Disk = &global.Disk{Directory: dir}
			drawSizes(t)(c.Disk)
		}
		config := overflow.Config{Global: c, Whose: whose(1), HasCheckpoints: true}
		written, err := overflow.New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer release(t, written)
		levels := rapid.IntRange(1, 5).Draw(t, "levels")
		for range levels {
			mustBegin(t, written)
			mustExpand(t, written)
		}
		var states bytes.Buffer
		if err := written.WriteStates(&states); err != nil {
			t.Fatal(err)
		}
		other := *c.Alike
		other.Seed = rapid.Uint64().Draw(t, "seed")
		config.Global.Alike = &other
		read, err := overflow.Read(config, levels, written.AppendHead(nil), bufio.NewReader(&states))
		if err != nil {
			t.Fatal(err)
		}
		defer release(t, read)
		for level := levels; level < levels+4; level++ {
			a, b := mustBegin(t, written), mustBegin(t, read)
			if a != b {
				t.Fatalf("level %d has %d states, and %d where it was read", level, a, b)
			}
			compared += a
			mustExpand(t, written)
			mustExpand(t, read)
		}
	})
	if compared == 0 {
		t.Error("no level was compared")
	}
}
