package codec

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/model"
)

// lines are texts of entries of all kinds, each as AppendText writes it.
var lines = []string{
	`0 connect 0 "127.0.0.1:22" => nothing`,
	`0 connect 0 "127.0.0.1:22" as "main 1" => 0:"hello"`,
	`0 connect 0 "127.0.0.1:23" => refused(errno 111)`,
	`0 listen 0 "0.0.0.0:80" => opened(at 0) opened(at 0) 1:"GET / HTTP/1.0\r\n\r\n"`,
	`1 send 0 "QUIT\n" => 0:"bye"EOF 1:""reset`,
	`2 shutdown 0 => nothing`,
	`2 close 0 => ended(peer 0, status 256) ended(peer 1, status 9)`,
	`0 choose 3 => nothing`,
	`1 pass 0 => nothing`,
	`1 pass 0 => time(1s)`,
	`1 pass 0 10s => 0:"late" time(20ms idle, peer 0 in 30s)`,
	`1 pass 0 1m30s => time(1ns idle tie, peer 2 in 1h0m0s)`,
	`1 pass 0 => time(0s tie)`,
}

// TestTexts: each of these lines is read, and is written as it was.
func TestTexts(t *testing.T) {
	for _, line := range lines {
		e, err := ParseText(line)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if got := string(e.AppendText(nil)); got != line {
			t.Errorf("%s is written as %s", line, got)
		}
	}
}

// outside lists the blanks of a line that are in no quotation.
func outside(line string) (places []int) {
	inside := false
	for i := range len(line) {
		switch {
		case line[i] == '\\' && inside:
		case line[i] == '"' && (i == 0 || line[i-1] != '\\'):
			inside = !inside
		case line[i] == ' ' && !inside:
			places = append(places, i)
		}
	}
	return places
}

// TestBlanksCount: a line has one blank in each place where there is one, and none anywhere else.
func TestBlanksCount(t *testing.T) {
	for _, line := range lines {
		for _, at := range outside(line) {
			for _, wrong := range []string{line[:at] + line[at+1:], line[:at] + " " + line[at:]} {
				if e, err := ParseText(wrong); err == nil {
					t.Errorf("%q is read as %+v", wrong, e)
				}
			}
		}
		for _, wrong := range []string{" " + line, line + " ", line + "\n"} {
			if e, err := ParseText(wrong); err == nil {
				t.Errorf("%q is read as %+v", wrong, e)
			}
		}
	}
}

// TestCutTexts: the beginning of a line is no line, unless it ends between two parts of a reaction.
func TestCutTexts(t *testing.T) {
	for _, line := range lines {
		ends := map[int]bool{}
		for _, at := range outside(line) {
			ends[at] = true
		}
		for n := range len(line) {
			e, err := ParseText(line[:n])
			if err == nil && (!ends[n] && !wholeDelivery(line[:n], line[n:]) || e.Reaction.Empty()) {
				t.Errorf("%q is read as %+v", line[:n], e)
			}
		}
	}
}

// wholeDelivery says whether a line was cut behind the data of a delivery, before its end.
func wholeDelivery(before, after string) bool {
	return strings.HasSuffix(before, `"`) && (strings.HasPrefix(after, "EOF") ||
		strings.HasPrefix(after, "reset"))
}

// TestNoSecondKind: after the kind of an input there is its number, and not another kind.
func TestNoSecondKind(t *testing.T) {
	for first := model.Connect; first < model.Kinds; first++ {
		for second := model.Connect; second < model.Kinds; second++ {
			line := "0 " + first.String() + "  " + second.String() + " 0 => nothing"
			if e, err := ParseText(line); err == nil {
				t.Errorf("%q is read as %+v", line, e)
			}
		}
	}
}

// TestWrongTexts: what no cache records is refused, with the place where it stops making sense.
func TestWrongTexts(t *testing.T) {
	for line, at := range map[string]int{
		`-1 close 0 => nothing`:                        0,
		`2147483648 close 0 => nothing`:                0,
		`0 Close 0 => nothing`:                         1,
		`0 connect 0 "a" as "" => nothing`:             21,
		`0 send 0 => nothing`:                          9,
		"0 send 0 `a` => nothing":                      9,
		`0 send 0 "a => nothing`:                       9,
		`0 send 0 "\q" => nothing`:                     9,
		`0 close 0 => time(1s)`:                        21,
		`0 close 0 => refused(errno)`:                  12,
		`0 close 0 => refused(errno 3`:                 28,
		`0 close 0 => opened(at x)`:                    23,
		`0 close 0 => ended(peer 1)`:                   25,
		`0 close 0 => ended(peer 1, status 2`:          35,
		`0 close 0 => 0:"a" opened(at 0)`:              18,
		`0 close 0 => nothing 0:"a"`:                   20,
		`0 pass 0 0s => nothing`:                       11,
		`0 pass 0 -1s => nothing`:                      9,
		`0 pass 0 1.0s => nothing`:                     9,
		`0 pass 0 60s => nothing`:                      9,
		`0 pass 0 => time(1s, peer 0)`:                 27,
		`0 pass 0 => time(1s, peer 0 in )`:             31,
		`0 pass 0 => time(1s idle idle)`:               24,
		`0 pass 0 => time(1s tie idle)`:                23,
		`0 pass 0 => time(1s, peer 99999999999 in 1s)`: 26,
	} {
		want := "iocache: " + strconv.Quote(line) + " is not the text of a record: it cannot be read from " +
			"its byte " + strconv.Itoa(at) + " on"
		if _, err := ParseText(line); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestGarbledTexts: whatever becomes of a line when a byte is another one, it means one entry at
// most: what is read is written as a line that reads the same.
func TestGarbledTexts(t *testing.T) {
	for _, line := range lines {
		for at := range len(line) {
			for b := range 256 {
				garbled := line[:at] + string([]byte{byte(b)}) + line[at+1:]
				e, err := ParseText(garbled)
				if err != nil {
					continue
				}
				again, err := ParseText(string(e.AppendText(nil)))
				if err != nil || !cmp.Equal(e, again) {
					t.Fatalf("%q is %+v, and that is %+v, %v", garbled, e, again, err)
				}
				frame := AppendEntry(nil, e)
				if read, ok := DecodeFrame(frame); !ok || !cmp.Equal(e, read) {
					t.Fatalf("%q is %+v, and in a file %+v, %t", garbled, e, read, ok)
				}
			}
		}
	}
}

// asText is a file as text.
func asText(file string) (string, error) {
	var out strings.Builder
	err := FileToText(&out, strings.NewReader(file))
	return out.String(), err
}

// asFile is a text as a file.
func asFile(text string) (string, error) {
	var out strings.Builder
	err := FileFromText(&out, strings.NewReader(text))
	return out.String(), err
}

// TestFilesAsText: a file becomes text and a file again, byte for byte, whatever its description.
func TestFilesAsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		description := string(rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "description"))
		file := AppendHeader(nil, description)
		entries := rapid.SliceOfN(rapid.Custom(drawEntry), 0, 4).Draw(t, "entries")
		for _, e := range entries {
			file = AppendEntry(file, e)
		}
		text, err := asText(string(file))
		if err != nil || strings.Count(text, "\n") != 1+len(entries) || !strings.HasSuffix(text, "\n") {
			t.Fatalf("%q, %v", text, err)
		}
		if again, err := asFile(text); err != nil || again != string(file) {
			t.Fatalf("%q becomes %q, %v; want %q", text, again, err, file)
		}
		// The end of the last line may be missing, as editors have it.
		if again, err := asFile(strings.TrimSuffix(text, "\n")); err != nil || again != string(file) {
			t.Fatalf("without its last end of a line: %q, %v; want %q", again, err, file)
		}
	})
}

// TestWrongTextsOfFiles: an error names the line, and what precedes it was written.
func TestWrongTextsOfFiles(t *testing.T) {
	good := `"peers"` + "\n" + lines[0] + "\n"
	whole, err := asFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct{ written, says string }{
		"":                   {"", "line 1: this is no description: it should be a quoted text"},
		"peers\n":            {"", "line 1: this is no description: it should be a quoted text"},
		"\n":                 {"", "line 1: this is no description: it should be a quoted text"},
		good + "\n":          {whole, `line 3: iocache: "" is not the text of a record`},
		good + lines[1][:20]: {whole, "line 3: iocache: "},
		good + "no\n" + good: {whole, `line 3: iocache: "no" is not the text of a record`},
	} {
		written, err := asFile(text)
		if err == nil || !strings.HasPrefix(err.Error(), want.says) || written != want.written {
			t.Errorf("%q: %q, %v; want %q and %q", text, written, err, want.written, want.says)
		}
	}
}

// TestDamagedFilesAsText: what precedes the damage was written, and the error says where it is.
func TestDamagedFilesAsText(t *testing.T) {
	file, err := asFile(`"peers"` + "\n" + lines[0] + "\n" + lines[1] + "\n")
	if err != nil {
		t.Fatal(err)
	}
	text, err := asText(file[:len(file)-1])
	var wrong *FileError
	if !errors.As(err, &wrong) || !wrong.Torn || text != `"peers"`+"\n"+lines[0]+"\n" {
		t.Errorf("cut off: %q, %v", text, err)
	}
	if text, err = asText(file[:5]); text != "" || !errors.As(err, &wrong) {
		t.Errorf("without a beginning: %q, %v", text, err)
	}
}

// full is a disk with room for some bytes.
type full struct{ room int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestErrorsOfReadingAndWriting: those of the disk are returned, wherever they happen.
func TestErrorsOfReadingAndWriting(t *testing.T) {
	text := `"peers"` + "\n" + lines[0] + "\n"
	file, err := asFile(text)
	if err != nil {
		t.Fatal(err)
	}
	for room := range len(text) {
		if err := FileToText(&full{room}, strings.NewReader(file)); !errors.Is(err, errFull) {
			t.Errorf("room for %d of %d bytes of text: %v", room, len(text), err)
		}
	}
	for room := range len(file) {
		if err := FileFromText(&full{room}, strings.NewReader(text)); !errors.Is(err, errFull) {
			t.Errorf("room for %d of %d bytes of a file: %v", room, len(file), err)
		}
	}
	broken := errors.New("input/output error")
	for n := range len(file) {
		in := io.MultiReader(strings.NewReader(file[:n]), iotest.ErrReader(broken))
		if err := FileToText(io.Discard, in); !errors.Is(err, broken) {
			t.Errorf("after %d bytes of a file: %v", n, err)
		}
	}
	for n := range len(text) {
		in := io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(broken))
		if err := FileFromText(io.Discard, in); !errors.Is(err, broken) {
			t.Errorf("after %d bytes of text: %v", n, err)
		}
	}
}

// TestFramesAreWhole: a frame is read with all its bytes and no other ones.
func TestFramesAreWhole(t *testing.T) {
	for _, line := range lines {
		e, err := ParseText(line)
		if err != nil {
			t.Fatal(err)
		}
		frame := AppendEntry(nil, e)
		for n := range len(frame) {
			if got, ok := DecodeFrame(frame[:n]); ok {
				t.Errorf("%d of %d bytes are read as %+v", n, len(frame), got)
			}
		}
		if got, ok := DecodeFrame(append(frame, 0)); ok {
			t.Errorf("with a byte more it is read as %+v", got)
		}
		for at := range frame {
			frame[at] ^= 1
			if got, ok := DecodeFrame(frame); ok {
				t.Errorf("with another byte %d it is read as %+v", at, got)
			}
			frame[at] ^= 1
		}
	}
}

// slowHasRecord is what HasRecord says, found out by reading at every place.
func slowHasRecord(data []byte) bool {
	for from := range data {
		for to := from + FrameHeader; to <= len(data); to++ {
			if _, ok := DecodeFrame(data[from:to]); ok {
				return true
			}
		}
	}
	return false
}

// TestHasRecordTwin: a record is found in any mixture of records, parts of them, and other bytes.
func TestHasRecordTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			record := AppendEntry(nil, drawEntry(t))
			switch rapid.IntRange(0, 3).Draw(t, "part") {
			case 0:
				data = append(data, record...)
			case 1:
				data = append(data, record[:rapid.IntRange(0, len(record)-1).Draw(t, "end")]...)
			case 2:
				data = append(data, record[rapid.IntRange(1, len(record)).Draw(t, "begin"):]...)
			default:
				data = append(data, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")...)
			}
		}
		if len(data) > 200 {
			t.Skip("it would take long")
		}
		if got, want := HasRecord(data), slowHasRecord(data); got != want {
			t.Fatalf("%x has one: %t, want %t", data, got, want)
		}
	})
}
