package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// alone is how a share is divided that has all states.
var alone = global.ShareConfig{Digest: func(*system.State) (uint64, error) { return 1, nil },
	Owner: func(*system.State) (int, error) { return 0, nil }}

// TestShareKept: a share that is read goes on as the one that was written, whatever the form of its
// states, and however often it was written. Of other bytes comes an error, or a share that can be
// expanded, and never a panic.
func TestShareKept(t *testing.T) {
	checkSpecs(t, mostSparse, drawSpec, func(t *rapid.T, s *spec, _ *twin) {
		machine, err := newMachine(s.model())
		if err != nil {
			t.Fatal(err)
		}
		c := newSearch(machine, Options{}, newBounds(Options{}, time.Now()))
		if failed, err := global.FailsAtStart(c); failed != nil || err != nil {
			return // there is nothing to go on with
		}
		h, err := global.NewShare(c, alone)
		if err != nil {
			t.Fatal(err)
		}
		var states bytes.Buffer
		levels := rapid.IntRange(1, 5).Draw(t, "levels")
		for level := range levels {
			h.Begin()
			mustExpand(t, h)
			if level == levels-1 || rapid.Bool().Draw(t, "isWritten") {
				if err := h.WriteStates(&states); err != nil {
					t.Fatal(err)
				}
			}
		}
		head := h.AppendHead(nil)
		read, err := global.ReadShare(c, alone, head, bufio.NewReader(bytes.NewReader(states.Bytes())))
		if err != nil {
			t.Fatal(err)
		}
		for level := levels; level < levels+4; level++ {
			if a, b := h.Begin(), read.Begin(); a != b {
				t.Fatalf("level %d has %d states, and %d where it was read", level, a, b)
			}
			mustExpand(t, h)
			mustExpand(t, read)
			a, b := h.Tally(), read.Tally()
			if a.Transitions != b.Transitions || a.Reached != b.Reached {
				t.Fatalf("level %d: %+v, and where it was read %+v", level, a, b)
			}
		}
		damage(t, c, head, states.Bytes())
	})
}

// mustExpand expands a level.
func mustExpand(t *rapid.T, h *global.Share) {
	t.Helper()
	if _, _, err := h.Expand(nil); err != nil {
		t.Fatal(err)
	}
}

// damage changes a byte, or leaves out some at the end.
func damage(t *rapid.T, c global.Config, head, states []byte) {
	t.Helper()
	both := append(bytes.Clone(head), states...)
	at := rapid.IntRange(0, len(both)-1).Draw(t, "at")
	if rapid.Bool().Draw(t, "isCut") {
		both = both[:max(at, len(head))]
	} else {
		both[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
	}
	h, err := global.ReadShare(c, alone, both[:len(head)], bufio.NewReader(bytes.NewReader(both[len(head):])))
	switch {
	case err == nil:
		h.Begin()
		_, _, _ = h.Expand(nil) // it may be any state, even one that no model has
		h.Release()
	case !errors.Is(err, global.ErrKept):
		t.Fatalf("%v, and not that it cannot be read", err)
	}
}
