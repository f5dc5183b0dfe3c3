//go:build amd64

package ckptd

import (
	"os"
	"strings"
	"testing"
)

// TestStatusFields compares with what is cut out of each line.
func TestStatusFields(t *testing.T) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	s := status(text)
	for line := range strings.Lines(string(text)) {
		name, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if got := s.field(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if size := s.bytes("VmRSS:"); size < 1<<20 || size%1024 != 0 {
		t.Errorf("%d bytes", size)
	}
	for text, want := range map[status]string{
		"Name:\tends with a space \nUid:\t0\n": "ends with a space ", "Uid:\t0\nName:\tlast": "last",
		"NotName:\tother\n": "", "Name:": "", "": "",
	} {
		if got := text.field("Name:"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
