package tell

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestTeller: lines become rarer, and come at least each minute.
func TestTeller(t *testing.T) {
	var out bytes.Buffer
	var logged []string
	written, log := New(&out, nil), New(nil, func(_ string, args ...any) {
		logged = append(logged, args[0].(fmt.Stringer).String())
	})
	for elapsed := time.Duration(0); elapsed < 10*time.Minute; elapsed += 100 * time.Millisecond {
		for _, x := range []*Teller{written, log, New(nil, nil)} {
			if x.IsDue(elapsed) {
				x.Tell(elapsed, elapsed)
			}
		}
	}
	written.Close()
	// After 1, 2, 4, 8, 16, 32 and 64 seconds, and then each minute.
	if n := strings.Count(out.String(), "\nprotocol: "); n != 14 || len(logged) != n+1 ||
		!strings.HasPrefix(out.String(), "protocol: 1s\n") || !strings.HasPrefix(logged[6], "1m4s") {
		t.Errorf("%d and %d lines:\n%s%q", n+1, len(logged), out.String(), logged)
	}
}

// TestLineIsRewritten: on a device the line is rewritten in place, and is gone in the end.
func TestLineIsRewritten(t *testing.T) {
	t.Setenv("TERM", "xterm")
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	x := New(null, nil)
	if !x.live {
		t.Fatal("a device is taken for a file")
	}
	var out bytes.Buffer
	x.out = &out
	for elapsed := time.Duration(0); elapsed <= 2*time.Second; elapsed += 100 * time.Millisecond {
		if x.IsDue(elapsed) {
			x.Tell(elapsed, elapsed)
		}
	}
	x.Close()
	x.Close()
	if s := out.String(); strings.Count(s, "\r") != 7 || !strings.HasSuffix(s, "\r\x1b[K") ||
		strings.Contains(s, "\n") {
		t.Errorf("%q", s)
	}
	t.Setenv("TERM", "dumb")
	if New(null, nil).live {
		t.Error("a dumb terminal cannot rewrite a line")
	}
}
