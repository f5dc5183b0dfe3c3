package criu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

func TestForeign(t *testing.T) {
	for text, want := range map[string]bool{
		"Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n":   false,
		"Uid:\t0\t0\t0\t7\nGid:\t0\t0\t0\t7\n":   false, // for files only
		"Uid:\t0\t33\t0\t0\nGid:\t0\t0\t0\t0\n":  true,
		"Uid:\t0\t0\t33\t0\nGid:\t0\t0\t0\t0\n":  true,
		"Uid:\t0\t0\t0\t0\nGid:\t33\t0\t0\t0\n":  true,
		"Uid:\t0\t0\t0\t0\nGid:\t0\t33\t33\t0\n": true,
	} {
		if got := foreign(procfs.Status(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestDumpsThatFail: after some failures of CRIU in a row no more are tried; others do not count.
func TestDumpsThatFail(t *testing.T) {
	var d FailedDumps
	failure := fmt.Errorf("%w to dump: no such thing", ErrFailed)
	for _, err := range []error{failure, failure, nil, failure, errors.New("it was killed"), failure} {
		d.Note(err)
		if why := d.Hopeless(); why != "" {
			t.Errorf("after %v: %s", err, why)
		}
	}
	d.Note(failure)
	if why := d.Hopeless(); !strings.Contains(why, "no such thing (3 times in a row") {
		t.Errorf("%q", why)
	}
}
