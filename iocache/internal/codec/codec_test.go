package codec

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/model"
)

// drawEntry draws an entry of any kind. It need not be one that a cache would record.
func drawEntry(t *rapid.T) Entry {
	small := rapid.IntRange(0, 300)
	data := rapid.SliceOfN(rapid.Byte(), 1, 20)
	text := rapid.StringN(1, 20, -1)
	e := Entry{At: NodeID(small.Draw(t, "at"))}
	e.Input = model.Input{
		Kind: model.Kind(rapid.IntRange(int(model.Connect), int(model.Kinds)-1).Draw(t, "kind")),
		Conn: small.Draw(t, "conn"),
	}
	duration := func(label string) time.Duration {
		return time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, label))
	}
	switch e.Input.Kind {
	case model.Connect, model.Listen:
		e.Input.Addr, e.Input.Name = text.Draw(t, "address"), text.Draw(t, "name")
		e.Reaction.Refused = small.Draw(t, "errno")
	case model.Send:
		e.Input.Data = data.Draw(t, "data")
	case model.Pass:
		e.Input.Most = duration("most")
		e.Reaction.Time = model.Time{Passed: duration("passed"), Due: duration("due"),
			Peer: small.Draw(t, "peer"),
			Idle: rapid.Bool().Draw(t, "idle"), Tie: rapid.Bool().Draw(t, "tie")}
	}
	e.Reaction.Opened = rapid.SliceOfN(small, 0, 3).Draw(t, "opened")
	for range rapid.IntRange(0, 3).Draw(t, "deliveries") {
		end := model.End(rapid.IntRange(0, int(model.Reset)).Draw(t, "end"))
		e.Reaction.Deliveries = append(e.Reaction.Deliveries,
			model.Delivery{Conn: small.Draw(t, "to"), Data: data.Draw(t, "delivered"), End: end})
	}
	for range rapid.IntRange(0, 2).Draw(t, "endings") {
		e.Reaction.Ended = append(e.Reaction.Ended,
			model.Ending{Peer: small.Draw(t, "ended"), Status: small.Draw(t, "status")})
	}
	return e
}

// TestEntries: an entry is the same after it was in a file, in a frame of its own, and in a line of
// text.
func TestEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntry(t)
		same := func(where string, got Entry) {
			if diff := cmp.Diff(e, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s (-written +read):\n%s", where, diff)
			}
		}
		frame := AppendEntry(nil, e)
		got, ok := DecodeFrame(frame)
		if !ok {
			t.Fatal("the frame cannot be read")
		}
		same("frame", got)
		got, err := ParseText(string(e.AppendText(nil)))
		if err != nil {
			t.Fatal(err)
		}
		same("text", got)
		r, err := NewReader(bytes.NewReader(append(AppendHeader(nil, "some peers"), frame...)))
		if err != nil || r.Description != "some peers" {
			t.Fatalf("description %q: %v", r.Description, err)
		}
		if got, err = r.Next(); err != nil {
			t.Fatal(err)
		}
		same("file", got)
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last entry: %v", err)
		}
	})
}

// TestDamage: a file in which a byte is another one, or which is cut off, has only entries that
// were written, and then a *FileError, which says where all that is whole ends.
func TestDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(drawEntry), 1, 4).Draw(t, "entries")
		header := AppendHeader(nil, "")
		file := header
		ends := []int{len(header)}
		for _, e := range entries {
			file = AppendEntry(file, e)
			ends = append(ends, len(file))
		}
		at := rapid.IntRange(len(header), len(file)-1).Draw(t, "at")
		cut := rapid.Bool().Draw(t, "cut")
		damaged := bytes.Clone(file)
		if damaged[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits")); cut {
			damaged = damaged[:at]
		}
		r, err := NewReader(bytes.NewReader(damaged))
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			e, err := r.Next()
			if err == nil {
				if diff := cmp.Diff(entries[n], e, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("entry %d (-written +read):\n%s", n, diff)
				}
				continue
			}
			var wrong *FileError
			switch {
			case errors.Is(err, io.EOF) && cut && at == ends[n]: // between two entries
			case !errors.As(err, &wrong) || wrong.Offset != int64(ends[n]) || ends[n] > at:
				t.Fatalf("after %d entries, damaged at byte %d: %v, offset %d", n, at, err, r.Offset())
			}
			return
		}
	})
}
