package protocol

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestReceiveVisit: descriptors come with their message, and are closed if that cannot be read.
func TestReceiveVisit(t *testing.T) {
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	send := func(message string) {
		t.Helper()
		err := seqpacket.Send(pair[0], []byte(message), []int{int(os.Stdin.Fd()), int(os.Stdin.Fd())})
		if err != nil {
			t.Fatal(err)
		}
	}
	open := testkit.OpenFiles(t)
	send("A\x00\x00\x00\x05\x00\x00\x00\x06")
	m, err := ReceiveVisit(pair[1])
	if err != nil || m.Kind != VisitAdopt || fmt.Sprint(m.IDs) != "[5 6]" || len(m.FDs) != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	for _, fd := range m.FDs {
		unix.Close(fd)
	}
	for _, bad := range []string{"?", "A\x00", "L more", strings.Repeat("d", MaxVisitMessage+1)} {
		send(bad)
		if m, err := ReceiveVisit(pair[1]); err == nil {
			t.Errorf("%.10q is %+v", bad, m)
		}
	}
	if now := testkit.OpenFiles(t); now != open {
		t.Errorf("%d files are open, before there were %d", now, open)
	}
	unix.Close(pair[0])
	if _, err := ReceiveVisit(pair[1]); err != io.EOF {
		t.Errorf("the end of a visit: %v", err)
	}
}

// TestOutcomes: only the last message of a visit has one.
func TestOutcomes(t *testing.T) {
	for text, want := range map[string]string{
		"d":                 "",
		"dno such process":  "no such process",
		"s":                 `an unexpected message of kind 's'`,
		"l\x00\x00\x00\x01": `an unexpected message of kind 'l'`,
	} {
		m, err := DecodeVisit([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := m.Outcome(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
