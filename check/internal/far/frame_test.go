package far

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/tandem-mc/tandem/check/internal/pool"
)

// TestFrame: what is framed is read again, and what comes again and again takes little room.
func TestFrame(t *testing.T) {
	want := task{Bounds: pool.Bounds{Executions: 7}}
	for _, large := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("step "), 1<<18)} {
		written, err := frame(want, large)
		if err != nil {
			t.Fatal(err)
		}
		if len(written) > 1<<17 {
			t.Errorf("%d bytes are written as %d", len(large), len(written))
		}
		var got task
		back, err := unframe(written, &got)
		if err != nil || got != want || !bytes.Equal(back, large) {
			t.Errorf("%d bytes are read as %d, with %+v: %v", len(large), len(back), got, err)
		}
		for n := range min(len(written), 200) {
			if _, err := unframe(written[:n], &got); err == nil {
				t.Errorf("nobody notices that only %d of %d bytes are there", n, len(written))
			}
		}
	}
	if _, err := frame(want, make([]byte, maxFrame)); err == nil {
		t.Error("what is too large is written")
	}
	if _, err := unframe(s2.Encode(nil, []byte{100, '{', '}'}), &task{}); !errors.Is(err, errFrame) {
		t.Errorf("a head that is longer than all: %v", err)
	}
}

// FuzzUnframe: arbitrary bytes are read, or are an error, and take no more memory than allowed.
func FuzzUnframe(f *testing.F) {
	written, err := frame(task{}, []byte("part"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(written)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		var got task
		large, err := unframe(data, &got)
		if err == nil && len(large) > maxFrame {
			t.Errorf("%d bytes are read", len(large))
		}
	})
}
