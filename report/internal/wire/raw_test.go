package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
)

// TestDatagrams: a datagram is told by itself, with the address where a socket has several, and
// begins no stream.
func TestDatagrams(t *testing.T) {
	d := Decoders{}
	for _, test := range []struct {
		message report.Message
		want    string
	}{
		{report.Message{Datagram: true, ToPeer: true, Data: []byte("GET / HTTP/1.1\r\n")},
			`message: "GET / HTTP/1.1\r\n", 16 bytes`},
		{report.Message{Datagram: true, ToPeer: true, Address: "127.0.0.1:53", Data: []byte{0, 1}},
			"message to 127.0.0.1:53: 00 01, 2 bytes"},
		{report.Message{Datagram: true, Address: "@evil\x1b", Data: []byte("x")},
			`message from @evil\x1b: "x", 1 byte`},
		{report.Message{Datagram: true}, `message: "", 0 bytes`},
		{report.Message{Datagram: true, Event: "lost", Data: []byte("a")}, `message: "a", 1 byte; lost`},
	} {
		if got := strings.Join(d.Describe(test.message), "; "); got != test.want {
			t.Errorf("%+v: %s, want %s", test.message, got, test.want)
		}
	}
	if len(d) != 0 {
		t.Errorf("%d connections are known after datagrams alone", len(d))
	}
}

// TestIsText: text is UTF-8 with the characters of a terminal; the last one may be cut.
func TestIsText(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a": true, "ä\n\t\r": true, "ä"[:1]: true, "a\x80": false, "\xff": false, "\x00": false,
		"\x1b[1m": false, "\x7f": false, "\u202e": true, "\U0001f600"[:3]: true, "\U0001f600"[1:]: false,
	} {
		if got := isText([]byte(text)); got != want {
			t.Errorf("%q is text: %t", text, got)
		}
	}
}

// TestRowsShowTheText: the rows of a text are its quotation, cut where its lines end, and the last
// one says how long all of it is. Nothing of it is shown twice, or left out in between.
func TestRowsShowTheText(t *testing.T) {
	letters := rapid.SampledFrom([]rune("ab\n\t äß€"))
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(letters, 1, 600).Draw(t, "text"))
		rows := raw{}.feed([]byte(text))
		if len(rows) == 0 || len(rows) > maxTextRows {
			t.Fatalf("%d rows", len(rows))
		}
		size := fmt.Sprintf(", %s", countOfBytes(len(text)))
		last, ok := strings.CutSuffix(rows[len(rows)-1], size)
		if !ok {
			t.Fatalf("the last row is %q, want %q at its end", rows[len(rows)-1], size)
		}
		rows[len(rows)-1] = last
		rest, whole := text, true
		for i, row := range rows {
			quoted, cut := strings.CutSuffix(row, "...")
			shown, err := strconv.Unquote(quoted)
			if err != nil || !utf8.ValidString(shown) || len(shown) > maxTextRow {
				t.Fatalf("row %d is %q: %v", i, row, err)
			}
			if !strings.HasPrefix(rest, shown) {
				t.Fatalf("row %d is %q, and %q is next", i, row, rest)
			}
			rest, whole = rest[len(shown):], whole && !cut
			if cut { // the rest of a long line is not shown
				if n := strings.IndexByte(rest, '\n'); n >= 0 && i < len(rows)-1 {
					rest = rest[n+1:]
				}
			} else if i < len(rows)-1 && !strings.HasSuffix(shown, "\n") {
				t.Fatalf("row %d is %q, and ends within a line", i, row)
			}
		}
		if whole && rest != "" {
			t.Fatalf("%q is missing, and no row says that something is", rest)
		}
	})
}

// countOfBytes is how a number of bytes is written.
func countOfBytes(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.Itoa(n) + " bytes"
}

// TestBinaryIsBounded: of bytes that are no text the first ones are shown.
func TestBinaryIsBounded(t *testing.T) {
	for n, want := range map[int]string{
		1:                 "00, 1 byte",
		maxShownBytes:     strings.TrimSpace(strings.Repeat("00 ", maxShownBytes)) + ", 24 bytes",
		maxShownBytes + 1: strings.TrimSpace(strings.Repeat("00 ", maxShownBytes)) + "..., 25 bytes",
	} {
		data := make([]byte, n)
		if got := (raw{}).line(data); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
		if diff := cmp.Diff([]string{want}, raw{}.feed(data)); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", n, diff)
		}
	}
}

// TestMatchersAgree: a matcher that is certain stays so, and "perhaps" is what the beginnings of
// its protocol are.
func TestMatchersAgree(t *testing.T) {
	for name, test := range map[string]struct {
		match  func([]byte) match
		begins []string
	}{
		"SSH":      {matchesPrefix("SSH-"), []string{"SSH-"}},
		"response": {matchesPrefix("HTTP/1."), []string{"HTTP/1."}},
		"request":  {matchesRequestLine, []string{"GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "OPTIONS "}},
	} {
		for _, begins := range test.begins {
			for n := range len(begins) {
				if got := test.match([]byte(begins[:n])); got != perhaps {
					t.Errorf("%s: %q is %v", name, begins[:n], got)
				}
				if got := test.match([]byte(begins[:n] + "\x00")); got != no {
					t.Errorf("%s: %q and another byte is %v", name, begins[:n], got)
				}
			}
			if len(begins) > maxStart {
				t.Errorf("%s: %q is longer than what is looked at", name, begins)
			}
			for _, more := range []string{"", "x", strings.Repeat("y", 100)} {
				if got := test.match([]byte(begins + more)); got != yes {
					t.Errorf("%s: %q is %v", name, begins+more, got)
				}
			}
		}
	}
}

// TestUndecidedIsBounded: a stream that is fed byte by byte is decided when its first bytes show
// what it is, and keeps nothing then.
func TestUndecidedIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 1, 3*maxStart),
			rapid.Map(rapid.SampledFrom([]string{"SSH-2", "GET / H", "HTTP/1.1", "OPTIONS"}),
				func(s string) []byte { return []byte(s + strings.Repeat("z", maxStart)) }),
		).Draw(t, "stream")
		d := Decoders{}
		for i := range data {
			d.Describe(report.Message{Data: data[i : i+1]})
			u := d[0].fromPeer.(*undecided)
			if (u.decided == nil) != (u.start != nil) || len(u.start) > maxStart {
				t.Fatalf("after %q: decided %T, and %q is kept", data[:i+1], u.decided, u.start)
			}
		}
		u := d[0].fromPeer.(*undecided)
		if u.decided == nil && len(data) >= maxStart {
			t.Fatalf("%q is not decided", data)
		}
		_, isSSH := u.decided.(*sshStream)
		if want := bytes.HasPrefix(data, []byte("SSH-")); isSSH != want {
			t.Fatalf("%q is SSH: %t", data, isSSH)
		}
	})
}
