package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/protocol"
)

// TestSearch: one search says what it has found, in memory and with a bound that it does not meet.
func TestSearch(t *testing.T) {
	for _, memory := range []string{"0", "500"} {
		var out strings.Builder
		args := []string{"-single", "-models", "twophase:5", "-memory", memory, "-dir", t.TempDir()}
		if err := run(args, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		var r protocol.Result
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil || r.States != 8832 ||
			r.Verdict != protocol.Holds {
			t.Errorf("%s, error %v", &out, err)
		}
	}
}

// TestLine: a line has what is in the head of the table.
func TestLine(t *testing.T) {
	r := &protocol.Result{Progress: protocol.Progress{States: 1000, Transitions: 5000, Depth: 9, Disk: 20_000,
		Elapsed: 3 * time.Second}}
	want := "| x | 64 | 1000 | 5000 | 10 | 2.0 | 3.0 | 500 | 70 | 0.0 | 20.0 |"
	if got := line("x", "64", r, 2*time.Second, 70<<10); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
