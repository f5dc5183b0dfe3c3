package kept

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestFile: what was written is read again; after a write that fails, it is what was there before.
func TestFile(t *testing.T) {
	f := File(filepath.Join(t.TempDir(), "search"))
	read := func() (text string) {
		err := errors.Join(f.Check(), f.Read(2, func(parts [][]byte, stream *bufio.Reader) error {
			rest, err := io.ReadAll(stream)
			text = fmt.Sprintf("%q %q", parts, rest[:len(rest)-4])
			return err
		}))
		if err != nil {
			t.Error(err)
		}
		return text
	}
	write := func(text string, failure error) error {
		return f.Write([][]byte{[]byte(text), nil}, func(w io.Writer) error {
			_, err := io.WriteString(w, "stream of "+text)
			return errors.Join(err, failure)
		})
	}
	if err := errors.Join(f.Probe(), write("one", nil)); err != nil {
		t.Fatal(err)
	}
	want := `["one" ""] "stream of one"`
	if got := read(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	full := errors.New("the disk is full")
	if err := write("two", full); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	if got := read(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := os.Stat(f.part()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part is left: %v", err)
	}
	// A directory in the place of the part cannot be written.
	if err := os.Mkdir(f.part(), 0o755); err != nil {
		t.Fatal(err)
	}
	if f.Probe() == nil || write("three", nil) == nil {
		t.Error("no error for a file that cannot be written")
	}
}

// FuzzRead: bytes that are no file are an error. Never does reading them panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x01a\x00rest"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := File(filepath.Join(t.TempDir(), "search"))
		if err := os.WriteFile(string(file), append([]byte(Head), data...), 0o644); err != nil {
			t.Fatal(err)
		}
		err := file.Read(2, func(parts [][]byte, _ *bufio.Reader) error {
			if len(parts) != 2 {
				t.Errorf("%d parts", len(parts))
			}
			return nil
		})
		if err != nil && err.Error() != file.Damaged().Error() {
			t.Error(err)
		}
	})
}
